package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// What was made of files holds until one of them changes, on the host or in a
// shadow of it.
func TestKept(t *testing.T) {
	root := t.TempDir()
	old := time.Now().Add(-time.Hour)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	put("d/one", "1")
	local, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	count := func() (int, error) { made++; return made, nil }
	ask := func(h host.Host, want int) {
		t.Helper()
		got, err := host.Cached(h, "count", []string{"/d", "/missing"}, count)
		if err != nil || got != want {
			t.Errorf("%d, want %d (%v)", got, want, err)
		}
	}
	time.Sleep(60 * time.Millisecond) // until the files are no longer just changed
	ask(local, 1)
	ask(local, 1)
	ask(host.Watched(local, host.Watcher{}), 1)
	shadow := host.NewShadow(local)
	ask(shadow, 1)
	ask(shadow.View(host.Everything), 1)
	if err := shadow.WriteFile(t.Context(), "/d/two", host.Text("2"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	ask(shadow, 2)
	ask(shadow, 3)
	ask(local, 1)
	// What has changed just now is not kept yet. On a busy machine two questions may come
	// too late to see that.
	for quick := false; !quick; {
		before := time.Now()
		put("d/one", "2") // as large and as old as before
		ask(local, made+1)
		first := made
		if _, err := host.Cached(local, "count", []string{"/d", "/missing"}, count); err != nil {
			t.Fatal(err)
		}
		if quick = time.Since(before) < 30*time.Millisecond; quick && made != first+1 {
			t.Error("what has changed just now is kept")
		}
	}

	if err := os.Symlink("../elsewhere", filepath.Join(root, "d/link")); err != nil {
		t.Fatal(err)
	}
	put("elsewhere", "1")
	time.Sleep(60 * time.Millisecond)
	last := made
	ask(local, last+1)
	ask(local, last+1)
	put("elsewhere", "2")
	ask(local, last+2)

	failure := errors.New("failed")
	for range 2 {
		if _, err := host.Cached(local, "failing", []string{"/missing"}, func() (int, error) { made++; return 0, failure }); err != failure {
			t.Error(err)
		}
	}
	if made != last+4 {
		t.Errorf("made %d times: a failure is not kept", made)
	}
}

// A question is put again only when what its answer depends on has changed.
func TestQueryKept(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	reads := filepath.Join(dir, "reads")
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(want string, exit string) {
		t.Helper()
		r, err := local.Query(t.Context(), host.Query{Keep: true, Reads: []string{reads}, Command: host.Command{
			Argv: []string{"/bin/sh", "-c", `echo x >> "$1"; wc -l < "$1"; exit "$2"`, "sh", log, exit},
		}})
		if err != nil || string(r.Stdout) != want+"\n" {
			t.Errorf("%q, want %s (%v)", r.Stdout, want, err)
		}
	}
	ask("1", "0")
	ask("1", "0")
	if err := os.Mkdir(reads, 0o755); err != nil {
		t.Fatal(err)
	}
	ask("2", "0")
	ask("3", "1")
	ask("4", "1")
}

package ssh

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/runtime/wire"
)

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Note = nil
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			conn, _, err := w.Dial(context.Background(), w.host, wire.Opening{})
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		})
	}
	wait.Wait()
	if found := w.cached(t); len(found) != 1 {
		t.Errorf("%q", found)
	}
}

// A runner that is not what it was, in whatever way, is replaced.
func TestDamagedRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dial(t, wire.Opening{})
	path := w.cached(t)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"flipped": string(whole) + "#", "empty": "", "no program": "\x7fELF\x00\x01", "another's": "#!/nonexistent/sh\n",
		"killed": "#!/bin/sh\nkill -11 $$\n",
	} {
		w.notes.Reset()
		write(t, path, text)
		w.dial(t, wire.Opening{})
		if got := w.notes.String(); !strings.Contains(got, "damaged, and is replaced") || !strings.Contains(got, "copying") {
			t.Errorf("%s: %s", name, got)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(whole) {
			t.Errorf("%s: %s", name, now)
		}
	}
	// One that says why it ends is whole.
	w.notes.Reset()
	write(t, path, "#!/bin/sh\necho tenet: no, thank you >&2\necho hint: ask again >&2\nexit 1\n")
	if e := w.fails(t); e.Message != "no, thank you" || e.Hint != "ask again" || !e.Reached || w.notes.Len() > 0 {
		t.Errorf("%+v %s", e, w.notes)
	}
}

// What breaks off in the middle leaves nothing behind.
func TestTruncatedUpload(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"0", "40", "90", "100", "130"} { // 64 of digest, 9 of sizes, then the runner
		w := newWorld(t, "CutAfter="+after)
		e := w.fails(t)
		if e.Code != codeDamaged && e.Code != codeCache && e.Code != codeShell || !e.Reached {
			t.Errorf("%s: %+v", after, e)
		}
		if found := w.cached(t); len(found) > 0 {
			t.Errorf("%s: %q", after, found)
		}
	}
}

// only gives a host no more tools than these.
func only(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFewTools(t *testing.T) {
	w := newWorld(t, "Path="+only(t, "id", "uname", "mkdir", "head", "wc", "chmod", "mv", "rm", "sh"))
	w.host.Cache = filepath.Join(w.home, "cache")
	w.dial(t, wire.Opening{})
	w.dial(t, wire.Opening{})
	if strings.Count(w.notes.String(), "copying") != 1 {
		t.Error(w.notes)
	}
}

func TestFolderForRunners(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, tool, script, code, message string
	}{
		{"noexec", "chmod", "chmod() { command -p chmod 600 \"$2\"; }; chmod \"$@\"", codeNoexec, "mounted noexec"},
		{"full", "gzip", "echo gzip: stdout: No space left on device >&2; exit 1", codeNoSpace, "full disk"},
		{"quota", "gzip", "echo gzip: stdout: Disk quota exceeded >&2; exit 1", codeNoSpace, "quota"},
		{"read only", "mkdir", "echo mkdir: x: Read-only file system >&2; exit 1", codeReadOnly, "read only"},
		{"forbidden", "mkdir", "echo mkdir: x: Permission denied >&2; exit 1", codeCache, "may not be written"},
		{"strange", "mv", `printf 'mv: \033[31mno\n' >&2; exit 1`, codeCache, "cannot be used: mv: ·[31mno"},
		{"short", "wc", "echo 3", codeDamaged, "not all"},
		{"no system", "uname", "exit 1", codeArch, "what machine"},
		{"other system", "uname", "echo FreeBSD amd64", codeArch, "no runner for freebsd amd64: tenet is not made"},
		{"other architecture", "uname", "echo Linux s390x", codeArch, "no runner for linux s390x"},
	} {
		w := newWorld(t)
		if test.name == "other architecture" {
			if err := os.Remove(filepath.Join(w.Runners.Dirs[0], "tenet-runner-linux-s390x")); err != nil {
				t.Fatal(err)
			}
		}
		w.tool(t, test.tool, test.script)
		e := w.fails(t)
		if e.Code != test.code || !strings.Contains(e.Message, test.message) || !e.Reached || e.Retryable {
			t.Errorf("%s: %+v", test.name, e)
		}
		folder := filepath.Join(w.home, ".cache/tenet")
		if strings.Contains(e.Hint, "runner_cache") != (test.code != codeArch && test.code != codeDamaged) ||
			strings.Contains(e.Message, "folder for runners") != strings.Contains(e.Message, folder) {
			t.Errorf("%s: %s (%s)", test.name, e.Message, e.Hint)
		}
		if found := w.cached(t); test.code != codeNoexec && len(found) > 0 {
			t.Errorf("%s: %q is left", test.name, found)
		}
	}
}

func TestNoHome(t *testing.T) {
	w := newWorld(t)
	w.host.Options = append([]string{"Home="}, w.host.Options...)
	if e := w.fails(t); e.Code != codeCache || e.Message != "the account has no home folder to keep the runner in" {
		t.Errorf("%+v", e)
	}
	w.host.Cache = filepath.Join(w.home, "elsewhere")
	w.dial(t, wire.Opening{})
}

func TestUmaskIsTheAccounts(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.Runners.Dirs[0], "tenet-runner-linux-amd64")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(w.home, "umask")
	write(t, path, strings.Replace(string(text), "\n", "\numask > "+Quote(mark)+"\n", 1))
	w.tool(t, "uname", "echo Linux x86_64")
	for range 2 { // cold, and warm
		w.dial(t, wire.Opening{})
		got, err := os.ReadFile(mark)
		want, err2 := exec.Command("sh", "-c", "umask").Output()
		if err != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("%s, want %s (%v %v)", got, want, err, err2)
		}
	}
}

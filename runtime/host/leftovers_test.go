package host_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

const aRun, otherRun = "00000007-abc123", "00000007-abc124"

// Only the files, links and directories of that very run are found, by way of links, and
// nothing that merely looks like them.
func TestLeftovers(t *testing.T) {
	for name, h := range map[string]host.Host{"memory": host.NewMemory(), "local": local(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			ours := h.(host.Runner).ForRun(aRun)
			must(h.Mkdir("/real", host.Meta{}))
			must(h.Mkdir("/away", host.Meta{}))
			must(h.Symlink("../real", "/away/second", host.Meta{}))
			must(h.Symlink("away/second", "/first", host.Meta{}))
			file, link, dir := host.TempName(ours), host.TempName(ours), host.TempName(ours)
			must(h.Symlink("/etc/passwd", "/real/"+link, host.Meta{}))
			must(h.Mkdir("/real/"+dir, host.Meta{}))
			for _, name := range []string{
				file, host.TempName(h), host.TempName(h.(host.Runner).ForRun(otherRun)),
				file + "x", "x" + file, strings.ToLower(file), ".tenet-" + aRun + "-", ".tenet-" + aRun + "-notes.txt.with.26.bytes.",
			} {
				must(h.WriteFile(t.Context(), "/real/"+name, host.Text(""), host.Meta{}))
			}
			for _, at := range []string{"/real", "/first", "/away/second"} {
				left, err := host.Leftovers(h, at, aRun)
				want := []string{file, link, dir}
				slices.Sort(want)
				for i, path := range left {
					left[i] = filepath.Base(path)
					if _, err := h.Lstat(path); err != nil {
						t.Error(err)
					}
				}
				if err != nil || !slices.Equal(left, want) {
					t.Errorf("in %s: %q, %v, want %q", at, left, err, want)
				}
			}
			for _, at := range []string{"/none", "/none/below", "/real/" + file, "/real/" + file + "/x"} {
				if left, err := host.Leftovers(h, at, aRun); err != nil || len(left) > 0 {
					t.Errorf("in %s: %q, %v", at, left, err)
				}
			}
			must(h.Symlink("loop", "/loop", host.Meta{}))
			if _, err := host.Leftovers(h, "/loop", aRun); !errors.Is(err, syscall.ELOOP) {
				t.Errorf("in a loop: %v", err)
			}
			if left, err := host.Leftovers(h, "/real", ""); err != nil || len(left) > 0 {
				t.Errorf("of no run: %q, %v", left, err)
			}
		})
	}
}

// Below a directory no link is followed, and who is in a hurry need not wait for all.
func TestLeftoversBelow(t *testing.T) {
	for name, h := range map[string]host.Host{"memory": host.NewMemory(), "local": local(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			temp := host.TempName(h.(host.Runner).ForRun(aRun))
			other := host.TempName(h.(host.Runner).ForRun(otherRun))
			for _, dir := range []string{"/srv", "/srv/a", "/srv/a/b", "/out"} {
				err := h.Mkdir(dir, host.Meta{})
				for _, name := range []string{temp, other} {
					err = errors.Join(err, h.WriteFile(t.Context(), dir+"/"+name, host.Text(""), host.Meta{}))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Symlink("/out", "/srv/link", host.Meta{}); err != nil {
				t.Fatal(err)
			}
			left, err := host.LeftoversBelow(t.Context(), h, "/srv", aRun)
			slices.Sort(left)
			if want := []string{"/srv/" + temp, "/srv/a/" + temp, "/srv/a/b/" + temp}; err != nil || !slices.Equal(left, want) {
				t.Errorf("%q, %v, want %q", left, err, want)
			}
			hurry, cancel := context.WithCancel(t.Context())
			cancel()
			if left, err := host.LeftoversBelow(hurry, h, "/srv", aRun); !errors.Is(err, context.Canceled) || len(left) > 0 {
				t.Errorf("%q, %v", left, err)
			}
			if left, err := host.LeftoversBelow(t.Context(), h, "/none", aRun); err != nil || len(left) > 0 {
				t.Errorf("%q, %v", left, err)
			}
		})
	}
}

// What a part's program has left running is found by run and part, and ended.
func TestAbandoned(t *testing.T) {
	l, err := host.NewLocal(host.LocalOptions{Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var now host.ProcessSweeper = l
	ours, dir := l.ForRun(aRun), t.TempDir()
	if _, err := ours.Run(host.WithPart(t.Context(), "part-1"), command("leave", dir)); err != nil {
		t.Fatal(err)
	}
	left := pids(t, dir, 1)
	t.Cleanup(func() { _ = syscall.Kill(left[0], syscall.SIGKILL) })
	for _, of := range [][2]string{{otherRun, "part-1"}, {aRun, "part-2"}, {aRun, ""}, {"", ""}} {
		if found := now.StrayProcesses(of[0], of[1]); slices.Contains(found, left[0]) {
			t.Errorf("%q is said to have left %v", of, found)
		}
	}
	if found := now.StrayProcesses(aRun, "part-1"); !slices.Equal(found, left) {
		t.Errorf("found %v, want %v", found, left)
	}
	if err := now.EndStrayProcesses(aRun, "part-1"); err != nil {
		t.Error(err)
	}
	if runs(left[0]) {
		t.Error("it still runs")
	}
	if err := now.EndStrayProcesses(aRun, "part-1"); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// A temporary file that is left by a killed program is known by its name.
func TestTemporariesCarryTheRun(t *testing.T) {
	root := t.TempDir()
	ours := local(t, root).ForRun(aRun)
	seen := make(chan []string, 1)
	content := host.Stream(1, strings.Repeat("0", 64), func() (io.ReadCloser, error) {
		left, err := host.Leftovers(ours, "/", aRun)
		seen <- left
		return io.NopCloser(strings.NewReader("x")), err
	})
	err := ours.WriteFile(t.Context(), "/f", content, host.Meta{})
	if err == nil {
		t.Error("content of another digest was written")
	}
	if left := <-seen; len(left) != 1 {
		t.Errorf("while it is written: %q", left)
	}
	if left, err := host.Leftovers(ours, "/", aRun); err != nil || len(left) != 0 {
		t.Errorf("afterwards: %q, %v", left, err)
	}
	if _, err := ours.Lstat("/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

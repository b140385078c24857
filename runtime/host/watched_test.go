package host_test

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// A watcher hears of each change before it is made, and can forbid it; what is
// only temporary it does not hear of.
func TestWatched(t *testing.T) {
	m := host.NewMemory()
	var told []string
	var runs int
	forbidden := errors.New("forbidden")
	h := host.Watched(m, host.Watcher{
		Change: func(at host.Place) error {
			name := at.Path
			told = append(told, name)
			if path.Base(name) == "no" {
				return forbidden
			}
			if _, err := m.Lstat(name); err == nil && len(told) == 1 {
				t.Errorf("%s is there before it was told of", name)
			}
			return nil
		},
		Run: func() { runs++ },
	})
	ctx := t.Context()
	for _, err := range []error{
		h.WriteFile(ctx, "/new", host.Text("x"), host.Meta{}),
		h.WriteFile(ctx, "/"+host.TempName(h), host.Text("x"), host.Meta{}),
		h.SetMeta("/new", host.Meta{Mode: new(fs.FileMode(0o600))}),
		h.Symlink("/new", "/link", host.Meta{}),
		h.Mkdir("/dir", host.Meta{}),
		h.Remove("/dir"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if want := []string{"/new", "/new", "/link", "/dir", "/dir"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, not of %v", told, want)
	}
	for name, change := range map[string]func() error{
		"write":   func() error { return h.WriteFile(ctx, "/no", host.Text("x"), host.Meta{}) },
		"mkdir":   func() error { return h.Mkdir("/no", host.Meta{}) },
		"symlink": func() error { return h.Symlink("/new", "/no", host.Meta{}) },
		"meta":    func() error { return h.SetMeta("/no", host.Meta{}) },
		"remove":  func() error { return h.Remove("/no") },
	} {
		if err := change(); !errors.Is(err, forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Lstat("/no"); err == nil {
		t.Error("what was forbidden was done")
	}
	if _, err := h.Query(ctx, host.Query{Command: host.Command{Argv: []string{"nothing"}}}); err == nil || runs != 0 {
		t.Errorf("a query: %v, %d runs", err, runs)
	}
	if _, err := h.Run(ctx, host.Command{Argv: []string{"nothing"}, Check: true}); err == nil || runs != 0 {
		t.Errorf("a check: %v, %d runs", err, runs)
	}
	if _, err := h.Run(ctx, host.Command{Argv: []string{"nothing"}}); err == nil || runs != 1 {
		t.Errorf("a run: %v, %d runs", err, runs)
	}
}

// No way to a change leads around the watcher: not an open directory, nor the host in a
// run, nor the one that follows no link.
func TestWatchedWays(t *testing.T) {
	for name, way := range map[string]func(host.Host) host.Host{
		"itself": func(h host.Host) host.Host { return h },
		"still":  host.NoFollow,
		"run":    func(h host.Host) host.Host { return h.ForRun("r") },
		"both":   func(h host.Host) host.Host { return h.ForRun("r").NoFollow() },
		"twice":  func(h host.Host) host.Host { return h.NoFollow().ForRun("r").NoFollow() },
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			m := host.NewMemory()
			h := way(host.Watched(m, host.Watcher{Run: func() {}, Change: func(at host.Place) error {
				info, err := at.Dir.Lstat(at.Name)
				byPath, perr := m.Lstat(at.Path)
				if info != byPath || (err == nil) != (perr == nil) {
					t.Errorf("%s is %+v, %v, and in its directory %+v, %v", at.Path, byPath, perr, info, err)
				}
				told = append(told, at.Path)
				return nil
			}}))
			if err := h.Mkdir("/a", host.Meta{}); err != nil {
				t.Fatal(err)
			}
			root, err := h.OpenDir("/")
			if err != nil {
				t.Fatal(err)
			}
			a, err := root.Enter("a")
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			for _, err := range []error{
				a.WriteFile(ctx, "f", host.Text("x"), host.Meta{}, true), a.SetMeta(".", host.Meta{}), a.SetMeta("f", host.Meta{}),
				a.Symlink("f", "l", host.Meta{}), a.Mkdir("d", host.Meta{}), a.Remove("d"), h.Remove("/a/l"), a.Close(), root.Close(),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			if want := []string{"/a", "/a/f", "/a", "/a/f", "/a/l", "/a/d", "/a/d", "/a/l"}; !slices.Equal(told, want) {
				t.Errorf("told of %v, not of %v", told, want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	m := host.NewMemory()
	for _, dir := range []string{"/run", "/var", "/var/lib", "/var/lib/x"} {
		if err := m.Mkdir(dir, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	for path, target := range map[string]string{
		"/var/run": "/run", "/lib": "var/lib", "/var/lib/up": "../../run", "/chain": "lib/up", "/loop": "loop", "/last": "/run",
	} {
		if err := m.Symlink(target, path, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/": "/", "/run": "/run", "/last": "/last", "/last/a": "/run/a", "/var/run/a": "/run/a", "/lib/x/a": "/var/lib/x/a",
		"/chain/a/b": "/run/a/b", "/nowhere/a": "/nowhere/a", "/lib/../a": "/var/a", "/var/lib/up/../a": "/a", "//var//run//a": "/run/a",
	} {
		if got := host.Resolve(m, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := host.Resolve(m, "/loop/a"); got == "" {
		t.Error("nothing")
	}
}

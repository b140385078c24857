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
		Path: func(name string) error {
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
	if _, err := h.Run(ctx, host.Command{Argv: []string{"nothing"}}); err == nil || runs != 1 {
		t.Errorf("a run: %v, %d runs", err, runs)
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

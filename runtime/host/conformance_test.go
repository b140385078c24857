package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

// local makes a Local; below a root if one is given.
func local(t testing.TB, root string) *host.Local {
	t.Helper()
	l, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConformance(t *testing.T) {
	// A base has something in it, so that a shadow has something to hide.
	populated := func(t *testing.T) string {
		dir := t.TempDir()
		for _, name := range []string{"d/old", "elsewhere"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	emptied := func(t *testing.T, h host.Host, dir string) (host.Host, string) {
		for _, name := range []string{"d/old", "d", "elsewhere"} {
			if err := h.Remove(dir + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
		return h, dir
	}
	for name, open := range map[string]hosttest.Open{
		"Memory": func(t *testing.T) (host.Host, string) { return host.NewMemory(), "/" },
		"Memory as a user": func(t *testing.T) (host.Host, string) {
			m := host.NewMemory()
			m.ActAs(1000, 1001)
			return m, "/"
		},
		"Local":            func(t *testing.T) (host.Host, string) { return local(t, ""), t.TempDir() },
		"Local below root": func(t *testing.T) (host.Host, string) { return local(t, t.TempDir()), "/" },
		"Local below root, component-wise": func(t *testing.T) (host.Host, string) {
			l := local(t, t.TempDir())
			l.Componentwise()
			return l, "/"
		},
		"Memory of a plain user": func(t *testing.T) (host.Host, string) {
			m := host.NewMemory()
			if err := m.Mkdir("/home", host.Meta{UID: new(1000), GID: new(1001)}); err != nil {
				t.Fatal(err)
			}
			m.Obey(host.Credentials{UID: 1000, GID: 1001})
			return m, "/home"
		},
		"Shadow of Memory": func(t *testing.T) (host.Host, string) { return host.NewShadow(host.NewMemory()), "/" },
		"Shadow of Local": func(t *testing.T) (host.Host, string) {
			return emptied(t, host.NewShadow(local(t, "")), populated(t))
		},
		"Shadow of Local below root": func(t *testing.T) (host.Host, string) {
			return emptied(t, host.NewShadow(local(t, populated(t))), "/")
		},
		"watched": func(t *testing.T) (host.Host, string) {
			return host.Watched(host.NewMemory(), host.Watcher{Change: func(host.Place) error { return nil }, Run: func() {}}), "/"
		},
		"fork": func(t *testing.T) (host.Host, string) {
			s, dir := emptied(t, host.NewShadow(local(t, "")), populated(t))
			return s.(*host.Shadow).Fork(), dir
		},
	} {
		t.Run(name, func(t *testing.T) { hosttest.Run(t, open) })
	}
}

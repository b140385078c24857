package host_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Where a path leads through a link nothing is read, and nothing is changed.
func TestNoFollow(t *testing.T) {
	for _, kind := range []string{"openat2", "componentwise", "machine", "memory", "shadow"} {
		t.Run(kind, func(t *testing.T) {
			h, at := noFollowHostAt(t, kind)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(h.Mkdir(at+"/real", host.Meta{}))
			must(h.WriteFile(t.Context(), at+"/real/file", host.Text("x"), host.Meta{}))
			must(h.Symlink("real", at+"/link", host.Meta{}))
			must(h.Symlink("file", at+"/real/name", host.Meta{}))

			s := host.NoFollow(h)
			for what, err := range map[string]error{
				"lstat": second(s.Lstat(at + "/link/file")), "readdir": second(s.ReadDir(at + "/link")),
				"readlink": second(s.ReadLink(at + "/link/name")), "open": second(s.Open(at + "/link/file")), "open a link": second(s.Open(at + "/real/name")),
				"write": s.WriteFile(t.Context(), at+"/link/new", host.Text("y"), host.Meta{}), "mkdir": s.Mkdir(at+"/link/new", host.Meta{}),
				"symlink": s.Symlink("x", at+"/link/new", host.Meta{}), "chmod": s.SetMeta(at+"/link/file", host.Meta{}), "remove": s.Remove(at + "/link/file"),
			} {
				if !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if entries, err := s.ReadDir(at + "/real"); err != nil || len(entries) != 2 {
				t.Errorf("there are %v, %v", entries, err)
			}
			if info, err := s.Lstat(at + "/link"); err != nil || info.Kind != host.Symlink {
				t.Errorf("the link itself is %+v, %v", info, err)
			}
			must(s.WriteFile(t.Context(), at+"/real/name", host.Text("y"), host.Meta{})) // in the link's place
			f, err := s.Open(at + "/real/file")
			must(err)
			if data, err := io.ReadAll(f); err != nil || string(data) != "x" {
				t.Errorf("the file holds %q, %v", data, err)
			}
			must(f.Close())
			must(s.Remove(at + "/real/name"))
			must(s.Remove(at + "/link"))
		})
	}
}

func second[T any](_ T, err error) error { return err }

func noFollowHostAt(t *testing.T, kind string) (h host.Host, at string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options := host.LocalOptions{Root: dir}
	switch kind {
	case "memory", "shadow":
		m := host.NewMemory()
		if err := m.Mkdir("/x", host.Meta{}); err != nil {
			t.Fatal(err)
		}
		if kind == "memory" {
			return m, "/x"
		}
		return host.NewShadow(m), "/x"
	case "machine":
		options.Root = ""
	}
	l, err := host.NewLocal(options)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "machine":
		return l, dir
	case "componentwise":
		l.Componentwise()
	}
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	return l, "/x"
}

package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// eachDirHost calls f with hosts of every kind, and the path of a directory there.
func eachDirHost(t *testing.T, f func(t *testing.T, h host.Host, dir string)) {
	t.Run("local", func(t *testing.T) {
		l, err := host.NewLocal(host.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, l, t.TempDir())
	})
	rooted := func(t *testing.T) host.Host {
		l, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
		if err == nil {
			err = l.Mkdir("/d", host.Meta{})
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Run("rooted", func(t *testing.T) { f(t, rooted(t), "/d") })
	t.Run("shadow", func(t *testing.T) { f(t, host.NewShadow(rooted(t)), "/d") })
	t.Run("opaque", func(t *testing.T) { f(t, host.NewShadow(rooted(t)).View(host.Everything), "/d") })
	t.Run("memory", func(t *testing.T) {
		m := host.NewMemory()
		if err := m.Mkdir("/d", host.Meta{}); err != nil {
			t.Fatal(err)
		}
		f(t, m, "/d")
	})
}

// A directory that is held open is the same on every host.
func TestDir(t *testing.T) {
	eachDirHost(t, func(t *testing.T, h host.Host, name string) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		d, err := host.OpenDir(h, name)
		must(err)
		defer d.Close()
		must(d.Mkdir("sub", host.Meta{Mode: new(fs.FileMode(0o700))}))
		sub, err := d.Enter("sub")
		must(err)
		defer sub.Close()
		must(sub.WriteFile(ctx, "a", host.Text("one"), host.Meta{}, true))
		if err := sub.WriteFile(ctx, "a", host.Text("x"), host.Meta{}, true); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a fresh file over another: %v", err)
		}
		must(sub.WriteFile(ctx, "b\n", host.Text("two"), host.Meta{Mode: new(fs.FileMode(0o600))}, false))
		must(sub.WriteFile(ctx, "b\n", host.Text("three"), host.Meta{}, false))
		must(sub.Symlink("a", "l", host.Meta{}))
		must(sub.SetMeta("a", host.Meta{Mode: new(fs.FileMode(0o640))}))
		must(sub.SetMeta(".", host.Meta{Mode: new(fs.FileMode(0o711))}))
		if _, _, err := sub.Open("l"); err == nil {
			t.Error("a symbolic link was followed")
		}
		if _, err := sub.Enter("l"); err == nil {
			t.Error("a symbolic link was entered")
		}
		must(sub.Symlink("..", "up", host.Meta{}))
		if above, err := sub.Enter("up"); err == nil {
			above.Close()
			t.Error("a symbolic link to a directory was entered")
		}
		must(sub.Remove("up"))
		for _, bad := range []string{"", "..", "a/b", "../sub", "a\x00"} {
			if _, err := d.Lstat(bad); err == nil {
				t.Errorf("%q is looked at", bad)
			}
			if err := d.WriteFile(ctx, bad, host.Text(""), host.Meta{}, false); err == nil {
				t.Errorf("%q is written", bad)
			}
			if d.Mkdir(bad, host.Meta{}) == nil || d.Symlink("x", bad, host.Meta{}) == nil || d.Remove(bad) == nil {
				t.Errorf("%q is made or removed", bad)
			}
		}
		entries, err := host.ReadTree(ctx, d, host.TreeOptions{})
		must(err)
		var got strings.Builder
		for _, e := range entries {
			if e.Name != "." {
				fmt.Fprintf(&got, "%q %s %o %d %.4s %s\n", e.Name, e.Kind, e.Mode, e.Size, e.SHA256, e.Target)
			}
		}
		const want = `"sub" directory 711 0  
"sub/a" file 640 3 7692 
"sub/b\n" file 600 5 8b5b 
"sub/l" symlink 0 0  a
`
		if got.String() != want {
			t.Errorf("the tree is\n%s, want\n%s", &got, want)
		}
		if err := d.Remove("sub"); !errors.Is(err, syscall.ENOTEMPTY) {
			t.Errorf("a full directory: %v", err)
		}
		for _, name := range []string{"a", "b\n", "l"} {
			must(sub.Remove(name))
		}
		must(d.Remove("sub"))
		if err := d.Remove("sub"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

// What is moved to another place, and a link put in its, does not lead there.
func TestDirStaysWhereItIs(t *testing.T) {
	base, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	for _, name := range []string{"/a", "/outside"} {
		if err := os.Mkdir(top+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d, err := host.OpenDir(base, top+"/a")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := errors.Join(os.Rename(top+"/a", top+"/moved"), os.Symlink(top+"/outside", top+"/a")); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteFile(t.Context(), "f", host.Text("x"), host.Meta{}, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(top + "/moved/f"); err != nil {
		t.Error(err)
	}
	if _, err := host.OpenDir(base, top+"/a"); err == nil {
		t.Error("a link was opened as a directory")
	}
}

// A file that cannot be written whole is not there.
func TestDirFreshFileThatFails(t *testing.T) {
	eachDirHost(t, func(t *testing.T, h host.Host, name string) {
		d, err := host.OpenDir(h, name)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		broken := host.Stream(3, strings.Repeat("0", 64), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil })
		if _, lazy := h.(interface{ Fork() *host.Shadow }); lazy {
			return // what is written to a shadow is not read
		}
		if err := d.WriteFile(t.Context(), "f", broken, host.Meta{}, true); err == nil {
			t.Error("it was written")
		}
		if _, err := d.Lstat("f"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is there: %v", err)
		}
	})
}

// The tree's own sum is that of a whole read, whatever the reads give.
func TestReadTreeOfManyFiles(t *testing.T) {
	h := host.NewMemory()
	if err := h.Mkdir("/d", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := h.WriteFile(t.Context(), fmt.Sprintf("/d/%03d", i), host.Text(strings.Repeat("x", i*1000)), host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := host.OpenDir(h, "/d")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := host.ReadTree(t.Context(), d, host.TreeOptions{Skip: func(name string, _ host.Kind) bool { return strings.HasSuffix(name, "9") }})
	if err != nil || len(entries) != 181 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries[1:] {
		if want := host.Text(strings.Repeat("x", int(e.Size))).Sum(); e.SHA256 != want {
			t.Errorf("%s with %d bytes: %s, want %s", e.Name, e.Size, e.SHA256, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := host.ReadTree(ended, d, host.TreeOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

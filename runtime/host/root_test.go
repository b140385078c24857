package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// hostile makes a tree that tries to lead out of itself, next to a directory
// that is outside, and hosts that have the tree as their root.
func hostile(t *testing.T) (outside string, hosts map[string]host.Host) {
	t.Helper()
	dir := t.TempDir()
	outside, root := filepath.Join(dir, "outside"), filepath.Join(dir, "root")
	for _, d := range []string{outside, filepath.Join(root, "tenet-inside"), filepath.Join(root, "sub/deep")} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o755)); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		filepath.Join(outside, "secret"): "outside", filepath.Join(root, "tenet-inside/name"): "inside",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"absolute":  "/tenet-inside",
		"escape":    "../../../../../../../../../../tenet-inside",
		"sub/up":    "../../tenet-inside",
		"to-out":    outside,
		"up-out":    "../outside",
		"sub/chain": "up/../../../tenet-inside/name",
		"kernel":    "/proc/self/root",
		"dots":      "..",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	slow := local(t, root)
	slow.Componentwise()
	return outside, map[string]host.Host{
		"openat2": local(t, root), "component-wise": slow,
		"shadow": host.NewShadow(local(t, root)), "shadow of component-wise": host.NewShadow(slow),
	}
}

func TestNothingLeadsOut(t *testing.T) {
	outside, hosts := hostile(t)
	for kind, h := range hosts {
		t.Run(kind, func(t *testing.T) {
			for _, path := range []string{
				"/absolute/name", "/escape/name", "/sub/up/name", "/sub/chain", "/dots/tenet-inside/name",
				"/../../tenet-inside/name", "/dots/dots/../tenet-inside/name", "/sub/deep/../../../tenet-inside/name",
			} {
				if text, err := read(h, path); text != "inside" || err != nil {
					t.Errorf("%s holds %q, %v", path, text, err)
				}
			}
			for _, path := range []string{
				"/to-out/secret", "/up-out/secret", "/kernel/tenet-inside/name", "/../outside/secret", "/dots/../../outside/secret",
			} {
				if text, err := read(h, path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s holds %q, %v", path, text, err)
				}
				if err := h.WriteFile(t.Context(), path, host.Text("written"), host.Meta{}); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is written: %v", path, err)
				}
				if err := h.Remove(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is removed: %v", path, err)
				}
			}
			// A write through a link that leads to "/tenet-inside" is one below the root.
			if err := h.WriteFile(t.Context(), "/escape/new", host.Text("x"), host.Meta{}); err != nil {
				t.Error(err)
			}
			if text, err := read(h, "/tenet-inside/new"); text != "x" || err != nil {
				t.Errorf("/tenet-inside/new holds %q, %v", text, err)
			}
			if err := h.SetMeta("/to-out", host.Meta{Mode: new(fs.FileMode(0o700))}); err != nil {
				t.Error(err)
			}
		})
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside holds %v, %v", entries, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("outside is %v, %v", info.Mode(), err)
	}
	if data, err := os.ReadFile(filepath.Join(outside, "secret")); string(data) != "outside" {
		t.Errorf("secret holds %q, %v", data, err)
	}
}

// Something that becomes a link while it is on the way leads nowhere else.
func TestNothingLeadsOutMeanwhile(t *testing.T) {
	outside, hosts := hostile(t)
	root := filepath.Join(filepath.Dir(outside), "root")
	for name, link := range map[string]string{"file": filepath.Join(outside, "secret"), "dir": outside} {
		if err := os.Symlink(link, filepath.Join(root, name+"-link")); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(root, "file"), []byte("inside"), 0o644),
		os.Mkdir(filepath.Join(root, "dir"), 0o755),
		os.WriteFile(filepath.Join(root, "dir/secret"), []byte("inside"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				for _, name := range []string{"file", "dir"} {
					path := filepath.Join(root, name)
					_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, path+"-link", unix.RENAME_EXCHANGE)
				}
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for _, kind := range []string{"openat2", "component-wise"} {
		for range 2000 {
			for _, path := range []string{"/file", "/dir/secret"} {
				text, err := read(hosts[kind], path)
				if text == "outside" {
					t.Fatalf("%s: %s leads out", kind, path)
				}
				if err == nil && text != "inside" {
					t.Fatalf("%s: %s holds %q", kind, path, text)
				}
			}
		}
	}
}

func TestRootMustBeDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{file: syscall.ENOTDIR, file + "-none": fs.ErrNotExist} {
		if _, err := host.NewLocal(host.LocalOptions{Root: path}); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A FIFO does not block, and is neither read nor replaced.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	l := local(t, "")
	for name, h := range map[string]host.Host{"Local": l, "Shadow": host.NewShadow(l)} {
		t.Run(name, func(t *testing.T) {
			if name == "Shadow" { // so that it looks for itself
				if err := h.Mkdir(dir+"/d", host.Meta{}); err != nil {
					t.Fatal(err)
				}
			}
			if info, err := h.Lstat(fifo); info.Kind != host.Other || err != nil {
				t.Errorf("it is a %s, %v", info.Kind, err)
			}
			_, err := h.Open(fifo)
			for _, err := range []error{
				err,
				h.WriteFile(t.Context(), fifo, host.Text(""), host.Meta{}),
				h.Symlink("x", fifo, host.Meta{}),
			} {
				if err == nil || !strings.Contains(err.Error(), "is a special file") {
					t.Errorf("error %v", err)
				}
			}
			if err := h.SetMeta(fifo, host.Meta{Mode: new(fs.FileMode(0o640))}); err != nil {
				t.Error(err)
			}
			if info, err := h.Lstat(fifo); info.Kind != host.Other || info.Mode != 0o640 || err != nil {
				t.Errorf("it is a %s %v, %v", info.Kind, info.Mode, err)
			}
			if err := h.Remove(fifo); err != nil {
				t.Error(err)
			}
			if name == "Shadow" {
				return
			}
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

package journal_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// filled is a host with something of each kind.
func filled(t *testing.T) host.Host {
	t.Helper()
	m := host.NewMemory()
	for _, err := range []error{
		m.WriteFile(t.Context(), "/file", host.Text("old\n"), host.Meta{Mode: new(fs.FileMode(0o640)), UID: new(3), GID: new(4)}),
		m.Symlink("/tar\xffget", "/link", host.Meta{UID: new(5)}),
		m.Mkdir("/d\xfe", host.Meta{Mode: new(fs.FileMode(0o711))}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestBackup(t *testing.T) {
	f := open(t, t.TempDir())
	r := start(t, f, journal.Meta{})
	h := filled(t)
	paths := []string{"/file", "/link", "/d\xfe", "/nothing", "/file/below"}
	for _, path := range paths {
		if err := r.Backup().Keep(h, []string{"block.a", "block.b"}, "file.x", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.WriteFile(t.Context(), "/file", host.Text("new\n"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	// What is known already is not looked at again.
	for _, block := range []string{"block.a", "block.c"} {
		if err := r.Backup().Keep(h, []string{block}, "file.y", "/file"); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(r.Backup().Dir(), "index.jsonl")
	data, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, append(data, `{"block":"block.b","pa`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Abandon(); err != nil {
		t.Fatal(err)
	}
	b, err := f.Backup(r.ID())
	if err != nil {
		t.Fatal(err)
	}
	for block, content := range map[string]string{"block.a": "old\n", "block.b": "old\n", "block.c": "new\n"} {
		list := b.Of(block)
		if len(list) == 0 || list[0].Path != "/file" || list[0].Kind != host.Regular || list[0].UID != 3 || list[0].Mode != 0o640 {
			t.Fatalf("%s: %+v", block, list)
		}
		in, err := b.Content(list[0]).Open()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", block, got, err)
		}
	}
	list := b.Of("block.a")
	if len(list) != len(paths) || list[1].Target != "/tar\xffget" || list[2].Path != "/d\xfe" || list[2].Mode != 0o711 || list[3].Kind != "" || list[4].Kind != "" {
		t.Errorf("%+v", list)
	}
	// A process that goes on with the run cuts the torn line.
	if err := b.Keep(h, []string{"block.a"}, "file.z", "/more"); err != nil {
		t.Fatal(err)
	}
	if again, err := f.Backup(r.ID()); err != nil || len(again.Of("block.a")) != len(paths)+1 {
		t.Errorf("%v, %v", again, err)
	}
	err = filepath.WalkDir(b.Dir(), func(path string, d fs.DirEntry, err error) error {
		if info, statErr := d.Info(); err == nil && statErr == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := b.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
}

// What could not be kept says so, whichever operation fails, and can be kept
// later.
func TestBackupFails(t *testing.T) {
	h := filled(t)
	for k := int64(1); ; k++ {
		var n, fail atomic.Int64
		f, err := journal.OpenWith(t.TempDir(), journal.Options{Intercept: func(op journal.Op) error {
			if strings.Contains(op.Path, "backup") && n.Add(1) == fail.Load() {
				if op.Kind == journal.OpWrite {
					return &journal.Torn{N: len(op.Data) / 2, Err: syscall.ENOSPC}
				}
				return syscall.ENOSPC
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, f, journal.Meta{})
		fail.Store(k)
		err = r.Backup().Keep(h, []string{"block.a"}, "file.x", "/file")
		if n.Load() < k {
			if err != nil || k < 8 {
				t.Errorf("%d operations, %v", n.Load(), err)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/file is not changed") {
			t.Errorf("operation %d failed, and Keep says %v", k, err)
		}
		if err := r.Backup().Keep(h, []string{"block.a"}, "file.x", "/file"); err != nil {
			t.Errorf("after operation %d failed: %v", k, err)
		}
		b, err := f.Backup(r.ID())
		if err != nil || len(b.Of("block.a")) == 0 {
			t.Errorf("after operation %d failed: %v, %v", k, b.Of("block.a"), err)
		}
	}
}

// swapping is a host on which somebody puts a link in the place of what was looked
// at.
type swapping struct {
	*host.Local
	swap func()
}

func (s *swapping) Lstat(path string) (host.Info, error) {
	info, err := s.Local.Lstat(path)
	if path == "/app/conf" {
		s.swap()
	}
	return info, err
}

// Whoever may write to the directory of a file gets nobody else's content put back
// as their own.
func TestBackupFollowsNoLink(t *testing.T) {
	for name, swap := range map[string]func(root string) error{
		"the file": func(root string) error {
			return errors.Join(os.Remove(root+"/app/conf"), os.Symlink("../secret/conf", root+"/app/conf"))
		},
		"its directory": func(root string) error {
			return errors.Join(os.Rename(root+"/app", root+"/was"), os.Symlink("secret", root+"/app"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range map[string]string{"/app/conf": "mine", "/secret/conf": "theirs"} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(root+path), 0o755), os.WriteFile(root+path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			local, err := host.NewLocal(host.LocalOptions{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			b, err := journal.NewBackup(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			h := &swapping{Local: local, swap: func() {
				if err := swap(root); err != nil {
					t.Fatal(err)
				}
			}}
			err = b.Keep(h, []string{"block.a"}, "file.x", "/app/conf")
			if !errors.Is(err, syscall.ELOOP) || len(b.Of("block.a")) != 0 {
				t.Errorf("kept %+v, %v", b.Of("block.a"), err)
			}
		})
	}
}

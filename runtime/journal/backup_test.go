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

// keep keeps what is at a path, as a part is about to change it.
func keep(t *testing.T, b *journal.Backup, h host.Host, path string, blocks ...string) error {
	t.Helper()
	at, err := host.OpenPlace(h, path)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Dir.Close()
	return b.Keep(t.Context(), h, blocks, "file.a", at)
}

func TestBackup(t *testing.T) {
	f := open(t, t.TempDir())
	r := start(t, f, journal.Meta{})
	h := filled(t)
	paths := []string{"/file", "/link", "/d\xfe", "/nothing", "/d\xfe/below"}
	for _, path := range paths {
		if err := keep(t, r.Backup(), h, path, "block.a", "block.b"); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.WriteFile(t.Context(), "/file", host.Text("new\n"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	// What is known already is not looked at again.
	for _, block := range []string{"block.a", "block.c"} {
		if err := keep(t, r.Backup(), h, "/file", block); err != nil {
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
	if len(list) != len(paths) || list[1].Target != "/tar\xffget" || list[2].Path != "/d\xfe" || list[2].Mode != 0o711 || list[3].Kind != journal.Absent || list[4].Kind != journal.Absent {
		t.Errorf("%+v", list)
	}
	// A process that goes on with the run cuts the torn line.
	if err := keep(t, b, h, "/more", "block.a"); err != nil {
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
		err = keep(t, r.Backup(), h, "/file", "block.a")
		if n.Load() < k {
			if err != nil || k < 8 {
				t.Errorf("%d operations, %v", n.Load(), err)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/file is not changed") {
			t.Errorf("operation %d failed, and Keep says %v", k, err)
		}
		if err := keep(t, r.Backup(), h, "/file", "block.a"); err != nil {
			t.Errorf("after operation %d failed: %v", k, err)
		}
		b, err := f.Backup(r.ID())
		if err != nil || len(b.Of("block.a")) == 0 {
			t.Errorf("after operation %d failed: %v, %v", k, b.Of("block.a"), err)
		}
	}
}

// swapping is a host on which somebody puts a link in the place of what was looked
// at: before it is kept or, late, once it was described.
type swapping struct {
	*host.Local
	swap func()
}

func (s *swapping) NoFollow() host.Host { return &swappingNoFollow{s.Local.NoFollow(), s.swap} }

type swappingNoFollow struct {
	host.Host
	swap func()
}

func (s *swappingNoFollow) OpenDir(path string) (host.Dir, error) {
	d, err := s.Host.OpenDir(path)
	return &swappingDir{d, s.swap}, err
}

type swappingDir struct {
	host.Dir
	swap func()
}

func (d *swappingDir) Lstat(name string) (host.Info, error) {
	info, err := d.Dir.Lstat(name)
	if name == "conf" {
		d.swap()
	}
	return info, err
}

// Whoever may write to the directory of a file gets nobody else's content put back
// as their own.
func TestBackupFollowsNoLink(t *testing.T) {
	file := func(root string) error {
		return errors.Join(os.Remove(root+"/app/conf"), os.Symlink("../secret/conf", root+"/app/conf"))
	}
	directory := func(root string) error {
		return errors.Join(os.Rename(root+"/app", root+"/was"), os.Symlink("secret", root+"/app"))
	}
	for name, c := range map[string]struct {
		swap func(root string) error
		late bool
		want string // of the error; empty: theirs is kept, from where it was
	}{
		"the file":                   {file, true, syscall.ELOOP.Error()},
		"its directory":              {directory, true, ""},
		"its directory, before that": {directory, false, "another directory"},
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
			swap := func() {
				if err := c.swap(root); err != nil {
					t.Fatal(err)
				}
			}
			h := &swapping{Local: local, swap: func() {
				if c.late {
					swap()
				}
			}}
			at, err := host.OpenPlace(h, "/app/conf")
			if err != nil {
				t.Fatal(err)
			}
			defer at.Dir.Close()
			if !c.late {
				swap()
			}
			err = b.Keep(t.Context(), h, []string{"block.a"}, "file.x", at)
			list := b.Of("block.a")
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(list) != 0) {
				t.Errorf("kept %+v, %v", list, err)
			}
			if c.want == "" && (err != nil || len(list) != 1 || list[0].Sum != host.Text("mine").Sum()) {
				t.Errorf("kept %+v, %v", list, err)
			}
		})
	}
}

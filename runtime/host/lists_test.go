package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"

	// For the owner rwx, the user 4711 rwx, the owning group r-x, the mask and others.
	namesEvil = "\x02\x00\x00\x00" +
		"\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\x67\x12\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
)

// listed makes a file, or a directory, that an access control list opens to another user.
func listed(t *testing.T, name string, isDir bool) {
	t.Helper()
	err := os.WriteFile(name, []byte("old"), 0o700)
	if isDir {
		err = errors.Join(os.Remove(name), os.Mkdir(name, 0o700), unix.Setxattr(name, defaultList, []byte(namesEvil), 0))
	}
	if err = errors.Join(err, unix.Setxattr(name, accessList, []byte(namesEvil), 0)); err != nil {
		t.Fatalf("give temporary files a file system with access control lists, by TMPDIR: %v", err)
	}
}

func hasList(t *testing.T, name, attribute string) bool {
	t.Helper()
	_, err := unix.Lgetxattr(name, attribute, nil)
	if err != nil && err != unix.ENODATA {
		t.Fatal(err)
	}
	return err == nil
}

// Who was named has no right any more, and neither the group nor others have got one.
func TestDropNames(t *testing.T) {
	for _, isDir := range []bool{false, true} {
		root := t.TempDir()
		name := filepath.Join(root, "x")
		listed(t, name, isDir)
		l, want := local(t, root), "user:4711:rwx"
		if isDir {
			want += ", default:user:4711:rwx"
		}
		if got := l.Access("/x").List; got != want {
			t.Errorf("before: %q, want %q", got, want)
		}
		for range 2 { // a list that names nobody stays as it is
			if err := host.DropNames(name, isDir); err != nil {
				t.Fatal(err)
			}
		}
		info, err := l.Lstat("/x")
		if err != nil || info.Mode != 0o750 {
			t.Errorf("it has mode %v, %v", info.Mode, err)
		}
		if hasList(t, name, accessList) || isDir && hasList(t, name, defaultList) || l.Access("/x").List != "" {
			t.Errorf("there is a list: %q", l.Access("/x").List)
		}
	}
}

// A plan tells whom a list names until an earlier part takes the file over.
func TestListInShadow(t *testing.T) {
	root := t.TempDir()
	listed(t, filepath.Join(root, "x"), false)
	s := host.NewShadow(local(t, root))
	if err := s.SetMeta("/x", host.Meta{Mode: new(fs.FileMode(0o700))}); err != nil {
		t.Fatal(err)
	}
	if got := s.Access("/x").List; got != "user:4711:rwx" {
		t.Errorf("with another mode: %q", got)
	}
	info, err := s.Lstat("/x")
	if err == nil {
		err = s.SetMeta("/x", host.Meta{UID: new(info.UID + 1)})
	}
	if got := s.Access("/x").List; err != nil || (got == "") != (info.UID != 0) {
		t.Errorf("taken over from %d: %q, %v", info.UID, got, err)
	}
}

package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// A file keeps its birth through all changes, and another one of its name has another.
func TestBirth(t *testing.T) {
	dir := t.TempDir()
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		t.Fatalf("give temporary files a file system that keeps births, by TMPDIR: %s has none: %v", dir, err)
	}
	l, err := host.NewLocal(host.LocalOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	born := func(change func() error) host.Info {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		d, err := l.OpenDir("/d")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		byName, err := l.Lstat("/d")
		open, wrong := d.Lstat(".")
		if err != nil || wrong != nil || byName.Birth.IsZero() || !byName.Birth.Equal(open.Birth) {
			t.Fatalf("%+v, %v; %+v, %v", byName, err, open, wrong)
		}
		return open
	}
	name := filepath.Join(dir, "d")
	first := born(func() error { return os.Mkdir(name, 0o755) })
	if same := born(func() error { return os.Chmod(name, 0o700) }); !same.Birth.Equal(first.Birth) {
		t.Errorf("it is born anew by chmod: %+v, %+v", first, same)
	}
	other := born(func() error {
		for { // two are made in one tick of the kernel's clock
			if err := os.Remove(name); err != nil {
				return err
			}
			if err := os.Mkdir(name, 0o755); err != nil {
				return err
			}
			if now, err := l.Lstat("/d"); err != nil || !now.Birth.Equal(first.Birth) {
				return err
			}
		}
	})
	if !other.Birth.After(first.Birth) {
		t.Errorf("another is born %v, and was %v", other.Birth, first.Birth)
	}
}

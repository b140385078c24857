//go:build lab

package journal_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// A directory of an overlay's lower layer is the same one after its first change.
func TestDirIDOnOverlayByRoot(t *testing.T) {
	root := t.TempDir()
	at := root + "/all"
	for _, dir := range []string{"/lower", "/lower/d", "/upper", "/work", "/all"} {
		if err := os.Mkdir(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + root + "/lower,upperdir=" + root + "/upper,workdir=" + root + "/work"
	if err := unix.Mount("overlay", at, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	l, err := host.NewLocal(host.LocalOptions{Root: at})
	if err != nil {
		t.Fatal(err)
	}
	was, err := l.Lstat("/d")
	if err = errors.Join(err, os.WriteFile(at+"/d/f", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	now, err := l.Lstat("/d")
	if err != nil || was.Birth.Equal(now.Birth) {
		t.Fatalf("born %v, then %v (%v): this kernel keeps births, and the test shows nothing", was.Birth, now.Birth, err)
	}
	if !journal.IDOf(was).Is(now, journal.BootID()) {
		t.Errorf("%+v is not %+v", now, was)
	}
}

package sitefiles_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/internal/sitefiles"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	for name, executable := range map[string]bool{"plain": false, "a/b/run": true, "a/b/text": false} {
		if err := sitefiles.Write(root, name, executable, strings.NewReader(name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{"plain": 0o644, "a": fs.ModeDir | 0o755, "a/b": fs.ModeDir | 0o755, "a/b/run": 0o755, "a/b/text": 0o644} {
		info, err := root.Lstat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := sitefiles.Write(root, "plain", false, strings.NewReader("")); err == nil {
		t.Error("a file was replaced")
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := sitefiles.Write(root, "link/out", false, strings.NewReader("")); err == nil {
		t.Error("it was written through a link")
	}
	if err := sitefiles.Write(root, "plain/within", false, strings.NewReader("")); err == nil {
		t.Error("a file became a directory")
	}
}

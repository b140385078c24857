package sitefiles_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/sitefiles"
)

// What was put in the place of a file while a folder is read is not read for it, be it within the folder, and nobody waits at it.
func TestReplacedFile(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"a link that leads out": func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a link within":         func(path string) error { return os.Symlink("other", path) },
		"a pipe":                func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"another file":          func(path string) error { return os.Rename(filepath.Join(filepath.Dir(path), "other"), path) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		for _, file := range []string{path, filepath.Join(dir, "other")} {
			if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		err = sitefiles.Each(t.Context(), dir, func(file string, info fs.FileInfo) error {
			f, err := sitefiles.Open(root, file, info)
			if err != nil || file != "file" {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			if err := os.Rename(path, path+".away"); err != nil {
				return err
			}
			if err := replace(path); err != nil {
				return err
			}
			done := time.AfterFunc(10*time.Second, func() { panic("it waits at " + name) })
			defer done.Stop()
			if f, err := sitefiles.Open(root, file, info); err == nil {
				f.Close()
				t.Errorf("%s is opened for the file", name)
			}
			return fs.SkipAll
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

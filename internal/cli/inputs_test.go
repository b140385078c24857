package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/lang"
)

// The directory that was opened is on record, and not the one that took its place before it
// was looked at.
func TestInputsOfASwappedDirectory(t *testing.T) {
	dir := t.TempDir()
	current := filepath.Join(dir, "current")
	err := errors.Join(os.Mkdir(filepath.Join(dir, "1"), 0o700), os.Mkdir(filepath.Join(dir, "2"), 0o700), os.Symlink("1", current))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(current)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(os.Remove(current), os.Symlink("2", current)); err != nil {
		t.Fatal(err)
	}
	in := newInputs(time.Now)
	in.directory(current, root, root.FS())
	if !in.seal() || in.same(lang.Target{}, "") {
		t.Error("what was read in the former directory counts for the new one")
	}
	if err := errors.Join(os.Remove(current), os.Symlink("1", current)); err != nil {
		t.Fatal(err)
	}
	if !in.same(lang.Target{}, "") {
		t.Error("the same directory counts as another one")
	}
}

// failing is files of which none can be opened for the moment.
type failing struct{ fstest.MapFS }

func (failing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func (f failing) ReadFile(name string) ([]byte, error) {
	_, err := f.Open(name)
	return nil, err
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	_, err := f.Open(name)
	return nil, err
}

// What comes of a failure that may pass is not kept; that there is no such file is.
func TestInputsThatCannotBeRead(t *testing.T) {
	for name, read := range map[string]func(files *inputFiles) error{
		"open":      func(f *inputFiles) error { _, err := f.Open("a"); return err },
		"file":      func(f *inputFiles) error { _, err := f.ReadFile("a"); return err },
		"directory": func(f *inputFiles) error { _, err := f.ReadDir("d"); return err },
	} {
		in := newInputs(time.Now)
		if err := read(&inputFiles{in: in, files: failing{}}); !errors.Is(err, fs.ErrPermission) {
			t.Fatal(name, err)
		}
		if in.seal() {
			t.Errorf("%s: it is kept", name)
		}
	}
	in := newInputs(time.Now)
	if _, err := (&inputFiles{in: in, files: os.DirFS(t.TempDir())}).ReadFile("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if !in.seal() {
		t.Error("that there is no file is not kept")
	}
}

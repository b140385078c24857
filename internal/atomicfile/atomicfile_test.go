package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/internal/atomicfile"
)

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A link is replaced, and not what it leads to; nothing is left beside the file.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	other, name := filepath.Join(dir, "other"), filepath.Join(dir, "name")
	if err := errors.Join(os.WriteFile(other, []byte("theirs"), 0o644), os.Symlink("other", name)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Replace(name, atomicfile.Options{Durable: true}, atomicfile.Data([]byte("ours"))); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode() != 0o600 || read(t, name) != "ours" || read(t, other) != "theirs" {
		t.Errorf("%v %v: %q, beside %q", info.Mode(), err, read(t, name), read(t, other))
	}
	if got := entries(t, dir); got != "name other" {
		t.Errorf("there are %s", got)
	}
}

// What cannot be written, or put there, leaves all as it was.
func TestReplaceFails(t *testing.T) {
	dir, why := t.TempDir(), errors.New("no more")
	name := filepath.Join(dir, "name")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Replace(name, atomicfile.Options{}, func(f *os.File) error {
		_, err := f.WriteString("ha")
		return errors.Join(err, why)
	})
	if !errors.Is(err, why) || read(t, name) != "old" {
		t.Errorf("%v: %q", err, read(t, name))
	}
	if err := os.MkdirAll(filepath.Join(dir, "full", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if atomicfile.Replace(filepath.Join(dir, "full"), atomicfile.Options{}, atomicfile.Data(nil)) == nil {
		t.Error("a directory was replaced")
	}
	if err := atomicfile.Replace(filepath.Join(dir, "none", "x"), atomicfile.Options{}, atomicfile.Data(nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the directory: %v", err)
	}
	if got := entries(t, dir); got != "full name" {
		t.Errorf("there are %s", got)
	}
}

// Nothing out of a directory that is held open is replaced, and two at a time each are whole.
func TestReplaceIn(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(root.Mkdir("sub", 0o755), root.Symlink("/", "out")); err != nil {
		t.Fatal(err)
	}
	if atomicfile.ReplaceIn(root, "out/tmp/x", atomicfile.Options{}, atomicfile.Data(nil)) == nil {
		t.Error("it has left the directory")
	}
	texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	var both sync.WaitGroup
	for _, text := range texts {
		both.Go(func() {
			for range 20 {
				if err := atomicfile.ReplaceIn(root, "sub/x", atomicfile.Options{Mode: 0o644}, atomicfile.Data([]byte(text))); err != nil {
					t.Error(err)
				}
				if got := read(t, filepath.Join(dir, "sub", "x")); got != texts[0] && got != texts[1] {
					t.Errorf("%.20q… of %d bytes", got, len(got))
				}
			}
		})
	}
	both.Wait()
	if got := entries(t, filepath.Join(dir, "sub")); got != "x" {
		t.Errorf("there are %s", got)
	}
}

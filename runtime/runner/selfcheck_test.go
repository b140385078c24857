package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file is taken for the one that was checked only as long as nobody touches it.
func TestNoteOfACheckedFile(t *testing.T) {
	dir := t.TempDir()
	path, note := filepath.Join(dir, "program"), filepath.Join(dir, checkedName)
	about := func() string {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return identity(f, "0123")
	}
	if err := os.WriteFile(path, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	if hasNote(note, about()) {
		t.Error("nothing was noted")
	}
	writeNote(note, about())
	if !hasNote(note, about()) {
		t.Error("it was noted")
	}
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 3); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil { // who hides it
		t.Fatal(err)
	}
	if hasNote(note, about()) {
		t.Error("a byte was flipped")
	}
	writeNote(note, about())
	for _, at := range []time.Time{time.Now().Add(-2 * digestLifetime), time.Now().Add(time.Hour)} {
		if err := os.Chtimes(note, at, at); err != nil {
			t.Fatal(err)
		}
		if hasNote(note, about()) {
			t.Errorf("noted at %v", at)
		}
	}
}

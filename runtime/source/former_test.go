package source_test

import (
	"os"
	"testing"

	"github.com/tenetcm/tenet/runtime/source"
)

// What counts next comes after what has counted, be its files lost, or be it that another folder has them: else somebody could put an old revision in the place of the newest.
func TestFormerRevisionIsNotForgotten(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{})
	one := source.Revision{ID: "one"}
	w.now = one
	w.turn()
	for range 2 { // a process that dies before anything was fetched changes nothing of it
		if err := os.RemoveAll(w.f.Folder()); err != nil {
			t.Fatal(err)
		}
		w.begin()
		w.torn = true
		w.turn()
		if !w.former.Is(one) || w.former.HasFiles {
			t.Errorf("after the files were lost: %+v", w.former)
		}
	}
	w.torn, w.now = false, source.Revision{ID: "two"}
	w.turn()
	if !w.former.Is(one) || w.former.HasFiles || w.holds() != "two" {
		t.Errorf("the next one was fetched after %+v", w.former)
	}
	w.now = source.Revision{ID: "three"}
	w.turn()
	if !w.former.Is(source.Revision{ID: "two"}) || !w.former.HasFiles {
		t.Errorf("the one after that was fetched after %+v", w.former)
	}
	f, err := source.Open(source.Config{Source: w.origin, Dir: t.TempDir(), After: one})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Turn(t.Context()); err != nil || !w.former.Is(one) || w.former.HasFiles {
		t.Errorf("in another folder it was fetched after %+v: %v", w.former, err)
	}
}

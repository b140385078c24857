package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// blindEngine is a store of which nobody sees how much room it has.
type blindEngine struct {
	store.Engine
	share float64
	err   error
}

// FreeSpace is that of an engine.
func (b blindEngine) FreeSpace() (float64, error) { return b.share, b.err }

// Room that cannot be looked at is none, and is told once in a while; little room is none either.
func TestSpaceThatCannotBeSeen(t *testing.T) {
	for _, test := range []struct {
		engine blindEngine
		isFull bool
	}{{blindEngine{share: 0.5}, false}, {blindEngine{share: 0.09}, true}, {blindEngine{err: errors.New("the volume is gone")}, true}} {
		var failed []error
		s := &Server{Config: Config{Failed: func(err error) { failed = append(failed, err) }}}
		real, err := sqlite.Open(t.Context(), t.TempDir())
		must(t, err)
		test.engine.Engine = real
		s.Store, err = store.New(t.Context(), test.engine, store.Options{})
		must(t, err)
		t.Cleanup(func() { must(t, s.Store.Close()) })
		for range 3 {
			s.space.looked = s.space.looked.Add(-spaceEvery)
			if s.isFull() != test.isFull {
				t.Errorf("%+v: full: %v", test.engine, !test.isFull)
			}
		}
		if want := test.engine.err; (want != nil) != (len(failed) == 1) || want != nil && !strings.Contains(failed[0].Error(), want.Error()) {
			t.Errorf("%+v: told %v", test.engine, failed)
		}
	}
}

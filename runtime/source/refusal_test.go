package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source"
)

// However much is said about a revision that is refused, its follower can be taken up again.
func TestLongRefusal(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{})
	w.now = source.Revision{ID: "first"}
	w.turn()
	w.now = source.Revision{ID: "a"}
	w.refuses["a"] = &diag.HintError{Err: errors.New(strings.Repeat("x", 2<<20)), Hint: strings.Repeat("y", 2<<20)}
	w.turn()
	w.begin()
	if p := w.f.State().Problem; p == nil || len(p.Message) > diag.MaxText || len(p.Hint) > diag.MaxText {
		t.Errorf("the problem is %.200v", p)
	}
}

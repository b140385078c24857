package runtime

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// What could not be put back is told for each path, in one line: errors of several make no
// lines of their own.
func TestProblemsOfUndoAreLines(t *testing.T) {
	denied := errors.New("denied")
	got := (*masker)(nil).lines([]error{fmt.Errorf("/a: %w", errors.Join(denied, errors.New("cannot close"))), fmt.Errorf("/b: %w", denied)})
	if want := []string{"/a: denied; cannot close", "/b: denied"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

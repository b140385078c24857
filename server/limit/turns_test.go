package limit

import (
	"context"
	"errors"
	"testing"
)

// No more have a turn at once than there are, who waits gives up with its context, and a turn that is given back is another's.
func TestTurns(t *testing.T) {
	turns, gone := NewTurns(2), errors.New("who asked is gone")
	ended, end := context.WithCancelCause(t.Context())
	end(gone)
	first, err := turns.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turns.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := turns.Take(ended); !errors.Is(err, gone) {
			t.Fatalf("a third one at once: %v", err)
		}
	}
	first()
	if _, err := turns.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := turns.Take(ended); !errors.Is(err, gone) {
		t.Errorf("one that was given back is had twice: %v", err)
	}
}

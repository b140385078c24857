package cli

import (
	"context"
	"os"
	"testing"
)

// Who writes to standard input may never end: Ctrl-C does.
func TestInputIsInterrupted(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &client{console: console{Environment{In: in}, &Globals{}}}
	if _, err := s.input(ctx); exitOf(err) != exitInterrupted {
		t.Error(err)
	}
}

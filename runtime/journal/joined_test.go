package journal

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// What a full disk makes of a run is one line, with its cause once.
func TestJoinedErrorsAreOneLine(t *testing.T) {
	full := func(path string) error { return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC} }
	other := errors.New("another")
	err := Join(Join(full("/a"), nil), full("/b"), errors.Join(full("/c"), full("/d")), other, errors.Join(errors.New("x"), errors.New("y")))
	if got, want := err.Error(), "write /a: no space left on device; another; x; y"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, other) || !errors.Is(err, syscall.ENOSPC) || Join(nil, nil) != nil {
		t.Error("the errors are not held")
	}
}

// Package deferred is content that only an apply will know, and what a plan knows of
// it nevertheless.
package deferred

import (
	"errors"
	"io"

	"github.com/tenetcm/tenet/runtime/host"
)

// Content is for a Foresee that writes a file whose bytes nobody knows yet. To open
// it is host.ErrUnforeseeable, with what is known about it.
func Content(about any) host.Content {
	return host.Flow(func() (io.ReadCloser, error) { return nil, &unknown{about} })
}

// About gives what is known of content that could not be opened.
func About[T any](err error) (T, bool) {
	if e, ok := errors.AsType[*unknown](err); ok {
		about, ok := e.about.(T)
		return about, ok
	}
	return *new(T), false
}

type unknown struct{ about any }

func (e *unknown) Error() string { return host.ErrUnforeseeable.Error() }

// Is makes it a host.ErrUnforeseeable.
func (e *unknown) Is(target error) bool { return target == host.ErrUnforeseeable }

package store

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
)

var (
	// ErrClosed is what a store answers after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrStandby is what Write answers before a term was won by Campaign.
	ErrStandby = errors.New("this server stands by: another one may be active, and only the active one writes")
	// ErrText is what Write and Read answer to a text that not all engines keep.
	ErrText = errors.New("the text has a NUL in it, or is no UTF-8")

	errEnded      = errors.New("the transaction has ended")
	errCampaigned = errors.New("this store has campaigned already")
)

// DeposedError is what Write answers after another process has become the active one: what this
// one thinks to know may be of yesterday.
type DeposedError struct{ Term, Now int64 }

// Error names both terms.
func (e *DeposedError) Error() string {
	return fmt.Sprintf("another server is active: this one was in term %d, the store is in term %d", e.Term, e.Now)
}

// CommitError is what Write answers when a transaction could not be ended as it should. What it
// wrote may be there or not.
type CommitError struct{ Err error }

// Error says what is not known, and why.
func (e *CommitError) Error() string {
	return "it is not known whether this was stored: " + e.Err.Error()
}

// Unwrap gives what went wrong.
func (e *CommitError) Unwrap() error { return e.Err }

// UniqueError is what a statement fails with that would make a second row where only one may be.
type UniqueError struct{ Err error }

// Error says what the engine says of it.
func (e *UniqueError) Error() string { return "there is such a row already: " + e.Err.Error() }

// Unwrap gives the engine's error.
func (e *UniqueError) Unwrap() error { return e.Err }

func hint(message, advice string, err error) error {
	return &diag.HintError{Message: message, Hint: advice, Err: err}
}

// join gives the first error alone where there is but one.
func join(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return errors.Join(a, b)
}

// Package source follows where wanted state comes from: a folder, a repository of Git. Each revision is brought as a whole or not at all, verified, and taken only if it
// loads; else the former one stays.
package source

import (
	"context"
	"errors"
	"time"
)

// Revision is one state of a source.
type Revision struct {
	ID      string    `json:"id"`                // a commit, or the digest of files
	Name    string    `json:"name,omitempty"`    // that it was found by, such as a tag
	Version string    `json:"version,omitempty"` // what else tells it apart, for the source alone
	Seen    time.Time `json:"seen,omitzero"`     // when it was found
}

// Is reports whether two are the same.
func (r Revision) Is(o Revision) bool { return r.ID == o.ID && r.Version == o.Version }

// IsZero reports whether there is none.
func (r Revision) IsZero() bool { return r.ID == "" }

// Former is the revision that has counted until another one comes.
type Former struct {
	Revision
	// HasFiles says that its files are there: a revision with the same ones need not be brought.
	HasFiles bool
}

// Source is where wanted state comes from.
type Source interface {
	// Look finds out what there is now. It is cheap: known is what was found the last time, and may be given as the answer.
	Look(ctx context.Context, known Revision) (Revision, error)
	// Fetch makes a folder, which is not there yet, of a revision that Look has given: whole or not at all, and verified. former is the one that counts until then; none: there
	// was none before.
	Fetch(ctx context.Context, r Revision, former Former, dir string) (Fetched, error)
}

// Fetched is what is known of a revision whose files are there.
type Fetched struct {
	Signer    string `json:"signer,omitempty"`    // who has signed it; none: nobody has to
	Rewritten bool   `json:"rewritten,omitempty"` // it does not come after the one that was held
	// Same: its files are those of the one that was held, so that no folder was made.
	Same bool `json:"same,omitempty"`
}

// RefusedError says that a revision is there, and is not taken: to ask again brings nothing, until there is another one.
type RefusedError struct{ Err error }

// Error gives the reason.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refuse makes a RefusedError of an error that is not nil.
func Refuse(err error) error {
	if err == nil {
		return nil
	}
	return &RefusedError{err}
}

// IsRefused reports whether it is the revision that is at fault, and not the way to it.
func IsRefused(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}

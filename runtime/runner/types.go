package runner

import (
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// Error is why something was not done.
type Error struct {
	Code string // one of the wire package's, or empty
	Err  error
	Hint string
	// Differences from what was consented to, where Code is wire.CodeStale.
	Differences []planfile.Difference
}

// CodeUsage is the code of an Error about what was asked for.
const CodeUsage = "usage"

// Error gives the message.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// NothingError says that there are no records at all.
type NothingError struct{ Dir string }

// Error says where they have been sought.
func (e *NothingError) Error() string {
	return fmt.Sprintf("nothing has been applied yet: no run is recorded in %s", e.Dir)
}

// Standing is how a run stands, and what runs have left to do.
type Standing struct {
	*journal.Status                       // nil: nothing has been applied yet
	Progress        *Progress             `json:"progress,omitempty"`
	Applying        *journal.LockedError  `json:"applying,omitempty"`
	Hold            *journal.Hold         `json:"hold,omitempty"`
	Owed            []states.Debt         `json:"owed"`
	Unknown         []states.Begun        `json:"unknown"`
	Unconfirmed     []journal.Unconfirmed `json:"unconfirmed"`
	Damaged         []string              `json:"damaged,omitempty"`
	// Failures are, by site, the latest runs of sites that did not end well; of the
	// machine alone.
	Failures map[string]*Failure `json:"failures,omitempty"`
}

// Progress is how far a run is that has no end, as its events say.
type Progress struct {
	Ended int       `json:"ended"` // parts
	Parts int       `json:"parts"`
	Now   []Current `json:"now"`
}

// Current is what runs now.
type Current struct {
	Address string    `json:"address"`
	Since   time.Time `json:"since"`
}

// Failure is the latest run of a site, which did not end well.
type Failure struct {
	*journal.Status
	GoesOn bool `json:"goes_on,omitempty"` // as far as its status and those of others say
}

// Past is a run that there was, and what it has left undone, in words.
type Past struct {
	journal.Status
	Undone []string `json:"undone,omitempty"` // such as "2 owed"
}

// Output is what a part's program has printed on a stream.
type Output struct {
	Name string `json:"name"` // the part's address and the stream
	Text string `json:"text"`
}

// Cleaned is what was removed.
type Cleaned struct {
	Removed []string               `json:"removed"`
	Kept    []*journal.NeededError `json:"kept"`              // though it was to go
	Runners []string               `json:"runners,omitempty"` // of the cache
}

// ManagedSite is what one site has created on this machine.
type ManagedSite struct {
	Site      string             `json:"site"`
	Resources []*journal.Created `json:"resources"`
}

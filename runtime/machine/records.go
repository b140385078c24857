package machine

import (
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/states"
)

// Status is how a run stands, and what runs have left to do.
type Status struct {
	*journal.Status                      // nil: nothing has been applied yet
	Progress        *Progress            `json:"progress,omitempty"`
	Applying        *journal.LockedError `json:"applying,omitempty"`
	Hold            *journal.Hold        `json:"hold,omitempty"`
	// Cluster is what the machine is a member of, of the machine alone; nil: of nothing.
	Cluster *journal.Membership `json:"cluster,omitempty"`
	// ClusterParts tell of what the machine has by that cluster alone how it stands, as runs have seen it.
	ClusterParts []states.PartReport   `json:"cluster_parts,omitempty"`
	Owed         []states.Debt         `json:"owed"`
	Unknown      []states.Begun        `json:"unknown"`
	Unconfirmed  []journal.Unconfirmed `json:"unconfirmed"`
	Damaged      []string              `json:"damaged,omitempty"`
	// Loops are those that keep sites here, of the machine alone.
	Loops []reconcile.State `json:"loops,omitempty"`
	// Followed are the sources that are followed here, likewise.
	Followed []source.Followed `json:"followed,omitempty"`
	// Failures are, by site, the latest runs of sites that did not end well; of the
	// machine alone.
	Failures map[string]*Failure `json:"failures,omitempty"`
}

// NewStatus is that of a machine before its first run.
func NewStatus() *Status {
	return &Status{Owed: []states.Debt{}, Unknown: []states.Begun{}, Unconfirmed: []journal.Unconfirmed{}}
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

// PastRun is a run that there was, and what it has left undone, in words.
type PastRun struct {
	journal.Status
	Undone []string `json:"undone,omitempty"` // such as "2 owed"
}

// LogRequest says of which run to tell.
type LogRequest struct {
	Run    RunRef
	Follow bool // until the run ends
}

// Output is what a part's program has printed on a stream.
type Output struct {
	Name string `json:"name"` // the part's address and the stream
	Text string `json:"text"`
}

// ForgetRequest is what to let go of.
type ForgetRequest struct {
	Addresses []string // of declarations, or TYPE["KEY"] of what a site has created
	// Site lets go, as journal.Identity names it; it may be empty where one site alone
	// has what is named.
	Site        string
	LockTimeout time.Duration
}

// CleanRequest says which records are to go.
type CleanRequest struct {
	ID        string        `json:"-"`    // of a run or an execution; empty: as the others say
	Keep      int           `json:"keep"` // of the latest; negative: all that are not too old
	OlderThan time.Duration `json:"older_than,omitempty"`
	// Runners removes cached runners that were not used for so long; 0: none.
	Runners time.Duration `json:"runners,omitempty"`
}

// CleanResult is what was removed.
type CleanResult struct {
	Removed []string               `json:"removed"`
	Kept    []*journal.NeededError `json:"kept"`              // though it was to go
	Runners []string               `json:"runners,omitempty"` // of the cache
}

// ManagedSite is what one site has created on a machine.
type ManagedSite struct {
	Site      string             `json:"site"`
	Resources []*journal.Created `json:"resources"`
}

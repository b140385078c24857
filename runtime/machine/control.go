package machine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
)

// Identity is who answers on a machine.
type Identity struct {
	Program string // its version
	OS      string // as Go names them
	Arch    string
	User    string // who acts
	UID     int
	Now     time.Time // its clock
	Heard   time.Time // when that was heard, by the caller's
}

// AllFacts stands for every fact.
const AllFacts = "*"

// Facts are what a machine knows of itself, as JSON knows values: with json.Number.
type Facts struct {
	Values map[string]any
	Errors map[string]string // why a fact cannot be told
}

// Names lists the facts that were asked for, sorted.
func (f *Facts) Names() []string {
	names := slices.Sorted(maps.Keys(f.Values))
	return slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(f.Errors)))))
}

// Fact gives a fact.
func (f *Facts) Fact(name string) (any, error) {
	if text, ok := f.Errors[name]; ok {
		return nil, fmt.Errorf("fact %s: %s", name, text)
	}
	value, ok := f.Values[name]
	if !ok {
		return nil, fmt.Errorf("the host did not tell the fact %s", name)
	}
	return value, nil
}

// Exec is a program to run.
type Exec struct {
	Argv  []string `json:"argv"`
	User  string   `json:"user,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	Stdin []byte   `json:"stdin,omitempty"` // what it reads: it has to fit into a frame
}

// HoldRequest asks to keep applies from starting.
type HoldRequest struct {
	Reason string        `json:"reason"`
	For    time.Duration `json:"for,omitempty"` // 0: until it is ended
}

// HoldResult is a hold that begins.
type HoldResult struct {
	*journal.Hold
	Applying *journal.LockedError `json:"applying,omitempty"` // nil: nobody
}

// MemberRequest asks a machine to be a member of a cluster of a site, or no more.
type MemberRequest struct {
	Site string `json:"site"`
	site.Membership
	// Leaves lets go of a claim; of a machine that knows who the other members are, and in another cluster, it changes nothing.
	Leaves bool `json:"leaves,omitempty"`
}

// Caller is who asks, for the records and for who finds the machine locked.
type Caller struct {
	User    string
	From    string // the controller's name
	Command string
}

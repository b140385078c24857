package reconcile

import (
	"maps"
	"slices"
	"time"
)

// Format is the version of a State as it is kept.
const Format = "tenet.loop/1"

// Target is something that may be wanted of a machine. What it stands for is known to who drives the loop.
type Target struct {
	// Digest is the same for two that bring about the same. Empty: there is none.
	Digest   string `json:"digest,omitempty"`
	Revision string `json:"revision,omitempty"` // of the site, for people
	Name     string `json:"name,omitempty"`     // by which who drives the loop finds it
	Absent   bool   `json:"absent,omitempty"`   // what the site has created is to be removed
}

// is tells whether two bring about the same.
func (t Target) is(o Target) bool { return t.Digest == o.Digest && t.Absent == o.Absent }

// Goal is what a loop works at.
type Goal string

// The goals.
const (
	Keep   Goal = ""       // what is wanted
	Return Goal = "revert" // what was last converged
	Remove Goal = "remove"
)

// State is where a loop stands: all that it has to know after a crash.
type State struct {
	Format    string    `json:"format"`
	Site      string    `json:"site"`
	Phase     Phase     `json:"phase"`
	Since     time.Time `json:"since"`
	Condition Condition `json:"condition,omitempty"`
	Failure             // why this phase, where it is no good one
	Goal      Goal      `json:"goal,omitempty"`
	Wanted    Target    `json:"wanted,omitzero"`    // the newest
	Target    Target    `json:"target,omitzero"`    // that is worked at, or was last
	Converged Target    `json:"converged,omitzero"` // the last that the machine was brought to
	// Attempts are those that have failed since the machine was last as wanted, by cause: at Tried, and at what came since
	// without a renewal.
	Attempts map[Cause]int `json:"attempts,omitempty"`
	Limit    int           `json:"limit,omitempty"` // of the attempts by one cause
	Tried    Target        `json:"tried,omitzero"`
	Renewals []time.Time   `json:"renewals,omitempty"` // of attempts at one revision, of the last day
	Fallen   Target        `json:"fallen,omitzero"`    // that was given up for Converged
	Helpless bool          `json:"helpless,omitempty"` // nothing is applied
	Rounds   int           `json:"rounds,omitempty"`   // applies of this turn
	// HasRun says that there was a run since the revision or the poll: what differs only maybe causes no second one.
	HasRun    bool      `json:"has_run,omitempty"`
	Restarts  int       `json:"restarts,omitempty"`  // of the process, while this apply goes on
	Execution string    `json:"execution,omitempty"` // the name of the apply that goes on, or was last
	Next      time.Time `json:"next,omitzero"`       // when it looks or tries again
	Applied   string    `json:"applied,omitempty"`   // the digest of what an apply has come to its end with last
	Options   *Options  `json:"options,omitempty"`   // as they were last; nil: as usual
}

// NewState is that of a loop of which nothing is wanted yet.
func NewState(site string, now time.Time) State {
	return State{Format: Format, Site: site, Phase: Waiting, Since: now}
}

// clone gives a State that shares nothing.
func (s State) clone() State {
	s.Attempts = maps.Clone(s.Attempts)
	s.Renewals = slices.Clone(s.Renewals)
	return s
}

// counts tells whether the present failure is one of the attempts that end at a number. What a host goes back to was there once: if it
// cannot be had, waiting for ever helps nobody.
func (s *State) counts() bool {
	return s.Cause.counts() || s.Goal == Return && s.Cause == Unavailable
}

// Attempt is how often the present cause, or the worst one, has led to nothing.
func (s *State) Attempt() int {
	if s.counts() {
		return s.Attempts[s.Cause]
	}
	worst := 0
	for cause, n := range s.Attempts {
		if cause.counts() {
			worst = max(worst, n)
		}
	}
	return worst
}

// HasFailed tells whether something has come to nothing, or is in the way: another try may help.
func (s *State) HasFailed() bool {
	return s.Phase == Help || s.Phase == Retrying || s.Phase == Blocked || s.Condition == Reverted
}

// repair makes times that a clock has told wrongly no later than they can be: a loop does not wait for years.
func (s *State) repair(now time.Time, o Options) {
	if s.Since.After(now) {
		s.Since = now
	}
	longest := max(scale(o.Poll, 1+o.Jitter), maxBackoff+maxBackoff/10)
	if s.Next.After(now.Add(longest)) {
		s.Next = now.Add(longest)
	}
	s.Renewals = slices.DeleteFunc(s.Renewals, func(t time.Time) bool { return t.After(now) || now.Sub(t) >= day })
}

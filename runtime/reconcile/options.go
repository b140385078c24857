package reconcile

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Mode is what a loop does about a difference.
type Mode string

// The modes.
const (
	Apply Mode = "apply"
	Audit Mode = "audit" // it only tells
)

// OnFailure is what a loop does once its attempts are spent.
type OnFailure string

// The ways.
const (
	Retry  OnFailure = "retry"  // it asks for help
	Revert OnFailure = "revert" // it goes back to what was last converged, and then waits for something else
)

// Options are how a machine is kept. The zero value is the defaults.
type Options struct {
	Mode      Mode          `json:"mode,omitempty"`       // Apply
	Poll      time.Duration `json:"poll,omitempty"`       // between two looks: 30 minutes
	Jitter    float64       `json:"jitter,omitempty"`     // by which part Poll is shorter or longer: 0.1; negative: none
	Deadline  time.Duration `json:"deadline,omitempty"`   // of one apply: an hour
	Rounds    int           `json:"rounds,omitempty"`     // applies until nothing differs, in one attempt: 3
	Attempts  int           `json:"attempts,omitempty"`   // until help is asked for, by cause: 8
	OnFailure OnFailure     `json:"on_failure,omitempty"` // Retry
	Backoff   time.Duration `json:"backoff,omitempty"`    // about how long until the second attempt: 10 s
}

// Limits that no option changes.
const (
	maxBackoff  = 30 * time.Minute
	blockedFor  = time.Minute // until it is looked whether an obstacle is still there
	maxRestarts = 5           // of the process, in one apply
	renewals    = 3           // of the attempts at one revision in a day
	day         = 24 * time.Hour
)

// The defaults.
const (
	DefaultPoll     = 30 * time.Minute
	DefaultJitter   = 0.1
	DefaultDeadline = time.Hour
	DefaultRounds   = 3
	DefaultAttempts = 8
	DefaultBackoff  = 10 * time.Second
)

// WithDefaults puts the defaults in the place of what is not said.
func (o Options) WithDefaults() Options {
	o.Mode = cmp.Or(o.Mode, Apply)
	o.Poll = cmp.Or(o.Poll, DefaultPoll)
	o.Jitter = max(cmp.Or(o.Jitter, DefaultJitter), 0)
	o.Deadline = cmp.Or(o.Deadline, DefaultDeadline)
	o.Rounds = cmp.Or(o.Rounds, DefaultRounds)
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.OnFailure = cmp.Or(o.OnFailure, Retry)
	o.Backoff = cmp.Or(o.Backoff, DefaultBackoff)
	return o
}

// Check says what is wrong with options. The error is a *diag.HintError.
func (o Options) Check() error {
	wrong := func(hint, format string, args ...any) error {
		return &diag.HintError{Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{{"poll", o.Poll, 0}, {"deadline", o.Deadline, 0}, {"backoff", o.Backoff, 0}} {
		if d.value < d.least {
			return wrong("write a time such as \"30m\"", "%s cannot be %v: it is a time above zero", d.name, d.value)
		}
	}
	switch {
	case o.Mode != "" && o.Mode != Apply && o.Mode != Audit:
		return wrong(`write "apply", or "audit" to be told only`, "%q is no mode", o.Mode)
	case o.OnFailure != "" && o.OnFailure != Retry && o.OnFailure != Revert:
		return wrong(`write "retry", or "revert" to go back to what worked last`, "on_failure cannot be %q", o.OnFailure)
	case o.Jitter >= 1:
		return wrong("write a part of one, such as 0.1", "jitter cannot be %v: it is below 1", o.Jitter)
	case o.Rounds < 0:
		return wrong("write a number from 1", "rounds cannot be %d", o.Rounds)
	case o.Attempts < 0:
		return wrong("write a number from 1", "attempts cannot be %d", o.Attempts)
	}
	return nil
}

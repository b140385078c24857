package site

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Mode is what is done about a difference on a host.
type Mode string

// The modes.
const (
	ModeApply Mode = "apply"
	ModeAudit Mode = "audit" // it is only told
)

// OnFailure is what is done once the attempts at something are spent.
type OnFailure string

// The ways.
const (
	OnFailureHelp   OnFailure = "help"   // help is asked for
	OnFailureRevert OnFailure = "revert" // the host goes back to what it was last brought to, and then waits for something else
)

// Reconcile says how a host is kept as it is wanted. The zero value is the defaults.
type Reconcile struct {
	Mode      Mode          `json:"mode,omitempty"`       // ModeApply
	Poll      time.Duration `json:"poll,omitempty"`       // between two looks: 30 minutes
	Jitter    float64       `json:"jitter,omitempty"`     // by which part Poll is shorter or longer: 0.1; negative: none
	Deadline  time.Duration `json:"deadline,omitempty"`   // of one apply: an hour
	Rounds    int           `json:"rounds,omitempty"`     // applies until nothing differs, in one attempt: 3
	Attempts  int           `json:"attempts,omitempty"`   // until they are spent, by cause: 8
	OnFailure OnFailure     `json:"on_failure,omitempty"` // OnFailureHelp
	Backoff   time.Duration `json:"backoff,omitempty"`    // about how long until the second attempt: 10 s
	// Windows are when the host may be changed.
	Windows Schedule `json:"windows,omitempty"`
}

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
func (o Reconcile) WithDefaults() Reconcile {
	o = o.Or(Reconcile{Mode: ModeApply, Poll: DefaultPoll, Jitter: DefaultJitter, Deadline: DefaultDeadline, Rounds: DefaultRounds, Attempts: DefaultAttempts,
		OnFailure: OnFailureHelp, Backoff: DefaultBackoff})
	o.Jitter = max(o.Jitter, 0)
	return o
}

// Or gives options in which others stand for what is not said.
func (o Reconcile) Or(other Reconcile) Reconcile {
	o.Mode = cmp.Or(o.Mode, other.Mode)
	o.Poll = cmp.Or(o.Poll, other.Poll)
	o.Jitter = cmp.Or(o.Jitter, other.Jitter)
	o.Deadline = cmp.Or(o.Deadline, other.Deadline)
	o.Rounds = cmp.Or(o.Rounds, other.Rounds)
	o.Attempts = cmp.Or(o.Attempts, other.Attempts)
	o.OnFailure = cmp.Or(o.OnFailure, other.OnFailure)
	o.Backoff = cmp.Or(o.Backoff, other.Backoff)
	if o.Windows == nil {
		o.Windows = other.Windows
	}
	return o
}

// IsZero tells whether nothing is said.
func (o Reconcile) IsZero() bool {
	return o.Mode == "" && o.Poll == 0 && o.Jitter == 0 && o.Deadline == 0 && o.Rounds == 0 && o.Attempts == 0 && o.OnFailure == "" && o.Backoff == 0 && len(o.Windows) == 0
}

// Check says what is wrong with options. The error is a *diag.HintError.
func (o Reconcile) Check() error {
	wrong := func(hint, format string, args ...any) error {
		return &diag.HintError{Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"poll", o.Poll}, {"deadline", o.Deadline}, {"backoff", o.Backoff}} {
		if d.value < 0 {
			return wrong("write a time such as \"30m\"", "%s cannot be %v: it is a time above zero", d.name, d.value)
		}
	}
	switch {
	case o.Mode != "" && o.Mode != ModeApply && o.Mode != ModeAudit:
		return wrong(`write "apply", or "audit" to be told only`, "%q is no mode", o.Mode)
	case o.OnFailure != "" && o.OnFailure != OnFailureHelp && o.OnFailure != OnFailureRevert:
		return wrong(`write "help", or "revert" to go back to what worked last`, "on_failure cannot be %q", o.OnFailure)
	case o.Jitter >= 1:
		return wrong("write a part of one, such as 0.1", "jitter cannot be %v: it is below 1", o.Jitter)
	case o.Rounds < 0:
		return wrong("write a number from 1", "rounds cannot be %d", o.Rounds)
	case o.Attempts < 0:
		return wrong("write a number from 1", "attempts cannot be %d", o.Attempts)
	}
	return nil
}

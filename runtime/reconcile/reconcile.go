// Package reconcile keeps one machine as one site wants it, for as long as that is wanted.
//
// Its core is pure: State, the time and a Message go into Core.Step, and the next State, what is to be done (an Action) and
// the Transitions that led there come out. Which transition follows what is a table (Edges), from which the documentation is made.
// A State is plain data: Loop makes each durable before it does what it says, so that it goes on where it was after a crash.
package reconcile

// Phase is what a loop does.
type Phase string

// The phases. A loop rests in those that IsRest names.
const (
	Waiting     Phase = "waiting"     // for something new, or until it looks again: Condition says how things are
	Discovering Phase = "discovering" // it plans
	Validating  Phase = "validating"  // it checks that nothing is left over where a plan finds nothing to do
	Applying    Phase = "applying"
	Retrying    Phase = "retrying"  // it waits until it tries again
	Reverting   Phase = "reverting" // to what was last converged
	Blocked     Phase = "blocked"   // by a hold, a window or a lock
	Help        Phase = "help"      // nothing is applied until something else is wanted, or a person says so
	Removing    Phase = "removing"  // what the site has created, since it is to be absent
	Gone        Phase = "gone"
)

// Phases lists them.
func Phases() []Phase {
	return []Phase{Waiting, Discovering, Validating, Applying, Retrying, Reverting, Blocked, Help, Removing, Gone}
}

// IsRest tells whether nothing is under way in a phase.
func (p Phase) IsRest() bool {
	switch p {
	case Waiting, Retrying, Blocked, Help, Gone:
		return true
	}
	return false
}

// changes tells whether the machine may be changed in a phase.
func (p Phase) changes() bool { return p == Applying || p == Reverting || p == Removing }

// Condition is how the machine was when it was looked at last.
type Condition string

// The conditions.
const (
	Unknown   Condition = ""
	Converged Condition = "converged" // as wanted
	Drifted   Condition = "drifted"   // it differs, and is only to be looked at
	Failed    Condition = "failed"
	Reverted  Condition = "reverted" // as was last converged, since what is wanted has failed
)

// Cause is why something has come to nothing.
type Cause string

// The causes. Attempts are counted by these.
const (
	None        Cause = ""
	Unplannable Cause = "plan"        // a plan cannot be made
	Unsuccess   Cause = "apply"       // something failed in an apply
	Unstable    Cause = "unstable"    // what was just applied differs again
	Overdue     Cause = "deadline"    // an apply took too long, and was cancelled
	Interrupted Cause = "interrupted" // an apply was ended from outside, again and again
	Unsound     Cause = "validation"  // nothing is left to do, and still something is wrong
	Unavailable Cause = "unavailable" // what is wanted cannot be had at present: no attempt
	Obstacle    Cause = "obstacle"    // a hold or a lock: no attempt
	Closed      Cause = "window"      // no window is open: no attempt
)

// counts tells whether a failure is one of the attempts that end at a number. What could not even be tried says nothing of what
// is wanted.
func (c Cause) counts() bool { return c != None && c != Unavailable && c != Obstacle && c != Closed }

// Failure is why something has come to nothing; the zero value is that it has not.
type Failure struct {
	Cause  Cause  `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"` // for people
}

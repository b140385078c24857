// Package fleet drives many machines: some at a time, batch by batch where that is
// wanted, each on its own. A machine that cannot be reached, or fails, is told of, and
// the others go on.
//
// Once a machine has said that its run is recorded, the run goes on whatever becomes of
// the connection. One that breaks is made anew, and the events go on after the last that
// was told: each is told once, in order.
package fleet

import (
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Member is one machine of a fleet.
type Member struct {
	Name   string
	Groups []string
	// InProcess says that what is done there ends with this process, which does it.
	InProcess bool
	machine.Machine
}

// DialError is what an error of a machine may be that could not be reached.
type DialError interface {
	error
	// Temporary says that trying again may help: the line was cut, or too many knocked
	// at once.
	Temporary() bool
	// Answered tells a machine that answered, and lacks something, from one that could
	// not be reached.
	Answered() bool
}

// Options say how. The zero value works.
type Options struct {
	Forks   int // machines at a time; 0: 32
	Rollout *site.Rollout
	// Seed is that of a shuffled rollout, so that an order can be had again; 0: any.
	Seed uint64
	// Patience is how long to try to reach a machine again whose connection broke in
	// a run; 0: 10 minutes; NotAgain: it is not tried.
	Patience time.Duration
	// Cancelled, when it is closed, makes machines end what they do as at Ctrl-C. The
	// end of the context leaves them alone: they go on.
	Cancelled <-chan struct{}
	Listener  Listener   // nil: nobody is told
	Execution *Execution // the record of it; nil: none
	// Hooks says how to run those of the rollout; it is required where that has any.
	Hooks *Hooks
	// Needs are, of each machine that reads outputs of others, those others: it begins when they have
	// ended well, and is skipped if they have not. Names that are no machines of the call do not count.
	Needs map[string][]string
}

// NotAgain is the patience of who does not try to reach a machine again.
const NotAgain time.Duration = -1

// Listener is told what happens, from one goroutine at a time. What machines say comes as
// they say it: whoever prints it makes it fit for a terminal.
type Listener interface {
	// State is told that a machine has come to another state.
	State(machine string, s State)
	Event(machine string, ev states.Event)             // its Host is the machine
	Note(machine string, n machine.Note)               // machine is empty where it is about all of them
	Output(machine string, stream string, data []byte) // "stdout" or "stderr"
	Ended(machine string, o Outcome)
}

// State is where a machine stands.
type State string

// The states of a machine.
const (
	Waiting      State = "waiting"
	Connecting   State = "connecting"
	Evaluating   State = "evaluating" // the site, for it
	Sending      State = "sending"
	Running      State = "running"
	Reconnecting State = "reconnecting" // the run goes on there
	Over         State = "over"
)

// Status is how it ended with a machine.
type Status string

// The ways it ends.
const (
	Done        Status = "done"
	Failed      Status = "failed"
	Unreachable Status = "unreachable" // before anything was begun
	Detached    Status = "detached"    // it is not known how it ended: a run goes on there
	Invalid     Status = "invalid"     // the site is wrong for it
	Interrupted Status = "interrupted"
	Incomplete  Status = "incomplete" // for the other members of its cluster
	Skipped     Status = "skipped"    // its turn did not come: too many had failed, or it was interrupted
)

// Outcome is how it ended with a machine.
type Outcome struct {
	Machine string
	Status  Status
	Run     string          // that was begun there
	Result  *machine.Result // nil: none came
	// Err is why it is not done: a *machine.Error where the machine says so. Nil where
	// Result says it.
	Err      error
	Duration time.Duration
}

// Refused reports whether the machine itself has said why it is not done.
func (o *Outcome) Refused() bool {
	_, ok := o.Err.(*machine.Error)
	return ok
}

// Package fleet drives many machines: some at a time, batch by batch where that is
// wanted, each on its own. A machine that cannot be reached, or fails, is told of, and
// the others go on.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Machine is one host of a fleet.
type Machine struct {
	Name   string
	Groups []string
	// Via names what handshakes go through, such as a jump host: not too many at a
	// time do. Empty: nothing.
	Via string
	// Dial starts a runner there, and gives the connection behind its Hello.
	Dial func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error)
}

// Task is what is done on each machine.
type Task struct {
	Opening wire.Opening
	// Prepare makes, of what a machine says of itself, what is asked of it, and the
	// bundle that goes with it; nil: none. It may be called for several machines at
	// a time. An error is the machine's outcome.
	Prepare  func(ctx context.Context, m *Machine, hello *wire.Hello) (*wire.Request, *bundle.Bundle, error)
	Registry func(m *Machine) *states.Registry // of its bundle
}

// Options say how. The zero value works.
type Options struct {
	Forks   int // machines at a time; 0: 32
	Rollout *Rollout
	// Patience is how long to try to reach a machine again whose connection broke in
	// a run; 0: 10 minutes.
	Patience time.Duration
	// Cancelled, when it is closed, makes machines end what they do as at Ctrl-C. The
	// end of the context leaves them alone: they go on.
	Cancelled <-chan struct{}
	Listener  Listener
}

// Listener is told what happens, from one goroutine at a time.
type Listener interface {
	// State is told that a machine has come to another state.
	State(machine string, s State)
	Event(machine string, ev states.Event)
	Note(machine, text string)
	Output(machine string, stream string, data []byte) // "stdout" or "stderr"
	Data(machine string, data json.RawMessage)
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
	Left        Status = "left"        // it is not known how it ended: the run goes on there
	Wrong       Status = "wrong"       // the site is wrong for it
	Interrupted Status = "interrupted"
	Spared      Status = "spared" // its turn did not come: too many had failed, or it was interrupted
)

// Outcome is how it ended with a machine.
type Outcome struct {
	Machine  string
	Status   Status
	Run      string    // that was begun there
	End      *wire.End // nil: none came
	Err      error     // why it is not done; nil where End says it
	Duration time.Duration
}

// Rollout says in which order and how many at a time.
type Rollout struct {
	Batch       []Amount      // the last one is repeated; empty: all at once
	MaxFailures *Amount       // more stop it before the next batch; nil: none may fail
	Pause       time.Duration // between batches
	Shuffle     bool
	Stages      []Stage // in this order; machines in none of them come last
}

// Stage is a part of a rollout that must succeed on all its machines before the next
// one starts, apart from MaxFailures.
type Stage struct {
	Name        string
	Hosts       []string // machines, in their order
	Batch       []Amount
	MaxFailures *Amount
}

// Amount is a number of machines, or a share of them.
type Amount struct {
	N       int
	Percent bool
}

// Run does a task on machines, and gives the outcomes in their order. The error is for
// what cannot be begun at all.
func Run(ctx context.Context, machines []*Machine, t Task, o Options) ([]Outcome, error) {
	return nil, errors.New("fleet: not written yet")
}

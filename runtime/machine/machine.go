// Package machine says what can be asked of a machine, and what it answers, whatever way
// leads to it: the runner package is one in this process, the remote package one behind
// a connection. Requests and answers are plain data.
package machine

import (
	"context"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/states"
)

// Machine is a machine that can be brought into a state. What its methods fail with is an
// *Error where the machine has refused, and a *ConnectionError where the way to it broke.
type Machine interface {
	Runs
	Records
	Control
}

// Runs are runs on the machine.
//
// When the context of a call ends, the caller lets go of the run: one in this process is
// interrupted, since it cannot go on without it; any other goes on by itself once it has
// begun.
type Runs interface {
	// Plan tells, by events, what Apply would do.
	Plan(ctx context.Context, j *Job, o Observer) (*Result, error)
	// Apply carries a job out, and records it. Failures of parts are events and in the
	// Result; an error is of a run that could not be carried out.
	Apply(ctx context.Context, j *Job, o Observer) (*Result, error)
	// Follow tells the events of a run until it ends, and its result.
	Follow(ctx context.Context, run RunRef, o Observer) (*Result, error)
	// Resume goes on with a run where it ended. A Result without a run says that there
	// was nothing to go on with.
	Resume(ctx context.Context, r Resumption, o Observer) (*Result, error)
	// Cancel ends a run as Ctrl-C does, and keeps an execution from beginning that has not:
	// on hosts of any name, if none is given. Without an ID it is what this value is asked to
	// do at present. It does not wait for the end.
	Cancel(ctx context.Context, run RunRef) error
}

// Records are what the machine remembers.
type Records interface {
	// Status tells how a run stands, or, without an ID, the machine.
	Status(ctx context.Context, id string) (*Status, error)
	// History lists the runs, oldest first.
	History(ctx context.Context) ([]PastRun, error)
	// Logs tells the events of a run, and gives what its programs have printed.
	Logs(ctx context.Context, l LogRequest, o Observer) ([]Output, error)
	// Forget lets go of what a site has created and of what handlers are owed; the
	// machine stays as it is. It gives the events that say so.
	Forget(ctx context.Context, f ForgetRequest, o Observer) ([]states.Event, error)
	// Clean removes records of runs, but for those that are needed still.
	// With an error comes what was removed before it, if that is known.
	Clean(ctx context.Context, c CleanRequest) (*CleanResult, error)
}

// Control is the machine apart from its runs.
type Control interface {
	// Ping tells who answers.
	Ping(ctx context.Context) (*Identity, error)
	// Facts tells facts by their names; AllFacts stands for every one.
	Facts(ctx context.Context, names []string) (*Facts, error)
	// Exec runs a program, whose output the Observer is told, and gives its exit status.
	Exec(ctx context.Context, e Exec, o Observer) (int, error)
	// Hold keeps applies from starting. Who applies nevertheless, since it has begun
	// before, is in the answer.
	Hold(ctx context.Context, h HoldRequest) (*HoldResult, error)
	// Unhold lets applies start again, and gives the hold that was; nil: there was none.
	Unhold(ctx context.Context) (*journal.Hold, error)
}

// Inventory is a second ability of machines: to list what sites have created there.
type Inventory interface {
	// Managed lists it by site; nil: there are no records.
	Managed(ctx context.Context) ([]ManagedSite, error)
}

// Retrier is another: to have loops try again what has failed.
type Retrier interface {
	// Retry has the loop of a site try again, or without one all that have come to nothing. It gives these as they were.
	Retry(ctx context.Context, site string) ([]reconcile.State, error)
}

// Member is another: to be a member of a cluster.
type Member interface {
	// Member makes the machine a member of a cluster, or ends that, and gives what it was a member of before; nil: of
	// nothing. Where that is another cluster, the error has the code CodeMember.
	Member(ctx context.Context, r MemberRequest) (*journal.Membership, error)
}

// Observer is told what happens while a call goes on, in order and one at a time. Each of
// its functions may be nil.
type Observer struct {
	// Sent is called once the machine has all that it needs.
	Sent func()
	// Started is called once a run is recorded: from here on it ends by itself.
	Started func(Started)
	Event   func(states.Event)
	Note    func(Note)
	Output  func(stream string, data []byte) // stream is "stdout" or "stderr"
}

// Started says which run has begun, or goes on.
type Started struct {
	Run   string
	After int64 // the number of its last event before
	Job   *Job  // what it does; nil: that is known on the machine alone
}

// Note is something that people should know, in one line.
type Note struct {
	Kind string // empty: unknown
	Text string
}

// Kinds of notes.
const (
	NoteRecords  = "records"  // something of the records is lost, or cannot be read
	NoteWaiting  = "waiting"  // another apply is being waited for
	NoteObstacle = "obstacle" // of a plan: a hold, or another apply, keeps it from being applied
	NoteReboot   = "reboot"   // the machine starts anew now, and the run goes on after that
)

// The functions below tell what an Observer wants to be told.

// TellSent calls Sent.
func (o *Observer) TellSent() {
	if o.Sent != nil {
		o.Sent()
	}
}

// TellStarted calls Started.
func (o *Observer) TellStarted(s Started) {
	if o.Started != nil {
		o.Started(s)
	}
}

// TellEvent calls Event.
func (o *Observer) TellEvent(ev states.Event) {
	if o.Event != nil {
		o.Event(ev)
	}
}

// TellNote calls Note.
func (o *Observer) TellNote(n Note) {
	if o.Note != nil {
		o.Note(n)
	}
}

// TellOutput calls Output.
func (o *Observer) TellOutput(stream string, data []byte) {
	if o.Output != nil {
		o.Output(stream, data)
	}
}

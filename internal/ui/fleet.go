package ui

import (
	"io"
	"sync"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// FleetOptions say how it is shown what happens on several machines.
type FleetOptions struct {
	Out       io.Writer // what a command is called for
	Err       io.Writer // notes
	Hosts     []string  // the machines, in their order
	Plan      bool      // nothing is carried out
	Saved     bool      // what a plan has said before is shown: it takes no time
	Summary   bool      // of plans no more than a line for each host
	Execution string    // names what is carried out on all of them
	JSON      bool
	Quiet     bool // only failures and the sum
	Verbose   bool // what stays as it is too
	Color     bool // on Out
	ColorErr  bool
	// Screen gives the size of the terminal that Err is: what happens is shown in a
	// table there while it does, and all the rest at the end. Nil: it is none, and
	// what happens is shown as it does.
	Screen func() (width, height int)
	// Trouble says why it is not done with a machine; nil: it is, or its events say
	// why not. One with the code CodeSite is told of by diagnostics.
	Trouble func(o *fleet.Outcome) *states.Failure
	// Line gives the source line of a place "file:line:column", or "".
	Line func(place string) string
}

// CodeSite is the code of a failure that diagnostics about the site tell of.
const CodeSite = "site"

// Fleet shows what happens on several machines: it is a fleet.Listener. Its methods
// may be called from several goroutines.
type Fleet struct {
	mu    sync.Mutex
	form  fleetForm
	table *table // nil: there is no terminal
}

// fleetForm is one form of output.
type fleetForm interface {
	prepared(machine string, run *states.StateRun)
	event(machine string, ev states.Event)
	note(machine, text string)
	differs(machine, text string, rows []any)
	ended(machine string, o fleet.Outcome)
	close(outcomes []fleet.Outcome) error
}

// NewFleet begins to show.
func NewFleet(o FleetOptions) *Fleet {
	if o.Trouble == nil {
		o.Trouble = func(*fleet.Outcome) *states.Failure { return nil }
	}
	f := &Fleet{}
	if o.JSON {
		f.form = newFleetJSON(o)
		return f
	}
	f.form = newFleetText(o)
	if o.Plan {
		f.form = newFleetPlan(o)
	}
	if o.Screen != nil && !o.Quiet {
		f.table = newTable(o, &f.mu)
	}
	return f
}

// withLock calls what prints, with the table out of its way.
func (f *Fleet) withLock(call func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table != nil {
		f.table.erase()
	}
	call()
}

// Prepared tells what a machine is about to do.
func (f *Fleet) Prepared(name string, j *machine.Job) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form.prepared(name, j.Run)
	if f.table != nil {
		f.table.prepared(name, j.Run)
	}
}

// State is told that a machine has come to another state.
func (f *Fleet) State(machine string, s fleet.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table != nil {
		f.table.state(machine, s)
	}
}

// Event takes the next event of a machine.
func (f *Fleet) Event(machine string, ev states.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ev.Host = machine
	if _, programs := f.form.(*fleetJSON); !programs {
		ev = fit(ev)
	}
	f.form.event(machine, ev)
	if f.table != nil {
		f.table.event(machine, &ev)
	}
}

// Note takes a line for people about a machine, or about all where it has no name.
func (f *Fleet) Note(name string, n machine.Note) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == "" && f.table != nil {
		f.table.erase()
	}
	f.form.note(name, n.Text)
	if f.table != nil {
		f.table.note(name, n.Text)
	}
}

// Output is told what a program prints: nothing that is shown here has any.
func (f *Fleet) Output(string, string, []byte) {}

// Differs shows how a machine is not as it was when its plan was shown: text for people,
// and rows for programs.
func (f *Fleet) Differs(machine, text string, rows []any) {
	f.withLock(func() { f.form.differs(machine, text, rows) })
}

// Ended is told how it ended with a machine.
func (f *Fleet) Ended(machine string, o fleet.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form.ended(machine, o)
	if f.table != nil {
		f.table.ended(machine, &o)
	}
}

// Aside calls what uses the terminal for itself, as to ask for something, with the table
// out of its way until then. What happens meanwhile is shown afterwards.
func (f *Fleet) Aside(call func()) {
	if f.table == nil {
		call()
		return
	}
	move := func(by int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.table.erase()
		f.table.pauses += by
	}
	move(+1)
	defer move(-1)
	call()
}

// Settle ends what is shown for a moment only: nothing more will happen.
func (f *Fleet) Settle() {
	if f.table != nil {
		f.table.stop()
	}
}

// Close shows what is left to show, and how it ended with all of them. The error is
// the first one of writing.
func (f *Fleet) Close(outcomes []fleet.Outcome) error {
	f.Settle()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.form.close(outcomes)
}

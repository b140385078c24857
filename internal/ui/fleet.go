package ui

import (
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// FleetOptions say how it is shown what happens on several machines.
type FleetOptions struct {
	Out       io.Writer // what a command is called for
	Err       io.Writer // notes
	Hosts     []string  // the machines, in their order
	Plan      bool      // nothing is carried out
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
	// Line gives the source line of a place "file:line:column", or "".
	Line func(place string) string
}

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
	ended(machine string, o fleet.Outcome)
	close(outcomes []fleet.Outcome) error
}

// NewFleet begins to show.
func NewFleet(o FleetOptions) *Fleet {
	f := &Fleet{}
	if o.JSON {
		f.form = newFleetJSON(o)
		return f
	}
	f.form = newFleetText(o)
	if o.Screen != nil && !o.Quiet {
		f.table = newTable(o, &f.mu)
	}
	return f
}

// locked calls what prints, with the table out of its way.
func (f *Fleet) locked(call func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table != nil {
		f.table.erase()
	}
	call()
}

// Prepared tells what a machine is about to do.
func (f *Fleet) Prepared(machine string, run *states.StateRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form.prepared(machine, run)
	if f.table != nil {
		f.table.prepared(machine, run)
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
	f.form.event(machine, ev)
	if f.table != nil {
		f.table.event(machine, &ev)
	}
}

// Note takes a line about a machine, for people.
func (f *Fleet) Note(machine, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form.note(machine, text)
	if f.table != nil {
		f.table.note(machine, text)
	}
}

// Output is told what a program prints: nothing that is shown here has any.
func (f *Fleet) Output(string, string, []byte) {}

// Data is told an answer: nothing that is shown here asks for one.
func (f *Fleet) Data(string, json.RawMessage) {}

// Ended is told how it ended with a machine.
func (f *Fleet) Ended(machine string, o fleet.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form.ended(machine, o)
	if f.table != nil {
		f.table.ended(machine, &o)
	}
}

// Aside calls what uses the terminal itself, such as a question.
func (f *Fleet) Aside(call func()) { f.locked(call) }

// Close shows what is left to show, and how it ended with all of them. The error is
// the first one of writing.
func (f *Fleet) Close(outcomes []fleet.Outcome) error {
	if f.table != nil {
		f.table.stop()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.form.close(outcomes)
}

// FailureOf says what an error about a machine is, for programs and people.
func FailureOf(err error) *states.Failure {
	var reach *ssh.Error
	var said *wire.FailedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reach):
		return &states.Failure{Code: reach.Code, Message: reach.Message, Hint: reach.Hint}
	case errors.As(err, &said):
		return &said.Failure
	}
	failure := &states.Failure{Code: "error", Message: err.Error()}
	if list, ok := errors.AsType[diag.List](err); ok {
		failure.Code = "site"
		for _, d := range list {
			if d.Severity == diag.Error {
				failure.Message, failure.Hint, failure.Source = d.Summary, d.Hint, d.Range.String()
				break
			}
		}
	}
	return failure
}

// failureOf is why it is not done with a machine; nil: it is, or its events say why
// not.
func failureOf(o *fleet.Outcome) *states.Failure {
	if o.Err != nil {
		return FailureOf(o.Err)
	}
	if o.End != nil {
		return o.End.Failure
	}
	return nil
}

// result is what came of a machine's run; nil: it is not known.
func result(o *fleet.Outcome) *wire.Result {
	if o.End == nil {
		return nil
	}
	return o.End.Result
}

package cli

import (
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// display shows what goes on on machines: a ui.Fleet by their names, a hereDisplay on this
// one.
type display interface {
	fleet.Listener
	// Prepared says what a machine is to do.
	Prepared(name string, j *machine.Job)
	// Differs shows how a machine is not as it was when its plan was shown.
	Differs(name, text string, rows []any)
	// Aside calls what asks on the terminal, with what is drawn there out of its way.
	Aside(call func())
	// Settle ends what is shown for a moment only.
	Settle()
	// Close shows what is left to show, and how it ended. The error is the first of writing.
	Close(outcomes []fleet.Outcome) error
}

// hereDisplay shows a run of this machine from its first event on, until the machine
// starts anew.
type hereDisplay struct {
	fleet.Silence
	client   *client
	planning bool
	job      *machine.Job
	show     func(*machine.Job) ui.Renderer
	renderer ui.Renderer // nil: nothing has begun
	closed   bool
	err      error
}

// Prepared keeps the job for who shows it.
func (d *hereDisplay) Prepared(_ string, j *machine.Job) { d.job = j }

// Event shows an event.
func (d *hereDisplay) Event(_ string, ev states.Event) {
	if d.client.summary && d.client.globals.JSON && ev.Type != states.EventSummary {
		return
	}
	if d.renderer == nil {
		d.renderer = d.show(d.job)
	}
	d.renderer.Event(ev)
}

// Note tells what people should know.
func (d *hereDisplay) Note(_ string, n machine.Note) {
	if n.Kind == machine.NoteReboot {
		d.end()
	}
	d.client.note(n)
}

// Differs shows the rows that differ.
func (d *hereDisplay) Differs(_, text string, rows []any) {
	if !d.client.globals.JSON {
		d.err = errors.Join(d.err, d.client.printText(text))
		return
	}
	for _, row := range rows {
		d.err = errors.Join(d.err, d.client.printLine(row))
	}
}

// Aside calls at once: nothing is drawn before there is an event.
func (d *hereDisplay) Aside(call func()) { call() }

// Settle is for tables.
func (d *hereDisplay) Settle() {}

func (d *hereDisplay) end() {
	if d.renderer != nil && !d.closed {
		d.closed = true
		d.err = errors.Join(d.err, unread(d.renderer.Close()))
	}
}

// Close ends what is shown.
func (d *hereDisplay) Close([]fleet.Outcome) error {
	d.end()
	if d.err != nil && !d.planning {
		return fmt.Errorf("the run is recorded, but could not be shown: %w", d.err)
	}
	return d.err
}

// hiddenDisplay shows nothing.
type hiddenDisplay struct{ fleet.Silence }

// Prepared shows nothing.
func (hiddenDisplay) Prepared(string, *machine.Job) {}

// Differs shows nothing.
func (hiddenDisplay) Differs(string, string, []any) {}

// Aside calls at once.
func (hiddenDisplay) Aside(call func()) { call() }

// Settle shows nothing.
func (hiddenDisplay) Settle() {}

// Close shows nothing.
func (hiddenDisplay) Close([]fleet.Outcome) error { return nil }

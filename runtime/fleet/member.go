package fleet

import (
	"context"
	"errors"
	"sync"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// progress says how far a machine has come.
type progress int

const (
	notBegun progress = iota // was begun
	perhaps                  // it was asked, and has not answered
	surely                   // it said so
)

// member is one machine on its way.
type member struct {
	*drive
	*Member

	progress  progress
	position  machine.RunRef // what is asked for, and the last event that was told
	run       string         // that was begun
	continues bool           // this call is for the rest of what was begun
	outage
}

// follow drives the machine until it is over, call by call.
func (m *member) follow(ctx context.Context) Outcome {
	for {
		if m.progress == notBegun {
			m.state(m.Name, Connecting)
		} else {
			m.state(m.Name, Reconnecting)
		}
		if out := m.attempt(ctx); out != nil {
			return *out
		}
		sleep(m.life(ctx), m.backoff())
	}
}

// life is the context of what happens now: what was begun is looked after until the
// caller lets go of it, all else only while it is not cancelled.
func (m *member) life(ctx context.Context) context.Context {
	if m.progress == notBegun {
		return m.fresh
	}
	return ctx
}

// attempt asks for what is to be done, or for the rest of it. It gives nil if that is to
// be tried again.
func (m *member) attempt(ctx context.Context) *Outcome {
	if err := context.Cause(m.life(ctx)); err != nil {
		return m.detach(ctx)
	}
	m.continues = m.progress != notBegun
	result, err := m.call(ctx)
	lost, broken := errors.AsType[*machine.ConnectionError](err)
	if broken {
		// One that flaps does not hold for so long.
		if lost.Duration > longest {
			m.reset()
		}
		if lost.Asked && !m.task.Repeatable && m.progress == notBegun {
			m.progress = perhaps
		}
	}
	switch _, refused := errors.AsType[*machine.Error](err); {
	case refused:
		return m.conclude(result, machine.ErrorOf(err)) // it may be not all that went wrong
	case err == nil:
		return m.conclude(result, nil)
	}
	if out := m.detach(ctx); out != nil {
		return out
	}
	_, absurd := errors.AsType[*machine.JobError](err) // then nothing is begun
	switch wrong, ok := errors.AsType[*wrongError](err); {
	case ok:
		return &Outcome{Status: wrong.status(), Err: wrong.error}
	case absurd:
		return &Outcome{Status: Invalid, Err: err}
	case broken:
		return m.retryConnection(lost)
	}
	out := m.retryDial(err)
	if out != nil {
		out.Result = result
	}
	return out
}

// call asks the machine. A wish to cancel ends the call before the machine has all of it,
// and what it does after that.
func (m *member) call(ctx context.Context) (*machine.Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var mu sync.Mutex
	sent, cancelled, over, continues := false, false, false, m.continues
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}()
	cancel := func() {
		// If it fails, the connection is broken: who listens on it sees that.
		_ = m.Machine.Cancel(context.WithoutCancel(ctx), machine.RunRef{})
	}
	c := &Call{Member: m.Member, Run: m.position, m: m, Observer: m.observer()}
	c.Observer.Sent = func() {
		if !continues {
			m.state(m.Name, Running)
		}
		mu.Lock()
		sent = true
		late := cancelled
		mu.Unlock()
		if late {
			cancel()
		}
	}
	defer context.AfterFunc(m.fresh, func() {
		cause := context.Cause(m.fresh)
		if cause != errCancelled {
			return // the caller lets go of it: the end of ctx tells
		}
		mu.Lock()
		cancelled = true
		asked, ended := sent, over
		mu.Unlock()
		switch {
		case ended:
		case asked:
			cancel()
		case !continues:
			end(cause)
		}
	})()
	if m.continues {
		return m.task.Continue(ctx, c)
	}
	return m.task.Ask(ctx, c)
}

// observer notes what the machine says, and hands it on.
func (m *member) observer() machine.Observer {
	return machine.Observer{
		Started: func(s machine.Started) {
			m.progress = surely
			if m.run == "" && m.task.Name == "resume" { // those before were told in their time
				m.position.After = max(m.position.After, s.After)
			}
			m.setRun(s.Run)
		},
		Event: func(ev states.Event) {
			if ev.Seq > 0 && ev.Seq <= m.position.After { // it was told
				return
			}
			m.position.After = max(m.position.After, ev.Seq)
			m.absurd = 0
			m.reset()
			if ev.Type == states.EventRun {
				m.setRun(ev.Run)
			}
			m.event(m.Name, ev)
		},
		Note:   func(n machine.Note) { m.hand(m.Name, n) },
		Output: func(stream string, data []byte) { m.output(m.Name, stream, data) },
	}
}

// setRun says what the run is called that was asked for. It is asked for by that name from
// now on: "the latest" may be another one by and by.
func (m *member) setRun(run string) {
	if m.run != "" || run == "" {
		return
	}
	m.position.ID, m.position.Host = run, ""
	if m.task.begins || m.task.Name == "resume" {
		m.run = run
		m.options.Execution.note(m.Name, func(h *RecordHost) { h.Run = run })
	}
}

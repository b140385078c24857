package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// exchange is a request and its answer.
type exchange struct {
	request  *wire.Request
	job      *machine.Job // that goes with it; nil: none
	observer machine.Observer

	acts     bool // it ends with a result
	numbered bool // its events follow each other without a gap

	last     int64  // event
	run      string // that has begun
	asked    bool   // all is sent
	answered bool   // something has come of it
	pieces   []byte // of a value that has not come whole
	data     json.RawMessage
}

// decode reads the value that was asked for.
func (x *exchange) decode(v any) error {
	if x.data == nil {
		return errors.New("it gave none")
	}
	return json.Unmarshal(x.data, v)
}

// ask connects, asks, and listens until the end.
func (m *Machine) ask(ctx context.Context, x *exchange) (*wire.End, error) {
	l, err := m.connect(ctx, wire.Opening{Site: m.siteFor(x)}, x.numbered)
	if err != nil {
		return nil, err
	}
	return m.exchangeOn(ctx, l, x)
}

// siteFor is whose content a connection asks for.
func (m *Machine) siteFor(x *exchange) string {
	if x.job == nil {
		return ""
	}
	return m.Site
}

// exchangeOn asks on a connection, which is closed then. When ctx ends, so does the connection.
func (m *Machine) exchangeOn(ctx context.Context, l *line, x *exchange) (*wire.End, error) {
	defer l.close()
	defer m.setCancel(nil)
	defer context.AfterFunc(ctx, l.close)()
	end, err := m.talk(l, x)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !isRefusal(err) {
			err = cause
		}
		return nil, m.failure(l, x, err)
	}
	if end.Failure != nil {
		return end, m.refusal(x, end.Failure)
	}
	return end, nil
}

// talk sends all of the request, and listens until the end.
func (m *Machine) talk(l *line, x *exchange) (*wire.End, error) {
	q := x.request
	q.User, q.From, q.Command = m.Caller.User, m.Caller.From, m.Caller.Command
	if l.hello.UID == 0 { // who is root becomes anybody without one
		q.BecomePassword = ""
	}
	x.last = q.After
	stop := l.watch(l.conn.Moved)
	defer func() { stop() }()
	if err := l.conn.Send(wire.KindRequest, q); err != nil {
		return nil, err
	}
	if x.job != nil {
		// It may begin, and the word of it be lost.
		x.asked = q.Op == wire.OpApply
		if err := m.send(l, x.job); err != nil {
			return nil, err
		}
	}
	x.asked = true
	l.markSent()
	if !quick(q.Op) {
		stop()
		stop = l.watch(l.conn.Alive)
	}
	x.observer.TellSent()
	return m.listen(l.conn, x)
}

// quick tells what a machine does at once.
func quick(op wire.Op) bool {
	switch op {
	case wire.OpCancel, wire.OpPing, wire.OpStatus, wire.OpManaged, wire.OpHistory, wire.OpHold, wire.OpRelease, wire.OpRetry, wire.OpMember:
		return true
	}
	return false
}

// listen tells what the machine says, until the end.
func (m *Machine) listen(c *wire.Conn, x *exchange) (*wire.End, error) {
	for {
		f, err := c.Receive()
		if err != nil {
			return nil, err
		}
		if f.Kind == wire.KindEnd {
			var end wire.End
			if err := f.Decode(&end); err != nil {
				return nil, err
			}
			switch {
			case x.acts && end.Failure == nil && end.Result == nil:
				return nil, &wire.ProtocolError{Message: "it ended without a result"}
			case end.Result != nil && !plausible(&end.Result.Counts):
				return nil, &wire.ProtocolError{Message: "what it has counted cannot be"}
			case end.Result != nil && end.Result.Run != "" && !machine.IsRunName(end.Result.Run):
				return nil, &wire.ProtocolError{Message: fmt.Sprintf("%.40q cannot be the run's name", end.Result.Run)}
			}
			return &end, nil
		}
		if err := m.hear(f, x); err != nil {
			return nil, err
		}
	}
}

// hear tells of one frame.
func (m *Machine) hear(f wire.Frame, x *exchange) error {
	if err := m.spend(f, x.request.Op); err != nil {
		return err
	}
	switch f.Kind {
	case wire.KindStarted:
		var s wire.Started
		if err := f.Decode(&s); err != nil {
			return err
		}
		if err := x.start(s); err != nil {
			return err
		}
	case wire.KindEvent:
		var ev states.Event
		if err := f.Decode(&ev); err != nil {
			return err
		}
		if err := x.event(ev); err != nil {
			return err
		}
	case wire.KindNote:
		if text := m.noteOf(f.Data); text != "" {
			x.observer.TellNote(machine.Note{Text: text})
		}
	case wire.KindStdout:
		x.observer.TellOutput("stdout", f.Data)
	case wire.KindStderr:
		x.observer.TellOutput("stderr", f.Data)
	case wire.KindPiece, wire.KindData:
		if err := x.take(f); err != nil {
			return err
		}
	default:
		return &wire.ProtocolError{Message: fmt.Sprintf("a %q frame came while it ran", f.Kind)}
	}
	x.answered = x.answered || f.Kind != wire.KindNote
	return nil
}

// take takes a value, or a piece of one.
func (x *exchange) take(f wire.Frame) error {
	if x.data != nil {
		return &wire.ProtocolError{Message: "it answered twice"}
	}
	x.pieces = append(x.pieces, f.Data...)
	if f.Kind == wire.KindPiece {
		return nil
	}
	if !json.Valid(x.pieces) {
		return &wire.ProtocolError{Message: "data that is no JSON"}
	}
	x.data, x.pieces = x.pieces, nil
	return nil
}

// start takes the name of the run. It is a stranger's word that goes into messages
// and records.
func (x *exchange) start(s wire.Started) error {
	if !machine.IsRunName(s.Run) || x.run != "" && x.run != s.Run {
		return &wire.ProtocolError{Message: fmt.Sprintf("%.40q cannot be the run's name", s.Run)}
	}
	if s.After < 0 {
		return &wire.ProtocolError{Message: fmt.Sprintf("event %d cannot be its last one", s.After)}
	}
	if x.request.Op == wire.OpResume && x.run == "" { // those before were told in their time
		x.last = max(x.last, s.After)
	}
	x.run = s.Run
	x.observer.TellStarted(machine.Started{Run: s.Run, After: s.After})
	return nil
}

// event tells of an event unless it was told before.
func (x *exchange) event(ev states.Event) error {
	switch {
	case ev.Seq < 0:
		return &wire.ProtocolError{Message: fmt.Sprintf("an event has the number %d", ev.Seq)}
	case ev.Counts != nil && !plausible(ev.Counts):
		return &wire.ProtocolError{Message: "what an event has counted cannot be"}
	case ev.Seq > 0 && ev.Seq <= x.last:
		return nil
	case (x.numbered || x.last > 0 && begins(x.request.Op)) && ev.Seq != x.last+1:
		return &GapError{After: x.last, Next: ev.Seq}
	case ev.Type == states.EventRun && ev.Run != "" && !machine.IsRunName(ev.Run):
		return &wire.ProtocolError{Message: fmt.Sprintf("%.40q cannot be the run's name", ev.Run)}
	}
	x.last = max(x.last, ev.Seq)
	x.answered = true
	x.observer.TellEvent(ev)
	return nil
}

// begins tells the requests that begin a run, or go on with one.
func begins(op wire.Op) bool { return op == wire.OpApply || op == wire.OpResume }

// GapError says that events are missing between two.
type GapError struct{ After, Next int64 }

// Error says which.
func (e *GapError) Error() string {
	return fmt.Sprintf("event %d came after event %d: what is between them is lost", e.Next, e.After)
}

func isRefusal(err error) bool {
	_, refused := errors.AsType[*wire.FailedError](err)
	_, wrong := errors.AsType[*machine.JobError](err)
	return refused || wrong
}

// failure is the error of a request that has no end.
func (m *Machine) failure(l *line, x *exchange, err error) error {
	if refused, ok := errors.AsType[*wire.FailedError](err); ok {
		return m.refusal(x, &refused.Failure)
	}
	if _, ok := errors.AsType[*machine.JobError](err); ok {
		return err
	}
	e := &machine.ConnectionError{Err: l.cause(err), Asked: x.asked, Answered: x.answered, Duration: time.Since(l.since)}
	_, gap := errors.AsType[*GapError](err)
	_, wrong := errors.AsType[*wire.ProtocolError](err)
	switch {
	case e.Err == errSilent:
		e.Why = machine.Silent
	case gap || wrong:
		e.Why = machine.Absurd
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe):
		e.Err = errors.New("the connection broke")
	default:
		e.Err = fmt.Errorf("the connection broke: %w", err)
	}
	return e
}

// refusal is the error for what the machine says that has failed.
func (m *Machine) refusal(x *exchange, f *states.Failure) error {
	e := &machine.Error{HintError: *f.Err(), Machine: m.Name}
	if f.Code == machine.CodeStale {
		if err := x.decode(&e.Differences); err != nil {
			e.Message, e.Err = fmt.Sprintf("%s; what differs there cannot be read: %v", e.Message, err), err
		}
		e.Differences = slices.DeleteFunc(e.Differences, func(d machine.Difference) bool { return d.Planned == nil && d.Now == nil })
	}
	return e
}

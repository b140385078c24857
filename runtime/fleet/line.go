package fleet

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// line is one connection, which may be ended from outside.
type line struct {
	conn *wire.Conn
	keep bool // for what was begun on another one
	once sync.Once

	mu        sync.Mutex
	said      bool // all of what is asked
	cancelled bool
	silent    bool // it was closed for that
}

func (l *line) close() { l.once.Do(func() { l.conn.Close() }) }

// asked says that all is sent that is to be: a cancel can follow.
func (l *line) asked() {
	l.mu.Lock()
	l.said = true
	cancelled := l.cancelled
	l.mu.Unlock()
	if cancelled {
		l.conn.Write(wire.KindCancel, nil) // if it fails, the line is broken: who listens sees that
	}
}

// cancel ends what runs there, as soon as it is asked for; or the connection, where
// nothing was begun.
func (l *line) cancel() {
	l.mu.Lock()
	l.cancelled = true
	said := l.said
	l.mu.Unlock()
	switch {
	case said:
		l.conn.Write(wire.KindCancel, nil)
	case !l.keep:
		l.close()
	}
}

// silence is how long a machine may neither take nor say anything: one that hangs must not keep a
// batch, or a script, for ever. Where what is wanted of it takes time, it is enough that it beats.
const silence = 10 * wire.BeatEvery

// watch closes the line once last, which is when something moved on it, is too long ago, until stop
// is called.
func (l *line) watch(last func() time.Time) (stop func()) {
	begun, done := time.Now(), make(chan struct{})
	fault.Go(func() {
		for {
			since := last()
			if since.Before(begun) {
				since = begun
			}
			left := silence - time.Since(since)
			if left <= 0 {
				l.mu.Lock()
				l.silent = true
				l.mu.Unlock()
				l.close()
				return
			}
			select {
			case <-done:
				return
			case <-time.After(left):
			}
		}
	})
	return sync.OnceFunc(func() { close(done) })
}

// why is the error of a line, or that nothing came.
func (l *line) why(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.silent {
		return errSilent
	}
	return err
}

// quick tells what a machine does at once.
func quick(op wire.Op) bool {
	switch op {
	case wire.OpPing, wire.OpFacts, wire.OpStatus, wire.OpManaged, wire.OpHistory, wire.OpHold, wire.OpRelease:
		return true
	}
	return false
}

// listen tells what the machine says, until the end.
func (m *member) listen(c *wire.Conn) (*wire.End, error) {
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
			case acts(m.request.Op) && end.Failure == nil && end.Result == nil:
				return nil, &wire.ProtocolError{Message: "it ended without a result"}
			case end.Result != nil && !plausible(&end.Result.Counts):
				return nil, &wire.ProtocolError{Message: "what it has counted cannot be"}
			}
			return &end, nil
		}
		if err := m.hear(f); err != nil {
			return nil, err
		}
	}
}

// begins tells the requests that begin a run, or go on with one.
func begins(op wire.Op) bool { return op == wire.OpApply || op == wire.OpResume }

// acts tells the requests that end with a result.
func acts(op wire.Op) bool {
	return op == wire.OpPlan || op == wire.OpAttach || begins(op)
}

// hear tells of one frame.
func (m *member) hear(f wire.Frame) error {
	name := m.Name
	if err := m.spend(f, m.request.Op); err != nil {
		return err
	}
	switch f.Kind {
	case wire.KindStarted:
		var s wire.Started
		if err := f.Decode(&s); err != nil {
			return err
		}
		return m.started(s)
	case wire.KindEvent:
		var ev states.Event
		if err := f.Decode(&ev); err != nil {
			return err
		}
		return m.heardEvent(ev)
	case wire.KindNote:
		if text := m.noteOf(f.Data); text != "" {
			m.note(name, text)
		}
	case wire.KindStdout:
		m.output(name, "stdout", f.Data)
	case wire.KindStderr:
		m.output(name, "stderr", f.Data)
	case wire.KindData:
		if !json.Valid(f.Data) {
			return &wire.ProtocolError{Message: "data that is no JSON"}
		}
		switch {
		case m.given && m.resumed: // on an earlier connection
			return nil
		case m.given:
			return &wire.ProtocolError{Message: "it answered twice"}
		}
		m.given = true
		m.tell(func(l Listener) { l.Data(name, f.Data) })
	default:
		return &wire.ProtocolError{Message: fmt.Sprintf("a %q frame came while it ran", f.Kind)}
	}
	m.heard = m.heard || f.Kind != wire.KindNote
	return nil
}

// started takes the name of the run. It is a stranger's word that goes into messages
// and records.
func (m *member) started(s wire.Started) error {
	if !runName(s.Run) || m.run != "" && m.run != s.Run {
		return &wire.ProtocolError{Message: fmt.Sprintf("%.40q cannot be the run's name", s.Run)}
	}
	if s.After < 0 {
		return &wire.ProtocolError{Message: fmt.Sprintf("event %d cannot be its last one", s.After)}
	}
	if m.request.Op == wire.OpResume && m.run == "" { // those before were told in their time
		m.seq = max(m.seq, s.After)
	}
	m.begun = surely
	m.named(s.Run)
	return nil
}

// named says what the run is called that was asked for. It is asked for by that name from
// now on: "the latest" may be another one by and by.
func (m *member) named(run string) {
	if m.run != "" || !runName(run) {
		return
	}
	m.ask, m.host = run, ""
	if begins(m.request.Op) {
		m.run = run
		m.options.Execution.note(m.Name, func(h *RecordHost) { h.Run = run })
	}
}

// heardEvent tells of an event unless it was told before.
func (m *member) heardEvent(ev states.Event) error {
	op := m.request.Op
	numbered := op == wire.OpAttach || begins(op) && (m.resumed || m.seq > 0)
	switch {
	case ev.Seq < 0:
		return &wire.ProtocolError{Message: fmt.Sprintf("an event has the number %d", ev.Seq)}
	case ev.Counts != nil && !plausible(ev.Counts):
		return &wire.ProtocolError{Message: "what an event has counted cannot be"}
	case ev.Seq > 0 && ev.Seq <= m.seq:
		return nil
	case numbered && ev.Seq != m.seq+1:
		return &GapError{After: m.seq, Next: ev.Seq}
	}
	m.seq = max(m.seq, ev.Seq)
	m.heard, m.wrong = true, 0
	m.restored()
	if ev.Type == states.EventRun {
		m.named(ev.Run)
	}
	m.event(m.Name, ev)
	return nil
}

// runName tells whether something can be the name of a run.
func runName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 100
}

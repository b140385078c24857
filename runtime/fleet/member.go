package fleet

import (
	"context"
	"time"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// begun says how far a machine has come.
type begun int

const (
	nothing begun = iota // was begun
	perhaps              // it was asked, and has not answered
	surely               // it said so
)

// member is one machine on its way.
type member struct {
	*drive
	*Machine

	begun   begun
	request *wire.Request // what is asked; nil: not known yet
	ask     string        // by what its run is asked for: the execution, later the run
	host    string        // of the execution's run; empty: it is asked for by its own name
	run     string        // that was begun
	seq     int64         // of the last event that was told
	heard   bool          // anything of what was asked for
	given   bool          // in particular data
	resumed bool          // this connection is not the first that asks
	budget
	outage
}

// follow drives the machine until it is over, connection by connection.
func (m *member) follow(ctx context.Context) Outcome {
	for {
		if m.begun == nothing {
			m.state(m.Name, Connecting)
		} else {
			m.state(m.Name, Reconnecting)
		}
		if out := m.connection(ctx); out != nil {
			return *out
		}
		sleep(m.life(ctx), m.backoff())
	}
}

// life is the context of what happens now: what was begun is looked after until the
// caller lets go of it, all else only while it is not cancelled.
func (m *member) life(ctx context.Context) context.Context {
	if m.begun == nothing {
		return m.fresh
	}
	return ctx
}

// connection connects, and asks for what is to be done, or for the rest of it. It gives
// nil if that is to be tried again.
func (m *member) connection(ctx context.Context) *Outcome {
	conn, hello, err := m.dial(m.life(ctx))
	if err != nil {
		return m.unconnected(ctx, err)
	}
	l := &line{conn: conn, keep: m.begun != nothing}
	defer l.close()
	defer context.AfterFunc(ctx, l.close)()
	defer context.AfterFunc(m.fresh, func() {
		if context.Cause(m.fresh) == errCancelled {
			l.cancel()
		}
	})()
	connected := time.Now()
	end, err := m.talk(l, hello)
	err = l.why(err)
	// One that flaps does not hold for so long. That a machine is to start anew is all that
	// one can say which has, and on which nothing goes on.
	if time.Since(connected) > longest && !restarts(end) {
		m.restored()
	}
	if err != nil {
		return m.broken(ctx, err)
	}
	return m.ended(end)
}

// dial starts a runner there.
func (m *member) dial(ctx context.Context) (*wire.Conn, *wire.Hello, error) {
	if gate := m.gates[m.Via]; gate != nil {
		if err := enter(ctx, gate); err != nil {
			return nil, nil, err
		}
		defer func() { <-gate }()
	}
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	o := m.task.Opening
	if m.begun != nothing { // then it is known
		o.Facts, o.Site = nil, ""
	}
	return m.Machine.Dial(ctx, o)
}

// talk asks for what is to be done, and listens until the end. It gives nil if nothing
// is asked.
func (m *member) talk(l *line, hello *wire.Hello) (*wire.End, error) {
	if m.resumed = m.begun != nothing; m.resumed {
		defer l.watch(l.conn.Alive)()
		if err := l.conn.Send(wire.KindRequest, m.rest()); err != nil {
			return nil, err
		}
		l.asked()
		return m.listen(l.conn)
	}
	b, err := m.prepare(hello)
	if err != nil || m.request == nil {
		return nil, err
	}
	m.state(m.Name, Sending)
	stop := l.watch(l.conn.Moved)
	defer func() { stop() }()
	if err := l.conn.Send(wire.KindRequest, m.request); err != nil {
		return nil, err
	}
	if b != nil {
		if err := m.send(l.conn, hello, b); err != nil {
			return nil, err
		}
	}
	if !harmless(m.request.Op) {
		m.begun = perhaps
	}
	l.asked()
	if !quick(m.request.Op) {
		stop()
		stop = l.watch(l.conn.Alive)
	}
	m.state(m.Name, Running)
	return m.listen(l.conn)
}

// prepare has the site evaluated, for not more machines at a time than there are
// processors.
func (m *member) prepare(hello *wire.Hello) (*bundle.Bundle, error) {
	if err := enter(m.fresh, m.evaluate); err != nil {
		return nil, err
	}
	defer func() { <-m.evaluate }()
	m.state(m.Name, Evaluating)
	request, b, err := m.task.Prepare(m.fresh, m.Machine, hello)
	if err != nil {
		return nil, &wrongError{err}
	}
	m.request = request
	if request != nil {
		m.allow(request.Op, b)
		m.ask, m.seq = request.ID, request.After
	}
	return b, nil
}

// send sends the bundle, which is nobody's any more then.
func (m *member) send(c *wire.Conn, hello *wire.Hello, b *bundle.Bundle) error {
	if m.request.Op == wire.OpApply {
		// It may begin, and the word of it be lost.
		m.begun, m.ask, m.host = perhaps, b.Execution, b.Run.Host
	}
	var registry *states.Registry
	if m.task.Registry != nil {
		registry = m.task.Registry(m.Machine)
	}
	return b.Send(c, hello.Have, registry)
}

// harmless tells what may be asked again.
func harmless(op wire.Op) bool {
	switch op {
	case wire.OpPlan, wire.OpPing, wire.OpFacts, wire.OpStatus, wire.OpManaged, wire.OpHistory:
		return true
	}
	return false
}

// resumable tells what goes on where it was when a connection breaks.
func resumable(op wire.Op) bool {
	switch op {
	case wire.OpApply, wire.OpResume, wire.OpAttach, wire.OpLogs:
		return true
	}
	return false
}

// rest is the request for what has not been told yet.
func (m *member) rest() *wire.Request {
	r := *m.request
	if r.Op == wire.OpResume && m.begun == perhaps {
		return &r // whoever went on with it in this execution tells of that
	}
	if begins(r.Op) {
		r.Op, r.BecomePassword = wire.OpAttach, ""
	}
	r.ID, r.Host, r.After = m.ask, m.host, m.seq
	return &r
}

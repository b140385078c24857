package become

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// link is the connection to a process that serves, for those who call.
type link struct {
	conn *wire.Conn
	name string // of the account, for messages

	mu           sync.Mutex
	last         uint64
	calls        map[uint64]*pendingCall
	patience     patience
	err          error         // why there is no connection any more
	disconnected chan struct{} // closed then
	syncOnce     sync.Once     // what was written until then
	durable      chan struct{} // closed once that is so
}

// pendingCall is a call that waits for its reply.
type pendingCall struct {
	ctx          context.Context
	call         *call
	mayTakeLong  bool // it may take long, through no fault of the process
	overdueTicks int  // ticks for which nobody wants to wait for it any more
	frames       chan shortFrame
	abandoned    chan struct{} // nobody waits any more
}

func newLink(c *wire.Conn, name string) *link {
	l := &link{conn: c, name: name, calls: map[uint64]*pendingCall{}, disconnected: make(chan struct{})}
	fault.Go(l.receive)
	return l
}

// receive gives frames to those who wait for them.
func (l *link) receive() {
	for {
		f, err := l.conn.Receive()
		if err == nil {
			var id uint64
			var s shortFrame
			if id, s, err = parseFrame(f); err == nil {
				l.deliver(id, s)
				continue
			}
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		l.disconnect(fmt.Errorf("the process that acts as %s has ended: %w", l.name, err))
		return
	}
}

// disconnect says why there is no connection from now on. The first who does is believed.
func (l *link) disconnect(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.disconnected)
	}
}

func (l *link) deliver(id uint64, s shortFrame) {
	l.mu.Lock()
	w := l.calls[id]
	l.patience.isDelivering = true
	l.mu.Unlock()
	if w != nil {
		select {
		case w.frames <- s:
		case <-w.abandoned:
		case <-l.disconnected:
		}
	}
	l.mu.Lock()
	l.patience.isDelivering, l.patience.hasAnswer = false, true
	l.mu.Unlock()
}

// flush makes durable by sync what was written until the end: nothing is any more. That
// a file system hangs does not hold it up for ever.
func (l *link) flush(sync func()) error {
	l.syncOnce.Do(func() {
		l.durable = make(chan struct{})
		fault.Go(func() {
			sync()
			close(l.durable)
		})
	})
	select {
	case <-l.durable:
		return nil
	case <-time.After(settleTicks * tickTime):
		return becomeError(
			fmt.Sprintf("what was written as %s is not on the disk after %s", l.name, settleTicks*tickTime),
			"a file system hangs: the state D in ps -eo pid,stat,args tells who waits for one")
	}
}

// connectionError says why there is no connection.
func (l *link) connectionError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// preferConnectionError prefers why there is no connection to what a call on it came to.
func (l *link) preferConnectionError(err error) error {
	if lost := l.connectionError(); lost != nil {
		return lost
	}
	return err
}

// callOptions is what a call needs besides.
type callOptions struct {
	payload []byte
	content *host.Content // that is written, if it does not go with the call
	watch   func(stream string, data []byte)
}

// call makes a call, and gives its reply and what follows it. The error is the call's.
func (l *link) call(ctx context.Context, c *call, t callOptions) (*reply, []byte, error) {
	if err := context.Cause(ctx); err != nil {
		if c.Path != "" {
			return &reply{}, nil, &fs.PathError{Op: c.Op, Path: string(c.Path), Err: err}
		}
		return &reply{}, nil, fmt.Errorf("%s: %w", c.Op, err)
	}
	if err := l.connectionError(); err != nil {
		return &reply{}, nil, err
	}
	w := &pendingCall{ctx: ctx, call: c, mayTakeLong: t.content != nil || c.Op == "sync", frames: make(chan shortFrame, 16), abandoned: make(chan struct{})}
	l.mu.Lock()
	l.last++
	id := l.last
	l.calls[id] = w
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.calls, id)
		l.mu.Unlock()
		close(w.abandoned)
	}()
	if err := sendMessage(l.conn, kindCall, id, c, t.payload); err != nil {
		return &reply{}, nil, l.preferConnectionError(err)
	}
	answer, data, err := l.await(ctx, id, w, t)
	if err == nil {
		err = answer.Failure.error()
	}
	if err != nil && ctx.Err() != nil {
		err = &cancelledError{err, context.Cause(ctx)}
	}
	if answer == nil {
		answer = &reply{}
	}
	return answer, data, err
}

// await waits for the reply, and gives what is asked for meanwhile.
func (l *link) await(ctx context.Context, id uint64, w *pendingCall, t callOptions) (*reply, []byte, error) {
	var m message
	source := &contentSource{link: l, id: id, content: t.content}
	defer source.close()
	done := ctx.Done()
	for {
		select {
		case f := <-w.frames:
			switch f.kind {
			case kindOutput:
				if t.watch != nil {
					t.watch(map[byte]string{1: "stdout", 2: "stderr"}[f.what], f.data)
				}
			case kindContentRequest:
				if err := source.give(f.what == 1); err != nil {
					return nil, nil, l.preferConnectionError(err)
				}
			case kindReply:
				whole, err := m.add(f)
				if err != nil {
					return nil, nil, err
				}
				if !whole {
					continue
				}
				answer := &reply{}
				data, err := m.read(answer)
				if err == nil && source.err != nil && answer.Failure != nil {
					err = source.err // which knows better
				}
				return answer, data, err
			}
		case <-done:
			done = nil // how long it may take now is looked after by watch
			if err := sendShort(l.conn, kindCancel, id, 0, nil); err != nil {
				return nil, nil, l.preferConnectionError(err)
			}
		case <-l.disconnected:
			return nil, nil, l.connectionError()
		}
	}
}

// contentSource is the content that a call writes.
type contentSource struct {
	*link
	id      uint64
	content *host.Content
	in      io.ReadCloser
	err     error
}

// give sends the next piece.
func (g *contentSource) give(again bool) error {
	data := make([]byte, pieceSize)
	n, err := 0, error(nil)
	switch {
	case g.content == nil:
		err = errors.New("there is no content")
	case again:
		g.close()
		g.in, err = g.content.Open()
	case g.in == nil:
		err = errors.New("the content has ended")
	}
	if err == nil {
		if n, err = io.ReadFull(g.in, data); err == io.ErrUnexpectedEOF {
			err = nil
		}
	}
	switch err {
	case nil:
		return sendShort(g.conn, kindContent, g.id, contentData, data[:n])
	case io.EOF:
		return sendShort(g.conn, kindContent, g.id, contentEnd, nil)
	}
	g.err = err
	return sendShort(g.conn, kindContent, g.id, contentError, []byte(err.Error()))
}

func (g *contentSource) close() {
	if g.in != nil {
		g.in.Close()
		g.in = nil
	}
}

// cancelledError is what became of a call whose context has ended.
type cancelledError struct{ err, cause error }

// Error is what the other side says.
func (e *cancelledError) Error() string { return e.err.Error() }

// Unwrap gives that, and why it was cancelled.
func (e *cancelledError) Unwrap() []error { return []error{e.err, e.cause} }

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

	mu       sync.Mutex
	last     uint64
	calls    map[uint64]*waiting
	patience patience
	err      error         // why there is no connection any more
	ended    chan struct{} // closed then
	synced   sync.Once     // what was written until then
	durable  chan struct{} // closed once that is so
}

// waiting is a call that waits for its reply.
type waiting struct {
	ctx    context.Context
	call   *call
	long   bool // it may take long, through no fault of the process
	late   int  // ticks for which nobody wants to wait for it any more
	frames chan short
	gone   chan struct{} // nobody waits any more
}

func newLink(c *wire.Conn, name string) *link {
	l := &link{conn: c, name: name, calls: map[uint64]*waiting{}, ended: make(chan struct{})}
	fault.Go(l.receive)
	return l
}

// receive gives frames to those who wait for them.
func (l *link) receive() {
	for {
		f, err := l.conn.Receive()
		if err == nil {
			var id uint64
			var s short
			if id, s, err = open(f); err == nil {
				l.deliver(id, s)
				continue
			}
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		l.end(fmt.Errorf("the process that acts as %s has ended: %w", l.name, err))
		return
	}
}

// end says why there is no connection from now on. The first who does is believed.
func (l *link) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.ended)
	}
}

func (l *link) deliver(id uint64, s short) {
	l.mu.Lock()
	w := l.calls[id]
	l.patience.delivering = true
	l.mu.Unlock()
	if w != nil {
		select {
		case w.frames <- s:
		case <-w.gone:
		case <-l.ended:
		}
	}
	l.mu.Lock()
	l.patience.delivering, l.patience.heard = false, true
	l.mu.Unlock()
}

// flushed makes durable by sync what was written until the end: nothing is any more. That
// a file system hangs does not hold it up for ever.
func (l *link) flushed(sync func()) error {
	l.synced.Do(func() {
		l.durable = make(chan struct{})
		fault.Go(func() {
			sync()
			close(l.durable)
		})
	})
	select {
	case <-l.durable:
		return nil
	case <-time.After(settle * tick):
		return &Error{
			Message: fmt.Sprintf("become: what was written as %s is not on the disk after %s", l.name, settle*tick),
			Advice:  "a file system hangs: the state D in ps -eo pid,stat,args tells who waits for one",
		}
	}
}

// lost says why there is no connection.
func (l *link) lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// broken prefers why there is no connection to what a call on it came to.
func (l *link) broken(err error) error {
	if lost := l.lost(); lost != nil {
		return lost
	}
	return err
}

// talk is what a call needs besides.
type talk struct {
	payload []byte
	content *host.Content // that is written, if it does not go with the call
	watch   func(stream string, data []byte)
}

// call makes a call, and gives its reply and what follows it. The error is the call's.
func (l *link) call(ctx context.Context, c *call, t talk) (*reply, []byte, error) {
	if err := context.Cause(ctx); err != nil {
		if c.Path != "" {
			return &reply{}, nil, &fs.PathError{Op: c.Op, Path: string(c.Path), Err: err}
		}
		return &reply{}, nil, fmt.Errorf("%s: %w", c.Op, err)
	}
	if err := l.lost(); err != nil {
		return &reply{}, nil, err
	}
	w := &waiting{ctx: ctx, call: c, long: t.content != nil || c.Op == "sync", frames: make(chan short, 16), gone: make(chan struct{})}
	l.mu.Lock()
	l.last++
	id := l.last
	l.calls[id] = w
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.calls, id)
		l.mu.Unlock()
		close(w.gone)
	}()
	if err := sendMessage(l.conn, kindCall, id, c, t.payload); err != nil {
		return &reply{}, nil, l.broken(err)
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
func (l *link) await(ctx context.Context, id uint64, w *waiting, t talk) (*reply, []byte, error) {
	var m message
	given := &given{link: l, id: id, content: t.content}
	defer given.close()
	done := ctx.Done()
	for {
		select {
		case f := <-w.frames:
			switch f.kind {
			case kindOutput:
				if t.watch != nil {
					t.watch(map[byte]string{1: "stdout", 2: "stderr"}[f.what], f.data)
				}
			case kindGive:
				if err := given.give(f.what == 1); err != nil {
					return nil, nil, l.broken(err)
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
				if err == nil && given.err != nil && answer.Failure != nil {
					err = given.err // which knows better
				}
				return answer, data, err
			}
		case <-done:
			done = nil // how long it may take now is looked after by watch
			if err := sendShort(l.conn, kindCancel, id, 0, nil); err != nil {
				return nil, nil, l.broken(err)
			}
		case <-l.ended:
			return nil, nil, l.lost()
		}
	}
}

// given is the content that a call writes.
type given struct {
	*link
	id      uint64
	content *host.Content
	in      io.ReadCloser
	err     error
}

// give sends the next piece.
func (g *given) give(again bool) error {
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
		return sendShort(g.conn, kindGiven, g.id, givenData, data[:n])
	case io.EOF:
		return sendShort(g.conn, kindGiven, g.id, givenEnd, nil)
	}
	g.err = err
	return sendShort(g.conn, kindGiven, g.id, givenError, []byte(err.Error()))
}

func (g *given) close() {
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

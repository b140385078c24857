package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/wire"
)

// maxQueue is how many bytes wait for a connection.
const maxQueue = 16 << 20

// patience is how long the last frames may take to be taken.
const patience = time.Minute

// hurry is the same for a process that is to end.
const hurry = 2 * time.Second

// errSlow says that the connection was given up.
var errSlow = errors.New("the connection takes no more: too much waits for it")

// queue is what waits to be sent. One that runs free, since a run goes on without its
// connection, keeps nobody waiting: it gives the connection up where too much waits. The
// controller asks for what it has missed, over another one. Else who sends waits.
type queue struct {
	conn *wire.Conn

	mu      sync.Mutex
	changed sync.Cond // of mu
	frames  []wire.Frame
	size    int
	free    bool
	closed  bool
	err     error // nothing is sent after it
	done    chan struct{}
}

func newQueue(c *wire.Conn) *queue {
	q := &queue{conn: c, done: make(chan struct{})}
	q.changed.L = &q.mu
	fault.Go(q.run)
	return q
}

// run sends, until the queue is closed and empty, or the connection is broken.
func (q *queue) run() {
	defer close(q.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.frames) == 0 && !q.closed && q.err == nil {
			q.changed.Wait()
		}
		if q.err != nil || len(q.frames) == 0 {
			return
		}
		f := q.frames[0]
		q.frames = q.frames[1:]
		q.mu.Unlock()
		err := q.conn.Write(f.Kind, f.Data)
		q.mu.Lock()
		q.size -= len(f.Data)
		q.fail(err)
		q.changed.Broadcast()
	}
}

// fail takes note of an error. The lock is held.
func (q *queue) fail(err error) {
	if err != nil && q.err == nil {
		q.err, q.frames, q.size = err, nil, 0
		q.changed.Broadcast()
	}
}

// stop ends sending: nobody listens.
func (q *queue) stop(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail(err)
}

// letGo makes the queue one that runs free.
func (q *queue) letGo() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = true
	q.changed.Broadcast()
}

// write adds a frame, which belongs to the queue from now on.
func (q *queue) write(kind wire.Kind, data []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && !q.free && q.size > maxQueue {
		q.changed.Wait()
	}
	if q.size > maxQueue {
		q.fail(errSlow)
	}
	if q.err != nil {
		return
	}
	q.frames, q.size = append(q.frames, wire.Frame{Kind: kind, Data: data}), q.size+len(data)
	q.changed.Broadcast()
}

// value adds a JSON value, in as many frames as it takes. The error is for a value that is none.
func (q *queue) value(v any) error {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	for ; len(data) > wire.MaxFrame; data = data[wire.MaxFrame:] {
		q.write(wire.KindPiece, data[:wire.MaxFrame])
	}
	q.write(wire.KindData, data)
	return nil
}

// json adds a frame of JSON. The error is for a value that is none, or is too large.
func (q *queue) json(kind wire.Kind, v any) error {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	if len(data) > wire.MaxFrame {
		return fmt.Errorf("this is too much to be sent: %d MiB", len(data)>>20)
	}
	q.write(kind, data)
	return nil
}

// close waits until all is sent, but not for a connection that takes nothing, and not for
// long once ctx has ended.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.changed.Broadcast()
	q.mu.Unlock()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	defer context.AfterFunc(ctx, func() { limit.Reset(hurry) })()
	select {
	case <-q.done:
	case <-limit.C:
		q.stop(errSlow)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

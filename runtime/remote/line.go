package remote

import (
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/wire"
)

// line is one connection, which may be ended by others than who talks on it.
type line struct {
	conn  *wire.Conn
	hello *wire.Hello
	since time.Time
	keep  bool // it is for a run that goes on without it
	once  sync.Once
	end   func() // lets go of the context that it was made with

	mu        sync.Mutex
	isSent    bool // all of what is asked is sent
	cancelled bool
	silent    bool // it was closed for that
}

func (l *line) close() {
	l.once.Do(func() {
		l.conn.Close()
		l.end()
	})
}

// markSent says that all is sent that is to be: a cancel can follow.
func (l *line) markSent() {
	l.mu.Lock()
	l.isSent = true
	cancelled := l.cancelled
	l.mu.Unlock()
	if cancelled {
		l.conn.Write(wire.KindCancel, nil) // if it fails, the line is broken: who listens sees that
	}
}

// cancel ends what runs there, as soon as it is asked for; or the connection, where nothing
// was begun.
func (l *line) cancel() {
	l.mu.Lock()
	l.cancelled = true
	whole := l.isSent
	l.mu.Unlock()
	switch {
	case whole:
		l.conn.Write(wire.KindCancel, nil)
	case !l.keep:
		l.close()
	}
}

// silence is how long a machine may neither take nor say anything: one that hangs must not keep a
// batch, or a script, for ever. Where what is wanted of it takes time, it is enough that it beats.
const silence = 10 * wire.BeatEvery

// errSilent is why a connection was ended from here.
var errSilent = fmt.Errorf("nothing has come from it for %s", silence)

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

// cause is the error of a line, or that nothing came.
func (l *line) cause(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.silent {
		return errSilent
	}
	return err
}

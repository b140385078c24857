package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/wire"
)

const (
	// attempts is how often a machine is tried before anything was begun there.
	attempts = 6
	// nonsense is how often one may say what makes no sense, with nothing in between
	// that does.
	nonsense = 2

	shortest = 500 * time.Millisecond // between two attempts
	longest  = 15 * time.Second
)

// NoWordError says that it is not known what came of a request that is not made twice.
type NoWordError struct{ Op wire.Op }

// Error says so.
func (e *NoWordError) Error() string {
	return "the connection broke, and it is not known whether it was done"
}

// errSilent is why a connection was ended from here.
var errSilent = fmt.Errorf("nothing has come from it for %s", silence)

// GapError says that events are missing between two.
type GapError struct{ After, Next int64 }

// Error says which.
func (e *GapError) Error() string {
	return fmt.Sprintf("event %d came after event %d: what is between them is lost", e.Next, e.After)
}

// LostError says that a machine could not be reached again. What was begun there goes on.
type LostError struct {
	For time.Duration // it was tried
	Err error         // of the last time
}

// Error says so.
func (e *LostError) Error() string {
	return fmt.Sprintf("the connection broke, and %s of trying did not bring it back: %v", e.For.Round(time.Second), e.Err)
}

// Unwrap gives why the last attempt failed.
func (e *LostError) Unwrap() error { return e.Err }

// wrongError is what Prepare says.
type wrongError struct{ error }

// outage is what is known of connections that failed.
type outage struct {
	tries int       // before anything was begun
	wrong int       // see nonsense
	since time.Time // when there was one last; zero: there is one
	times int       // that it was tried since then
	told  string    // why there is none, as it was told last
}

// restored says that there is a connection, and that it is of use.
func (o *outage) restored() { o.since, o.times, o.told = time.Time{}, 0, "" }

// backoff is how long to wait before the next attempt: longer each time, and not for all
// machines the same.
func (o *outage) backoff() time.Duration {
	long := shortest << min(o.times, 5)
	o.times++
	return min(longest, long*3/4+rand.N(long/2))
}

// unconnected is what comes of an attempt to connect that failed; nil: another one.
func (m *member) unconnected(ctx context.Context, err error) *Outcome {
	if out := m.let(ctx); out != nil {
		return out
	}
	if m.begun != nothing {
		return m.lost(err)
	}
	var dial DialError
	known := errors.As(err, &dial)
	switch m.tries++; {
	case known && dial.Temporary() && m.tries < attempts:
		return nil
	case known && dial.Answered():
		return &Outcome{Status: Failed, Err: err}
	}
	return &Outcome{Status: Unreachable, Err: err}
}

// broken is what comes of a connection that ended early; nil: another one.
func (m *member) broken(ctx context.Context, err error) *Outcome {
	if refused := (*wire.FailedError)(nil); errors.As(err, &refused) {
		return m.ended(&wire.End{Failure: &refused.Failure})
	}
	if out := m.let(ctx); out != nil {
		return out
	}
	if wrong := (*wrongError)(nil); errors.As(err, &wrong) {
		return &Outcome{Status: Wrong, Err: wrong.error}
	}
	if wrong := (*bundle.LocalError)(nil); errors.As(err, &wrong) { // then nothing is begun
		return &Outcome{Status: Wrong, Err: wrong}
	}
	if errors.Is(err, errSilent) { // again it would be the same
		if m.begun == nothing {
			return &Outcome{Status: Failed, Err: err}
		}
		return &Outcome{Status: Left, Err: err}
	}
	if makesNoSense(err) {
		if m.wrong++; m.begun == nothing {
			return &Outcome{Status: Failed, Err: err}
		} else if m.wrong >= nonsense {
			return &Outcome{Status: Left, Err: err}
		}
	} else {
		err = broke(err)
	}
	switch {
	case m.begun != nothing && resumable(m.request.Op):
		return m.lost(err)
	case m.begun != nothing:
		return &Outcome{Status: Left, Err: &NoWordError{m.request.Op}}
	}
	if m.tries++; m.tries < attempts && !m.heard {
		return nil
	}
	return &Outcome{Status: Unreachable, Err: err}
}

// let is the outcome where the caller has let go of the machine, or has cancelled before
// anything was begun there.
func (m *member) let(ctx context.Context) *Outcome {
	switch cause := context.Cause(ctx); {
	case m.begun == nothing && m.fresh.Err() != nil:
		return &Outcome{Status: Interrupted, Err: errCancelled}
	case cause != nil && m.InProcess:
		return &Outcome{Status: Interrupted, Err: cause}
	case cause != nil:
		return &Outcome{Status: Left, Err: cause}
	}
	return nil
}

// lost counts the time without a connection; nil: it is not over.
func (m *member) lost(err error) *Outcome {
	if m.options.Patience == NotAgain {
		return &Outcome{Status: Left, Err: err}
	}
	switch why := err.Error(); {
	case m.since.IsZero():
		m.since, m.told = time.Now(), why
		m.note(m.Name, why+"; connecting again")
	case m.told != why:
		m.told = why
		m.note(m.Name, "no connection yet: "+why)
	}
	if long := time.Since(m.since); long >= m.options.Patience {
		return &Outcome{Status: Left, Err: &LostError{long, err}}
	}
	return nil
}

// makesNoSense tells what a machine should not say from a line that was cut.
func makesNoSense(err error) bool {
	var gap *GapError
	var wrong *wire.ProtocolError
	return errors.As(err, &gap) || errors.As(err, &wrong)
}

// broke puts the end of a connection into words.
func broke(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		return errors.New("the connection broke")
	}
	return fmt.Errorf("the connection broke: %w", err)
}

// ended is what comes of an end; nil: it is not the end of all.
func (m *member) ended(end *wire.End) *Outcome {
	switch {
	case end == nil: // nothing was asked
		return &Outcome{Status: Done}
	case m.begun == perhaps && m.ask != "" && m.resumed && end.Failure != nil && end.Failure.Code == wire.CodeNotFound:
		return m.afresh()
	case m.request.Op == wire.OpApply && m.begun == perhaps && end.Result == nil && end.Failure != nil && end.Failure.Code == wire.CodeInterrupted:
		return m.afresh() // it was cut off before it had all that it needs to begin
	case restarts(end) && resumable(m.request.Op):
		return m.lost(errors.New("the machine starts anew"))
	}
	if end.Result != nil { // a connection that was broken early may not have told
		m.named(end.Result.Run)
	}
	return &Outcome{Status: status(end), End: end}
}

// restarts tells an end that is one until the machine has started anew.
func restarts(end *wire.End) bool { return end != nil && end.Result != nil && end.Result.Rebooting }

// afresh begins anew with a machine that was asked, and knows nothing of it.
func (m *member) afresh() *Outcome {
	m.begun = nothing
	m.restored()
	switch m.tries++; {
	case m.fresh.Err() != nil:
		return &Outcome{Status: Interrupted, Err: errCancelled}
	case m.tries >= attempts:
		return &Outcome{Status: Unreachable, Err: errors.New("the connection broke again and again before anything was begun")}
	}
	return nil
}

// status reads it from an end.
func status(end *wire.End) Status {
	switch {
	case end.Failure != nil && end.Failure.Code == wire.CodeInterrupted, end.Result != nil && end.Result.Interrupted:
		return Interrupted
	case end.Failure != nil, end.Result != nil && end.Result.Failed, end.ExitCode != 0:
		return Failed
	}
	return Done
}

package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
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
type NoWordError struct{ Task string }

// Error says so.
func (e *NoWordError) Error() string {
	return "the connection broke, and it is not known whether it was done"
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

// status is how it ends with the machine: the site is wrong for it, unless the error says that it is refused.
func (e *wrongError) status() Status {
	if r, ok := errors.AsType[refusal](e.error); ok && r.IsRefusal() {
		return Failed
	}
	return Invalid
}

// refusal is an error of Prepare that may say that the machine is refused, such as one that is another than the
// one that is meant, whatever the site says.
type refusal interface {
	error
	IsRefusal() bool
}

// outage is what is known of connections that failed.
type outage struct {
	tries  int       // before anything was begun
	absurd int       // see nonsense
	since  time.Time // when there was one last; zero: there is one
	times  int       // that it was tried since then
	reason string    // why there is none, as it was told last
}

// reset says that there is a connection, and that it is of use.
func (o *outage) reset() { o.since, o.times, o.reason = time.Time{}, 0, "" }

// backoff is how long to wait before the next attempt: longer each time, and not for all
// machines the same.
func (o *outage) backoff() time.Duration {
	long := shortest << min(o.times, 5)
	o.times++
	return min(longest, long*3/4+rand.N(long/2))
}

// retryDial is what comes of an attempt to connect that failed; nil: another one.
func (m *member) retryDial(err error) *Outcome {
	if m.progress != notBegun {
		return m.countOutage(err)
	}
	var dial DialError
	known := errors.As(err, &dial)
	switch m.tries++; {
	case known && dial.Temporary() && m.tries < attempts:
		return nil
	case known && dial.Answered():
		return &Outcome{Status: Failed, Err: err}
	case m.InProcess:
		return &Outcome{Status: Failed, Err: err}
	}
	return &Outcome{Status: Unreachable, Err: err}
}

// retryConnection is what comes of a connection that ended early; nil: another one.
func (m *member) retryConnection(err *machine.ConnectionError) *Outcome {
	switch err.Why {
	case machine.Silent: // again it would be the same
		if m.progress == notBegun {
			return &Outcome{Status: Failed, Err: err.Err}
		}
		return &Outcome{Status: Detached, Err: err.Err}
	case machine.Absurd:
		if m.absurd++; m.progress == notBegun {
			return &Outcome{Status: Failed, Err: err.Err}
		} else if m.absurd >= nonsense {
			return &Outcome{Status: Detached, Err: err.Err}
		}
	}
	switch {
	case m.progress != notBegun && m.task.Continue != nil && !(m.task.begins && m.position.ID == ""):
		return m.countOutage(err.Err)
	case m.progress != notBegun:
		return &Outcome{Status: Detached, Err: &NoWordError{m.task.Name}}
	}
	if m.tries++; m.tries < attempts && !err.Answered {
		return nil
	}
	return &Outcome{Status: Unreachable, Err: err.Err}
}

// detach is the outcome where the caller has let go of the machine, or has cancelled before
// anything was begun there.
func (m *member) detach(ctx context.Context) *Outcome {
	switch cause := context.Cause(ctx); {
	case m.progress == notBegun && m.fresh.Err() != nil:
		return &Outcome{Status: Interrupted, Err: errCancelled}
	case cause != nil && m.InProcess:
		return &Outcome{Status: Interrupted, Err: cause}
	case cause != nil:
		return &Outcome{Status: Detached, Err: cause}
	}
	return nil
}

// countOutage counts the time without a connection; nil: it is not over.
func (m *member) countOutage(err error) *Outcome {
	if m.options.Patience == NotAgain {
		return &Outcome{Status: Detached, Err: err}
	}
	switch why := err.Error(); {
	case m.since.IsZero():
		m.since, m.reason = time.Now(), why
		m.note(m.Name, why+"; connecting again")
	case m.reason != why:
		m.reason = why
		m.note(m.Name, "no connection yet: "+why)
	}
	if long := time.Since(m.since); long >= m.options.Patience {
		return &Outcome{Status: Detached, Err: &LostError{long, err}}
	}
	return nil
}

// conclude is what comes of an end; nil: it is not the end of all.
func (m *member) conclude(result *machine.Result, refused *machine.Error) *Outcome {
	code := ""
	if refused != nil {
		code = refused.Code
	}
	switch {
	case m.progress == perhaps && m.position.ID != "" && m.continues && code == machine.CodeNotFound:
		return m.afresh()
	case m.task.begins && !m.InProcess && m.progress != surely && result == nil && code == machine.CodeInterrupted:
		return m.afresh() // it was cut off before it had all that it needs to begin
	case result != nil && result.Rebooting && m.task.Continue != nil && !m.InProcess:
		return m.countOutage(errors.New("the machine starts anew"))
	}
	if result != nil { // a connection that was broken early may not have told
		m.setRun(result.Run)
	}
	out := &Outcome{Status: status(result, refused), Result: result}
	if refused != nil {
		out.Err = refused
	}
	return out
}

// afresh begins anew with a machine that was asked, and knows nothing of it.
func (m *member) afresh() *Outcome {
	m.progress = notBegun
	m.reset()
	switch m.tries++; {
	case m.fresh.Err() != nil:
		return &Outcome{Status: Interrupted, Err: errCancelled}
	case m.tries >= attempts:
		return &Outcome{Status: Unreachable, Err: errors.New("the connection broke again and again before anything was begun")}
	}
	return nil
}

// status reads it from an end.
func status(result *machine.Result, refused *machine.Error) Status {
	switch {
	case refused != nil && refused.Code == machine.CodeInterrupted, result != nil && (result.Interrupted || result.Rebooting):
		return Interrupted
	case refused != nil, result != nil && result.Failed:
		return Failed
	}
	return Done
}

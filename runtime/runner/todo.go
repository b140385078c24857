package runner

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

var errTodo = errors.New("runner: not written yet")

// Plan tells what Apply would do.
func (r *Runner) Plan(ctx context.Context, j *Job, events func(states.Event)) (*runtime.Result, error) {
	return nil, errTodo
}

// Apply carries a job out, and records it. Started, which may be nil, is called once
// the run is recorded.
func (r *Runner) Apply(ctx context.Context, j *Job, started func(run string), events func(states.Event)) (*runtime.Result, error) {
	return nil, errTodo
}

// Resuming says how to go on with a run.
type Resuming struct {
	Run         string // its ID
	Parallel    int
	LockTimeout time.Duration
	// Files opens the site or the saved plan that it was begun with; nil: only what
	// came in a bundle can be opened.
	Files func(context.Context, journal.Status) (fs.FS, error)
}

// Resume goes on with a run where it ended. Started, which may be nil, is called once
// that is recorded.
func (r *Runner) Resume(ctx context.Context, o Resuming, started func(run string, j *Job), events func(states.Event)) (*runtime.Result, error) {
	return nil, errTodo
}

// MayApply tells why nothing may be applied for now, if that is so.
func (r *Runner) MayApply() error { return errTodo }

// Holder tells who applies now; nil: nobody.
func (r *Runner) Holder() (*journal.LockedError, error) { return nil, errTodo }

// Status tells how a run stands, by its ID, that of its execution, or the beginning of
// one; empty: the machine. Without records the error is a *NothingError where a run
// is meant, and the Standing is empty else.
func (r *Runner) Status(id string) (*Standing, error) { return nil, errTodo }

// History lists the runs, oldest first.
func (r *Runner) History() ([]Past, error) { return nil, errTodo }

// Events gives the events of a run with numbers above after. With follow it waits for
// more until the run has ended.
func (r *Runner) Events(ctx context.Context, id string, after int64, follow bool) iter.Seq2[states.Event, error] {
	return nil
}

// Outputs gives what a run's programs have printed.
func (r *Runner) Outputs(id string) ([]Output, error) { return nil, errTodo }

// Clean removes the record of one run.
func (r *Runner) Clean(id string) (*Cleaned, error) { return nil, errTodo }

// CleanOld removes the records of runs as c says.
func (r *Runner) CleanOld(c wire.Clean) (*Cleaned, error) { return nil, errTodo }

// Hold keeps applies from starting, and tells who applies nevertheless, since it has
// begun before.
func (r *Runner) Hold(h wire.Hold) (*journal.Hold, *journal.LockedError, error) {
	return nil, nil, errTodo
}

// Release lets applies start again; nil: nothing was on hold.
func (r *Runner) Release() (*journal.Hold, error) { return nil, errTodo }

// Managed lists what sites have created here.
func (r *Runner) Managed() ([]ManagedSite, error) { return nil, errTodo }

// Forget lets go of what a site has created, and of what handlers are owed. Site may
// be empty where one alone has what is named. The events say what is let go of.
func (r *Runner) Forget(ctx context.Context, site string, addresses []string, lockTimeout time.Duration) ([]states.Event, error) {
	return nil, errTodo
}

// Serve says Hello and does what one request asks for.
func Serve(ctx context.Context, c *wire.Conn, o wire.Opening, r *Runner) error { return errTodo }

// Local gives a connection to a runner in this process: what a fleet dials for the
// machine that it runs on.
func Local(r *Runner) func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	return func(context.Context, wire.Opening) (*wire.Conn, *wire.Hello, error) { return nil, nil, errTodo }
}

package runner

import (
	"context"
	"errors"
	"iter"

	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

var errTodo = errors.New("runner: not written yet")

// Events gives the events of a run with numbers above after. With follow it waits for
// more until the run has ended.
func (r *Runner) Events(ctx context.Context, id string, after int64, follow bool) iter.Seq2[states.Event, error] {
	return func(yield func(states.Event, error) bool) {
		folder, run, err := r.run(id)
		if err != nil {
			yield(states.Event{}, err)
			return
		}
		all := folder.Events(run.Run)
		if follow {
			all = folder.Follow(ctx, run.Run, after)
		}
		for ev, err := range all {
			if err == nil && ev.Seq <= after {
				continue
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Serve says Hello and does what one request asks for.
func Serve(ctx context.Context, c *wire.Conn, o wire.Opening, r *Runner) error { return errTodo }

// Local gives a connection to a runner in this process: what a fleet dials for the
// machine that it runs on.
func Local(r *Runner) func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	return func(context.Context, wire.Opening) (*wire.Conn, *wire.Hello, error) { return nil, nil, errTodo }
}

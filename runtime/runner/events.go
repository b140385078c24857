package runner

import (
	"context"
	"iter"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Events gives the events of a run with numbers above after. With follow it waits for
// more until the run has ended, also when that goes on after the machine has started
// anew.
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

// StreamEnd gives the sequence of this machine's events, and the number of the last one; the zero value: there is none.
func (r *Runner) StreamEnd(ctx context.Context) (journal.Since, error) {
	folder, err := r.existingFolder()
	if folder == nil || err != nil {
		return journal.Since{}, err
	}
	return folder.StreamEnd(ctx)
}

// Stream gives the events of all runs of this machine after a number, in order. With follow it waits for more until the context ends, also for the
// first one.
func (r *Runner) Stream(ctx context.Context, since journal.Since, follow bool) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		open := r.existingFolder
		if follow { // it is made, to be looked at
			open = r.open
		}
		folder, err := open()
		if err != nil {
			yield(journal.Entry{}, err)
			return
		}
		if folder == nil {
			return
		}
		for e, err := range folder.Stream(ctx, since, follow) {
			if !yield(e, err) {
				return
			}
		}
	}
}

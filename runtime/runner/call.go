package runner

import (
	"context"
	"errors"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// begin begins a call, which Cancel ends from now on, until done is called.
func (r *Runner) begin(ctx context.Context, o machine.Observer) (_ context.Context, c *call, done func()) {
	c = &call{Runner: r, caller: r.Caller, observer: o}
	ctx, cancel := context.WithCancelCause(ctx)
	unregister := c.register(func() { cancel(errCancelled) })
	o.TellSent()
	return ctx, c, func() {
		unregister()
		cancel(nil)
	}
}

func (c *call) note(kind, text string) { c.observer.TellNote(machine.Note{Kind: kind, Text: text}) }

// Cancel ends a run, here or in another process, or keeps an execution from beginning: on
// hosts of any name, where none is given.
func (r *Runner) Cancel(_ context.Context, run machine.RunRef) error {
	if run.ID == "" {
		r.cancelCalls(func(subject) bool { return true })
		return nil
	}
	if r.cancelNamed(run) {
		return nil
	}
	found, err := r.FindBegun(run.ID, run.Host)
	if notFound(err) && !journal.IsRunID(run.ID) { // an execution may begin yet
		found, err = r.withdraw(run.ID, run.Host)
	}
	if diag.CodeOf(err) == machine.CodeInterrupted {
		return nil // it does not begin any more
	}
	if err != nil {
		return asError(err)
	}
	return asError(r.interrupt(found.Run))
}

// Plan tells what Apply would do. Who may not read the records gets a plan without
// what earlier runs have left, and a note.
func (r *Runner) Plan(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	result, err := c.plan(ctx, j)
	return result, asError(err)
}

// Apply carries a job out, and records it.
func (r *Runner) Apply(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	result, err := c.apply(ctx, j)
	if result == nil {
		err = c.notBegun(ctx, err, j.Execution, j.Run.Host)
	}
	return c.orFollow(ctx, result, err)
}

// Resume goes on with a run where it ended. The site, or what else its files are of, is
// read only for the files that parts name, and for its modules: they must be as they
// were.
func (r *Runner) Resume(ctx context.Context, how machine.Resumption, o machine.Observer) (*machine.Result, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	result, err := c.resume(ctx, how)
	if result == nil && err != nil {
		err = c.notResumed(ctx, err, how)
	}
	return c.orFollow(ctx, result, err)
}

// orFollow gives the end of a call, or follows the run that was begun before for the same
// execution. A wish to cancel ends that.
func (c *call) orFollow(ctx context.Context, result *machine.Result, err error) (*machine.Result, error) {
	begun, ok := errors.AsType[*journal.BegunError](err)
	if !ok {
		return result, asError(err)
	}
	w := newWish()
	following, letGo := context.WithCancelCause(context.WithoutCancel(ctx))
	defer letGo(nil)
	defer context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); cause != errCancelled {
			letGo(cause)
			return
		}
		w.make(c)
	})()
	result, err = c.follow(following, machine.RunRef{ID: begun.Run, After: begun.After}, w)
	return result, asError(err)
}

// Follow tells the events of a run from a number on, until it ends, and how.
func (r *Runner) Follow(ctx context.Context, run machine.RunRef, o machine.Observer) (*machine.Result, error) {
	c, w := &call{Runner: r, caller: r.Caller, observer: o}, newWish()
	defer c.register(func() { w.make(c) })()
	o.TellSent()
	result, err := c.follow(ctx, run, w)
	return result, asError(err)
}

// Logs tells the events of a run, and gives what its programs have printed.
func (r *Runner) Logs(ctx context.Context, l machine.LogRequest, o machine.Observer) (_ []machine.Output, err error) {
	defer wrapError(&err)
	ctx, c, done := r.begin(ctx, o)
	defer done()
	run, err := c.Find(l.Run.ID)
	if err != nil {
		return nil, err
	}
	for ev, err := range c.Events(ctx, run.Run, l.Run.After, l.Follow) {
		if err != nil {
			return nil, err
		}
		c.observer.TellEvent(ev)
	}
	return c.Outputs(run.Run)
}

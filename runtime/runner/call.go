package runner

import (
	"context"
	"errors"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// call is one request on its way.
type call struct {
	*Runner
	caller   machine.Caller
	observer machine.Observer
	// What it carries out, once that is known; Runner.mu is held for both.
	run, execution string
}

// begin begins a call, which Cancel ends from now on, until done is called.
func (r *Runner) begin(ctx context.Context, o machine.Observer) (_ context.Context, c *call, done func()) {
	c = &call{Runner: r, caller: r.Caller, observer: o}
	ctx, cancel := context.WithCancelCause(ctx)
	unregister := r.register(c, func() { cancel(errCancelled) })
	return ctx, c, func() {
		unregister()
		cancel(nil)
	}
}

// register has Cancel call cancel for a call, until done is called.
func (r *Runner) register(c *call, cancel func()) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[*call]func(){}
	}
	r.calls[c] = cancel
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, c)
	}
}

// carriesOut notes which run the call is about.
func (c *call) carriesOut(run, execution string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.execution = run, execution
}

func (c *call) note(kind, text string) { c.observer.TellNote(machine.Note{Kind: kind, Text: text}) }

// Cancel ends a run, here or in another process, or keeps an execution from beginning.
func (r *Runner) Cancel(_ context.Context, run machine.RunRef) error {
	if r.cancelCalls(run.ID) || run.ID == "" {
		return nil
	}
	found, err := r.FindBegun(run.ID, run.Host)
	if notFound(err) {
		found, err = r.withdraw(run.ID, run.Host)
	}
	if e, ok := errors.AsType[*machine.Error](err); ok && e.Code == machine.CodeInterrupted {
		return nil // it does not begin any more
	}
	if err != nil {
		return err
	}
	return r.interrupt(found.Run)
}

// cancelCalls cancels the calls that carry a run or an execution out; all, where none is
// named. It reports whether there were any.
func (r *Runner) cancelCalls(id string) (found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, cancel := range r.calls {
		if id == "" || c.run == id || c.execution == id {
			cancel()
			found = true
		}
	}
	return found
}

// notFound reports whether an error says that there is no such run.
func notFound(err error) bool {
	e, ok := errors.AsType[*machine.Error](err)
	return ok && e.Code == machine.CodeNotFound
}

// Plan tells what Apply would do. Who may not read the records gets a plan without
// what earlier runs have left, and a note.
func (r *Runner) Plan(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	return c.plan(ctx, j)
}

// Apply carries a job out, and records it.
func (r *Runner) Apply(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	return c.apply(ctx, j)
}

// Resume goes on with a run where it ended. The site, or what else its files are of, is
// read only for the files that parts name, and for its modules: they must be as they
// were.
func (r *Runner) Resume(ctx context.Context, how machine.Resumption, o machine.Observer) (*machine.Result, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	return c.resume(ctx, how)
}

// Follow tells the events of a run from a number on, until it ends, and how.
func (r *Runner) Follow(ctx context.Context, run machine.RunRef, o machine.Observer) (*machine.Result, error) {
	c, w := &call{Runner: r, caller: r.Caller, observer: o, run: run.ID}, newWish()
	defer r.register(c, func() { fault.Go(func() { w.make(c) }) })()
	return c.follow(ctx, run, w)
}

// Logs tells the events of a run, and gives what its programs have printed.
func (r *Runner) Logs(ctx context.Context, l machine.LogRequest, o machine.Observer) ([]machine.Output, error) {
	run, err := r.Find(l.Run.ID)
	if err != nil {
		return nil, err
	}
	for ev, err := range r.Events(ctx, run.Run, l.Run.After, l.Follow) {
		if err != nil {
			return nil, err
		}
		o.TellEvent(ev)
	}
	return r.Outputs(run.Run)
}

// interruption is the error for a call whose context ended.
func interruption(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &machine.Error{Code: machine.CodeInterrupted, Err: err}
}

// refusal adds to why nothing is applied what to do about it.
func refusal(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*journal.LockedError](err); ok {
		return &machine.Error{Code: machine.CodeLocked, Err: err, Hint: "wait until it has ended, as --lock-timeout 5m does, or end it"}
	}
	if _, ok := errors.AsType[*journal.HeldError](err); ok {
		return &machine.Error{Code: machine.CodeLocked, Err: err, Hint: endsHold}
	}
	if _, ok := errors.AsType[*journal.BegunError](err); ok {
		return &machine.Error{Err: err, Hint: "tenet status tells how it stands"}
	}
	if _, ok := errors.AsType[*journal.WithdrawnError](err); ok {
		return &machine.Error{Code: machine.CodeInterrupted, Err: err}
	}
	if ctx.Err() != nil { // it has waited
		return interruption(ctx)
	}
	if not, ok := errors.AsType[*journal.NotResumableError](err); ok {
		return &machine.Error{Err: err, Hint: not.Hint}
	}
	return &machine.Error{Err: err, Hint: elsewhere}
}

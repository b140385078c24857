package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
)

// arriving is how long a run is awaited that may just be beginning: another process has
// its bundle.
const arriving = 15 * time.Second

// attach tells the events of a run from a number on, until it ends. A wish to cancel
// goes to the process that carries it out, or keeps it from beginning.
func (s *session) attach(ctx context.Context, q *wire.Request, end *wire.End) error {
	w := &wish{made: make(chan struct{})}
	ctx = s.passes(ctx, func() { w.make(s) })
	run, err := s.await(ctx, q, w)
	if err != nil {
		return err
	}
	w.about(s, run.Run)
	if err := s.say(wire.KindStarted, wire.Started{Run: run.Run, After: q.After}); err != nil {
		return err
	}
	for ev, err := range s.Events(ctx, run.Run, q.After, true) {
		if err != nil {
			return err
		}
		s.event(ev)
	}
	return s.ended(run.Run, end)
}

// wish is one to cancel a run that another process carries out.
type wish struct {
	mu   sync.Mutex
	run  string        // empty: it is not known yet
	made chan struct{} // closed: it was made
	once sync.Once
}

// make makes the wish, however often.
func (w *wish) make(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.once.Do(func() { close(w.made) })
	if w.run != "" {
		s.interrupt(w.run)
	}
}

// about says which run is meant.
func (w *wish) about(s *session, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run = run
	select {
	case <-w.made:
		s.interrupt(run)
	default:
	}
}

// passes has a wish to cancel handed on from here on, also one that was made before. It
// gives the context of what is done now, which such a wish does not end.
func (s *session) passes(ctx context.Context, pass func()) context.Context {
	s.mu.Lock()
	s.pass = pass
	was := context.Cause(ctx) == errCancelled
	if was {
		ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	if was {
		pass()
	}
	return ctx
}

// await finds a run, which may still be beginning.
func (s *session) await(ctx context.Context, q *wire.Request, w *wish) (journal.Status, error) {
	store := &bundle.Store{Dir: s.StateDir}
	for begun := time.Now(); ; {
		run, err := s.FindBegun(q.ID, q.Host)
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != wire.CodeNotFound || time.Since(begun) > arriving {
			return run, err
		}
		if _, gone := store.Open(q.ID); gone != nil {
			return run, err
		}
		select {
		case <-ctx.Done():
			return run, interrupted(ctx)
		case <-w.made:
			return s.withdraw(q.ID, q.Host)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// withdraw keeps an execution that was cancelled from beginning: another process may wait to do
// that behind a connection that is half open, on which nobody can tell it. It
// gives the run that was begun all the same, if it was faster.
func (s *session) withdraw(execution, host string) (journal.Status, error) {
	folder, err := s.open()
	if err == nil {
		err = folder.Withdraw(execution, host)
	}
	if err != nil {
		return journal.Status{}, &Error{Err: fmt.Errorf("it may begin still, once no other apply is in its way: %w", err), Hint: "tenet status tells how it stands"}
	}
	run, err := s.FindBegun(execution, host)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == wire.CodeNotFound {
		return run, &Error{Code: wire.CodeInterrupted, Err: errCancelled}
	}
	return run, err
}

// unbegun is why an execution was not begun here. One that was cancelled is not to be begun
// by another process either.
func (s *session) unbegun(ctx context.Context, err error, execution, host string) error {
	if _, begun := errors.AsType[*journal.BegunError](err); begun || execution == "" || context.Cause(ctx) != errCancelled {
		return err
	}
	run, err := s.withdraw(execution, host)
	if err != nil {
		return err
	}
	was := &journal.BegunError{Run: run.Run}
	for _, r := range run.Resumptions {
		if r.Execution == execution {
			was.After = r.After
		}
	}
	return was
}

// interrupt asks the process that carries a run out to end it.
func (s *session) interrupt(run string) {
	holder, err := s.Holder()
	if err == nil && (holder == nil || holder.Run != run) {
		return // it has ended
	}
	if err == nil && holder.PID > 1 {
		err = syscall.Kill(holder.PID, syscall.SIGTERM)
	}
	if err != nil {
		s.note(NoteRecords, "the run cannot be ended: "+err.Error())
	}
}

// ended tells how a run ended, as its record has it.
func (s *session) ended(run string, end *wire.End) error {
	now, err := s.Status(run)
	if err != nil {
		return err
	}
	end.Result = &wire.Result{
		Run: now.Run, Failed: now.State == journal.Failed, Interrupted: now.State == journal.Interrupted,
		Rebooting: now.State == journal.Rebooting, Report: now.Report,
	}
	if now.Counts != nil {
		end.Result.Counts = *now.Counts
	}
	if now.Error == "" {
		return nil
	}
	e := &Error{Err: errors.New(now.Error)}
	if end.Result.Interrupted {
		e.Code, e.Hint = wire.CodeInterrupted, "the next apply does what it has left undone"
	}
	return e
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// arrivalTimeout is how long a run is awaited that may just be beginning: another process has
// its bundle.
const arrivalTimeout = 15 * time.Second

// follow tells the events of a run from a number on, until it ends, and gives how it
// ended. A wish to cancel goes to the process that carries it out, or keeps it from
// beginning.
func (c *call) follow(ctx context.Context, which machine.RunRef, w *wish) (*machine.Result, error) {
	c.isAbout(subject{execution: which.ID, host: which.Host, follows: true})
	run, err := c.await(ctx, which, w)
	if err != nil {
		return nil, err
	}
	w.bind(c, run.Run)
	c.observer.TellStarted(machine.Started{Run: run.Run, After: which.After})
	for ev, err := range c.Events(ctx, run.Run, which.After, true) {
		if err != nil {
			return nil, err
		}
		c.observer.TellEvent(ev)
	}
	return c.recordedResult(run.Run)
}

// wish is one to cancel a run that another process carries out.
type wish struct {
	mu     sync.Mutex
	run    string        // empty: it is not known yet
	isMade chan struct{} // closed: it was made
	once   sync.Once
}

func newWish() *wish { return &wish{isMade: make(chan struct{})} }

// make makes the wish, however often.
func (w *wish) make(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.once.Do(func() { close(w.isMade) })
	if w.run != "" {
		c.tryInterrupt(w.run)
	}
}

// bind says which run is meant.
func (w *wish) bind(c *call, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run = run
	select {
	case <-w.isMade:
		c.tryInterrupt(run)
	default:
	}
}

// await finds a run, which may still be beginning.
func (c *call) await(ctx context.Context, which machine.RunRef, w *wish) (journal.Status, error) {
	store := &bundle.Store{Dir: c.StateDir}
	for begun := time.Now(); ; {
		run, err := c.FindBegun(which.ID, which.Host)
		if !notFound(err) || time.Since(begun) > arrivalTimeout {
			return run, err
		}
		if _, gone := store.Open(which.ID); gone != nil {
			return run, err
		}
		select {
		case <-ctx.Done():
			return run, interruption(ctx)
		case <-w.isMade:
			return c.withdraw(which.ID, which.Host)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// withdraw keeps an execution that was cancelled from beginning: another process may wait to do
// that behind a connection that is half open, on which nobody can tell it. It
// gives the run that was begun all the same, if it was faster.
func (r *Runner) withdraw(execution, host string) (journal.Status, error) {
	folder, err := r.open()
	if err == nil {
		err = folder.Withdraw(execution, host)
	}
	if err != nil {
		return journal.Status{}, &diag.HintError{Err: fmt.Errorf("it may begin still, once no other apply is in its way: %w", err), Hint: "tenet status tells how it stands"}
	}
	run, err := r.FindBegun(execution, host)
	if notFound(err) {
		return run, &diag.HintError{Code: machine.CodeInterrupted, Err: errCancelled}
	}
	return run, err
}

// notBegun is why an execution was not begun here. One that was cancelled is not to be begun
// by another process either.
func (r *Runner) notBegun(ctx context.Context, err error, execution, host string) error {
	if _, begun := errors.AsType[*journal.BegunError](err); begun || execution == "" || context.Cause(ctx) != errCancelled {
		return err
	}
	run, err := r.withdraw(execution, host)
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

// notResumed is the same of a run that does not go on.
func (r *Runner) notResumed(ctx context.Context, err error, how machine.Resumption) error {
	was, wrong := r.FindBegun(how.Run.ID, how.Run.Host)
	if wrong != nil {
		return err
	}
	return r.notBegun(ctx, err, how.Execution, was.Host)
}

// interrupt asks who carries a run out to end it: a call of this process, or another one.
func (r *Runner) interrupt(run string) error {
	if r.cancelRun(run) {
		return nil
	}
	holder, err := r.Holder()
	if err == nil && (holder == nil || holder.Run != run) {
		return nil // it has ended
	}
	ask := r.terminate
	if ask == nil {
		ask = terminate
	}
	if err == nil && holder.PID > 1 {
		err = ask(holder.PID)
	}
	if err != nil {
		return fmt.Errorf("the run cannot be ended: %w", err)
	}
	return nil
}

// terminate asks another process to end what it does.
func terminate(pid int) error {
	if pid == os.Getpid() { // a signal would end all else that this process does
		return errors.New("another Runner of this process carries it out, which alone can cancel it")
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}

func (c *call) tryInterrupt(run string) {
	if err := c.interrupt(run); err != nil {
		c.note(machine.NoteRecords, err.Error())
	}
}

// recordedResult tells how a run ended, as its record has it.
func (c *call) recordedResult(run string) (*machine.Result, error) {
	now, err := c.Status(context.Background(), run)
	if err != nil {
		return nil, err
	}
	result := &machine.Result{
		Run: now.Run, Failed: now.State == journal.Failed, Interrupted: now.State == journal.Interrupted,
		Rebooting: now.State == journal.Rebooting, Report: now.Report,
	}
	if now.Counts != nil {
		result.Counts = *now.Counts
	}
	if folder, err := c.existingFolder(); err == nil && folder != nil {
		if result.Outputs, err = folder.RunOutputs(now.Run); err != nil {
			c.note(machine.NoteRecords, "what the host hands to others cannot be read: "+err.Error())
		}
	}
	if now.Error == "" {
		return result, nil
	}
	e := &diag.HintError{Err: errors.New(now.Error)}
	if result.Interrupted {
		e.Code, e.Hint = machine.CodeInterrupted, "the next apply does what it has left undone"
	}
	return result, e
}

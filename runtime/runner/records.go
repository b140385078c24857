package runner

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Clean removes the record of one run, or of an execution. What is needed still stays:
// the error says what for.
func (r *Runner) Clean(id string) (*Cleaned, error) {
	folder, err := r.existing()
	if err != nil || folder == nil {
		return &Cleaned{Removed: []string{}, Kept: []*journal.NeededError{}}, err
	}
	run, err := folder.Status(id)
	if err == nil {
		id = run.Run
	}
	if id, err = folder.Clean(id); err == nil && run.Execution != "" {
		err = r.forgetBundle(run.Execution)
	}
	if err == nil {
		return &Cleaned{Removed: []string{id}, Kept: []*journal.NeededError{}}, nil
	}
	e := &Error{Err: err}
	if _, ok := errors.AsType[*journal.NeededError](err); ok {
		e.Code, e.Hint = wire.CodeNeeded, "the next apply of its site deals with it; tenet status lists what is left"
	} else if errors.Is(err, journal.ErrNoRun) {
		e.Code, e.Hint = wire.CodeNotFound, "tenet history lists the runs"
	}
	return nil, e
}

// CleanOld removes the records of runs as c says, but for those that are needed still.
func (r *Runner) CleanOld(c wire.Clean) (*Cleaned, error) {
	out := &Cleaned{Removed: []string{}, Kept: []*journal.NeededError{}}
	folder, err := r.existing()
	if err != nil || folder == nil {
		return out, err
	}
	removed, kept, err := folder.CleanOld(c.Keep, c.OlderThan)
	out.Removed, out.Kept = append(out.Removed, removed...), append(out.Kept, kept...)
	return out, err
}

// Hold keeps applies from starting, and tells who applies nevertheless, since it has
// begun before. Whoever holds it already may need it longer: then it is an error.
func (r *Runner) Hold(w wire.Hold) (*journal.Hold, *journal.LockedError, error) {
	reason := strings.TrimSpace(w.Reason)
	if reason == "" {
		return nil, nil, &Error{Err: errors.New("a hold needs a reason"), Hint: "tenet hold REASON tells everybody why"}
	}
	folder, err := r.open()
	if err == nil {
		err = r.mayApply(folder)
	}
	if err != nil {
		return nil, nil, err
	}
	h := journal.Hold{Reason: reason, Since: time.Now().UTC(), By: r.User}
	if r.From != "" {
		h.By += " from " + r.From
	}
	if w.For > 0 {
		h.Until = h.Since.Add(w.For)
	}
	if err := folder.Hold(h); err != nil {
		return nil, nil, &Error{Err: err, Hint: elsewhere}
	}
	return &h, folder.Holder(), nil
}

// Release lets applies start again; nil: nothing was on hold.
func (r *Runner) Release() (*journal.Hold, error) {
	folder, err := r.existing()
	if err != nil || folder == nil {
		return nil, err
	}
	was, err := folder.Release()
	if err != nil {
		return nil, &Error{Err: err, Hint: elsewhere}
	}
	return was, nil
}

// Holder tells who applies now; nil: nobody.
func (r *Runner) Holder() (*journal.LockedError, error) {
	folder, err := r.existing()
	if err != nil || folder == nil {
		return nil, err
	}
	return folder.Holder(), nil
}

// MayApply tells why nothing may be applied for now, or could not be recorded, if that
// is so. It makes the state folder if there is none.
func (r *Runner) MayApply() error {
	folder, err := r.open()
	if err != nil {
		return err
	}
	return r.mayApply(folder)
}

// Obstacles tells, for who looks at a plan, why it cannot be applied for now: a hold, and an
// apply that runs. Who may not read the records is told of none.
func (r *Runner) Obstacles() ([]string, error) {
	folder, err := r.existing()
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil || folder == nil {
		return nil, err
	}
	var list []string
	if err := r.mayApply(folder); err != nil {
		list = append(list, err.Error())
	}
	if applying := folder.Holder(); applying != nil {
		list = append(list, applying.Error()+": what it does meanwhile may not be in this plan")
	}
	return list, nil
}

func (r *Runner) mayApply(folder *journal.Folder) error {
	h, err := folder.Held()
	if err == nil && h != nil {
		err = &journal.HeldError{Hold: *h}
	}
	if err == nil {
		return nil
	}
	return &Error{Code: wire.CodeLocked, Err: err, Hint: endsHold}
}

// endsHold is what helps against a hold. Who reads it may be on another machine.
const endsHold = "tenet release ends the hold, and tenet release -l HOST one that is reached"

// refused adds to why nothing is applied what to do about it.
func (r *Runner) refused(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*journal.LockedError](err); ok {
		return &Error{Code: wire.CodeLocked, Err: err, Hint: "wait until it has ended, as --lock-timeout 5m does, or end it"}
	}
	if _, ok := errors.AsType[*journal.HeldError](err); ok {
		return &Error{Code: wire.CodeLocked, Err: err, Hint: endsHold}
	}
	if _, ok := errors.AsType[*journal.BegunError](err); ok {
		return &Error{Err: err, Hint: "tenet status tells how it stands"}
	}
	if _, ok := errors.AsType[*journal.WithdrawnError](err); ok {
		return &Error{Code: wire.CodeInterrupted, Err: err}
	}
	if ctx.Err() != nil { // it has waited
		return interrupted(ctx)
	}
	if not, ok := errors.AsType[*journal.NotResumableError](err); ok {
		return &Error{Err: err, Hint: not.Hint}
	}
	return &Error{Err: err, Hint: elsewhere}
}

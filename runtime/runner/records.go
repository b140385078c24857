package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// Clean removes records of runs. What is needed still stays, and is named; where it was
// asked for by its ID, that is an error.
func (r *Runner) Clean(_ context.Context, which machine.CleanRequest) (out *machine.CleanResult, err error) {
	defer wrapError(&err)
	out = &machine.CleanResult{Removed: []string{}, Kept: []*journal.NeededError{}}
	folder, err := r.existingFolder()
	switch {
	case err != nil:
		return nil, err
	case folder == nil && which.ID != "":
		return nil, noRun(fmt.Errorf("%w: %s", journal.ErrNoRun, which.ID))
	case folder == nil:
	case which.ID != "":
		var id string
		if id, err = r.cleanRun(folder, which.ID); err == nil {
			out.Removed = append(out.Removed, id)
		}
	default:
		removed, kept, wrong := folder.CleanOld(which.Keep, which.OlderThan)
		out.Removed, out.Kept, err = append(out.Removed, removed...), append(out.Kept, kept...), wrong
	}
	if which.Runners > 0 && (err == nil || which.ID == "") {
		var gone error
		out.Runners, gone = cleanRunners(cacheDir(), which.Runners)
		err = journal.Join(err, gone)
	}
	if err != nil && which.ID != "" {
		return nil, err
	}
	return out, err
}

// cleanRun removes the record of a run, or of an execution, and gives its ID.
func (r *Runner) cleanRun(folder *journal.Folder, id string) (string, error) {
	run, err := folder.Status(id)
	if err == nil {
		id = run.Run
	}
	if id, err = folder.Clean(id); err == nil && run.Execution != "" {
		err = r.forgetBundle(run.Execution)
	}
	if err == nil {
		return id, nil
	}
	e := &diag.HintError{Err: err}
	if _, ok := errors.AsType[*journal.NeededError](err); ok {
		e.Code, e.Hint = machine.CodeNeeded, "the next apply of its site deals with it; tenet status lists what is left"
	} else if _, ok := errors.AsType[*journal.InProgressError](err); ok {
		e.Code, e.Hint = machine.CodeLocked, "wait until it has ended, or end it"
	} else if errors.Is(err, journal.ErrNoRun) {
		e.Code, e.Hint = machine.CodeNotFound, "tenet history lists the runs"
	}
	return "", e
}

// Hold keeps applies from starting, and tells who applies nevertheless, since it has
// begun before. Whoever holds it already may need it longer: then it is an error.
func (r *Runner) Hold(_ context.Context, w machine.HoldRequest) (_ *machine.HoldResult, err error) {
	defer wrapError(&err)
	return r.hold(w, r.Caller)
}

func (r *Runner) hold(w machine.HoldRequest, caller machine.Caller) (*machine.HoldResult, error) {
	reason := strings.TrimSpace(w.Reason)
	if reason == "" {
		return nil, &diag.HintError{Message: "a hold needs a reason", Hint: "tenet hold REASON tells everybody why"}
	}
	folder, err := r.open()
	if err == nil {
		err = r.mayApply(folder)
	}
	if err != nil {
		return nil, err
	}
	h := journal.Hold{Reason: reason, Since: time.Now().UTC(), By: caller.User}
	if caller.From != "" {
		h.By += " from " + caller.From
	}
	if w.For > 0 {
		h.Until = h.Since.Add(w.For)
	}
	if err := folder.Hold(h); err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
	}
	return &machine.HoldResult{Hold: &h, Applying: folder.Holder()}, nil
}

// Unhold lets applies start again; nil: nothing was on hold.
func (r *Runner) Unhold(context.Context) (_ *journal.Hold, err error) {
	defer wrapError(&err)
	folder, err := r.existingFolder()
	if err != nil || folder == nil {
		return nil, err
	}
	was, err := folder.Release()
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
	}
	return was, nil
}

// Holder tells who applies now; nil: nobody.
func (r *Runner) Holder() (*journal.LockedError, error) {
	folder, err := r.existingFolder()
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

// Obstacles tells, for who looks at a plan of a site, why it cannot be applied at present: a hold, an
// apply that runs, and an agent that keeps the machine so. Who may not read the records is told of none.
func (r *Runner) Obstacles(site string) ([]string, error) {
	folder, err := r.existingFolder()
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
	if err := r.mayComeBetween(site, false); err != nil {
		list = append(list, err.Error())
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
	return &diag.HintError{Code: machine.CodeLocked, Err: err, Hint: endsHold}
}

// endsHold is what helps against a hold. Who reads it may be on another machine.
const endsHold = "tenet unhold ends the hold, and tenet unhold -l HOST one that is reached"

package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/states"
)

// watchTurn is what comes of one round.
type watchTurn struct {
	page       *page
	run        *fleetRun // of the site as it is now; nil: it is not evaluated yet
	digest     string    // of its StateRun
	isFresh    bool      // it was evaluated just now
	job        *machine.Job
	planned    []states.Event // by the last plan
	hasPlanned bool           // it came to its end
	// isDifferent says that it has found something to do.
	isDifferent bool
	hasApplied  bool
	end         roundEnd
	err         error // what an apply or a plan would have ended the program with
}

// watchWork is what a watch does to this machine.
type watchWork struct{ *watcher }

// planBuffer keeps the events of a plan until it is known what comes of it.
type planBuffer struct{ turn *watchTurn }

// Event keeps an event.
func (b planBuffer) Event(ev states.Event) { b.turn.planned = append(b.turn.planned, ev) }

// Close does nothing.
func (planBuffer) Close() error { return nil }

// Plan evaluates the site, and plans what it wants now.
func (w *watchWork) Plan(ctx context.Context, target reconcile.Target) reconcile.Found {
	t := w.turn
	if w.cmd.PlanOnly || w.lockTimeout == 0 {
		if reason, err := w.busy(); err != nil || reason != "" {
			f := w.ended(roundSkipped, reconcile.Obstacle, reason, nil)
			if err != nil {
				f = w.ended(roundFailed, reconcile.Unplannable, err.Error(), err)
			}
			return reconcile.Found{Failure: f}
		}
	}
	if other, failed := w.isOther(ctx, target); other || failed.Cause != reconcile.None {
		return reconcile.Found{Failure: failed}
	}
	t.isFresh, t.planned, t.hasPlanned = false, nil, false
	t.run.newRenderer = func(j *machine.Job) ui.Renderer {
		t.job = j
		return planBuffer{t}
	}
	outcomes, err := t.run.plan(ctx)
	if err == nil {
		err = t.run.exitStatus(outcomes, false)
	}
	o, failed := w.judge(outcomes, err, reconcile.Unplannable)
	if failed.Cause != reconcile.None {
		return reconcile.Found{Failure: failed}
	}
	t.hasPlanned = true
	if t.err = err; !t.hasApplied && o.Result.Failed {
		t.end = roundEnd{Outcome: roundFailed}
	}
	w.looked(reconcile.Differing(t.planned))
	f := reconcile.FoundIn(t.planned)
	owed, err := w.isOwed(ctx)
	if err != nil {
		return reconcile.Found{Failure: w.ended(roundFailed, reconcile.Unplannable, err.Error(), err)}
	}
	f.Something = f.Something || owed
	t.isDifferent = f.Something
	return f
}

// isOwed tells whether a handler of the site is owed a run: of a plan it is one row among others.
func (w *watchWork) isOwed(ctx context.Context) (bool, error) {
	local, err := w.runner(nil)
	if err != nil {
		return false, err
	}
	now, err := local.Status(ctx, "")
	if err != nil {
		return false, w.ran(err)
	}
	c := w.turn.run.site
	here := journal.Identity(c.Name(), c.Origin)
	return slices.ContainsFunc(now.Owed, func(d states.Debt) bool { return d.Site == here }), nil
}

// isOther evaluates the site, unless that was done just now, and tells whether it wants something else than the loop knows: then the loop
// is told.
func (w *watchWork) isOther(ctx context.Context, target reconcile.Target) (bool, reconcile.Failure) {
	t := w.turn
	if !t.isFresh {
		if err := w.evaluate(ctx); err != nil {
			return false, w.ended(roundInvalid, reconcile.Unavailable, reasonOf(err, "the site is wrong"), err)
		}
	}
	if t.digest == target.Digest {
		return false, reconcile.Failure{}
	}
	// Each change of the site is a revision of its own.
	err := w.loop.Want(reconcile.Target{Digest: t.digest, Revision: t.digest}, w.options)
	if err != nil {
		return true, w.ended(roundFailed, reconcile.Unavailable, err.Error(), failure(err))
	}
	return true, reconcile.Failure{}
}

// evaluate makes what the site wants now.
func (w *watchWork) evaluate(ctx context.Context) error {
	t := w.turn
	c, hosts, err := w.choose(ctx)
	if err == nil && hosts != nil {
		err = notWatched(hosts)
	}
	var v *fleetRun
	if err == nil {
		v, err = w.siteRunHere(ctx, c)
	}
	if err == nil {
		v.shownJob, err = w.jobHere(ctx, c)
	}
	if err != nil {
		return err
	}
	v.interpretOutcome = func(o fleet.Outcome) fleet.Outcome { return o }
	t.run, t.digest, t.isFresh = v, graph.Revision(v.shownJob.Run), true
	w.options = w.keeping(v.shownJob.Run.Reconcile)
	w.loop.Configure(w.options)
	return nil
}

// Check has nothing to look at beyond the plan.
func (w *watchWork) Check(context.Context, reconcile.Target) reconcile.Checked {
	return reconcile.Checked{}
}

// Apply applies what the site wants now. One that was interrupted is done again: what is as declared stays.
func (w *watchWork) Apply(ctx context.Context, a reconcile.Action) (reconcile.Ended, bool) {
	t := w.turn
	if t.run == nil { // another process had begun it
		if other, failed := w.isOther(ctx, a.Target); other || failed.Cause != reconcile.None {
			return reconcile.Ended{Failure: failed}, true
		}
	}
	t.isFresh, t.hasApplied = false, true
	t.run.newRenderer = t.page.open
	outcomes, err := t.run.execute(ctx, fleet.Apply(nil, t.run.prepare), t.run.members, nil)
	if err == nil {
		err = t.run.exitStatus(outcomes, false)
	}
	o, failed := w.judge(outcomes, err, reconcile.Unsuccess)
	if failed.Cause != reconcile.None {
		w.drift.Forget()
		return reconcile.Ended{Failure: failed}, true
	}
	t.err, t.end = err, roundEnd{Outcome: roundUnchanged, Run: o.Run}
	t.page.showGone(w.drift.End())
	switch {
	case o.Result.Failed:
		t.end.Outcome = roundFailed
		failed = reconcile.Failure{Cause: reconcile.Unsuccess, Reason: o.Result.Reason()}
	case o.Result.Counts.Changed > 0:
		t.end.Outcome = roundChanged
	}
	return reconcile.Ended{Failure: failed}, !o.Result.Rebooting
}

// judge gives the outcome of what came to its end, or why it did not.
func (w *watchWork) judge(outcomes []fleet.Outcome, err error, otherwise reconcile.Cause) (o fleet.Outcome, failed reconcile.Failure) {
	if len(outcomes) > 0 {
		o = outcomes[0]
	}
	if reason := refusal(o.Err); reason != "" {
		return o, w.ended(roundSkipped, reconcile.Obstacle, reason, nil)
	}
	switch {
	case o.Status == fleet.Invalid:
		return o, w.ended(roundInvalid, reconcile.Unavailable, reasonOf(err, "the site is wrong"), err)
	case o.Result != nil && o.Result.Interrupted:
		failed = w.ended(roundFailed, reconcile.Interrupted, "", err)
		w.turn.end.Run = o.Run
		return o, failed
	case o.Result == nil || o.Err != nil:
		failed = w.ended(roundFailed, otherwise, reasonOf(err, "it failed"), err)
		w.turn.end.Run = o.Run
	}
	return o, failed
}

// ended notes how the round has ended so far, and gives the failure that the loop is told.
func (w *watchWork) ended(outcome string, cause reconcile.Cause, reason string, err error) reconcile.Failure {
	w.turn.end, w.turn.err = roundEnd{Outcome: outcome, Reason: reason}, err
	return reconcile.Failure{Cause: cause, Reason: reason}
}

// showPlan shows what is new in the last plan, where nothing was applied.
func (t *watchTurn) showPlan(isAudit bool) {
	if !t.hasPlanned {
		return
	}
	p := t.page
	p.plan = true
	p.open(t.job)
	for _, ev := range t.planned {
		p.Event(ev)
	}
	drifted := p.drift.Len()
	if isAudit || t.isDifferent {
		t.end.Drifted = &drifted
		if t.end.Outcome == roundUnchanged && drifted > 0 {
			t.end.Outcome = roundDrifted
		}
	}
	p.showGone(p.drift.End())
}

// notWatched refuses hosts that are not this machine alone.
func notWatched(hosts []lang.Host) error {
	var names, here []string
	for _, h := range hosts {
		names = append(names, h.Name)
		if h.Executor == "local" {
			here = append(here, h.Name)
		}
	}
	hint := `run it there; the host that is this machine has executor = "local", and tenet apply --limit NAME reaches others`
	if len(here) > 0 {
		hint = "name the one that is this machine: --limit " + here[0]
	}
	return usage(hint, "watch is for the machine that it runs on, and the site is for %s", namesOf(names, false))
}

// refusal tells why nothing may be applied now: somebody else does, or applies
// are on hold.
func refusal(err error) string {
	if locked, ok := errors.AsType[*journal.LockedError](err); ok {
		return locked.Error()
	}
	if held, ok := errors.AsType[*journal.HeldError](err); ok {
		return held.Error()
	}
	return ""
}

// busy tells who applies now, so that a look would see things half done.
func (w *watcher) busy() (string, error) {
	holder, err := w.currentApply()
	if err != nil || holder == nil {
		return "", err
	}
	return holder.Error(), nil
}

// reasonOf gives the text of an error; one without has been shown.
func reasonOf(err error, otherwise string) string {
	if st, ok := errors.AsType[*status](err); ok && st.err == nil {
		return otherwise
	}
	return err.Error()
}

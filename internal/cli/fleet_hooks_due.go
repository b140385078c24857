package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
)

// dueHooks gives the executions of the site that have left hooks due.
func (v *fleetRun) dueHooks() ([]fleet.Record, error) { return v.dueHooksOf(v.identity()) }

// dueHooksOf gives the executions of a site that have left hooks due.
func (s *client) dueHooksOf(identity string) ([]fleet.Record, error) {
	executions, err := s.executions()
	if err != nil {
		return nil, err
	}
	list, err := executions.Due()
	if err != nil {
		return nil, failure(err)
	}
	return slices.DeleteFunc(list, func(x fleet.Record) bool { return journal.Identity(x.Site, x.Origin) != identity }), nil
}

// dueOn gives the executions that have left hooks of the site of some hosts due.
func (s *client) dueOn(t *targets) ([]fleet.Record, error) {
	if t.site == nil {
		return nil, nil
	}
	return s.dueHooksOf(journal.Identity(t.site.Name(), t.site.Origin))
}

// settleDue does first what earlier executions of the site have left due. It reports whether the rest may
// follow.
func (v *fleetRun) settleDue(ctx context.Context) (bool, error) {
	if !v.hasNames || v.site == nil && !v.isSavedPlan {
		return true, nil
	}
	list, err := v.dueHooks()
	if err != nil || len(list) == 0 {
		return true, err
	}
	for i := range list {
		v.tellDue(&list[i])
	}
	if v.isSavedPlan && v.hookSite == nil {
		return false, newStatus(exitFailed, errors.New("what an earlier apply has left is to be done first, and nothing was done"), "tenet apply SITE does it; then apply the plan")
	}
	if v.answers != nil {
		if yes, err := v.ask(ctx, v.answers, "Do this first?"); err != nil || !yes {
			return false, err
		}
	}
	release, err := v.lockHooks()
	if err != nil {
		return false, err
	}
	defer release()
	r, err := v.newHookRunner(ctx, cmp.Or(v.hookSite, v.site))
	if err != nil {
		return false, err
	}
	if list, err = v.dueHooks(); err != nil { // as it is behind the lock
		return false, err
	}
	return true, r.settleAll(ctx, list)
}

// settleSince does what was left due since settleDue has looked, by an apply that was under way then. Who is
// asked for leave has seen a plan without it, and is told to begin anew.
func (r *hookRunner) settleSince(ctx context.Context) error {
	list, err := r.dueHooks()
	if err != nil || len(list) == 0 {
		return err
	}
	for i := range list {
		r.tellDue(&list[i])
	}
	if r.answers != nil {
		return newStatus(exitFailed, errors.New("an apply has left this meanwhile, which is to be done first: nothing was done"), "apply again: that does it first")
	}
	return r.settleAll(ctx, list)
}

// settleAll does what executions have left due, one after the other. The lock of hooks must be held.
func (r *hookRunner) settleAll(ctx context.Context, list []fleet.Record) error {
	for i := range list {
		if err := r.settle(ctx, list[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// settle does what one execution has left due. The lock of hooks must be held.
func (r *hookRunner) settle(ctx context.Context, id string) error {
	executions, err := r.executions()
	if err != nil {
		return err
	}
	open, err := executions.Open(id)
	if err != nil {
		return failure(err)
	}
	names, batches := open.HookHosts()
	hooks, err := r.hooks(ctx, slices.Concat(names, batches), batches)
	if err != nil {
		return err
	}
	r.findings = findings{}
	ctx, cancelled, done := r.interruptible(ctx)
	defer done()
	err = fleet.Settle(ctx, open, fleet.Options{
		Forks: r.globals.Forks, Patience: r.globals.patience(), Cancelled: cancelled, Hooks: hooks, Listener: &hookTeller{client: r.client},
	})
	isSiteWrong := len(r.findings.list) > 0
	if shown := r.showFindings(); shown != nil {
		return shown
	}
	if err != nil {
		code := exitFailed
		if r.wasInterrupted() {
			code = exitInterrupted
		}
		right := "put that right"
		if isSiteWrong {
			right += " (--var, --var-file and --data give values that hooks need)"
		}
		return newStatus(code, fmt.Errorf("what execution %s has left is due still, and nothing else was done: %w", id, err),
			right+" and apply the site again; tenet status "+id+" tells what is due, and tenet clean "+id+" forgets it")
	}
	return nil
}

// tellDue tells what an execution has left.
func (v *fleetRun) tellDue(x *fleet.Record) {
	if v.globals.JSON || v.globals.Quiet {
		return
	}
	for _, h := range x.DueHooks() {
		fmt.Fprintln(v.Err, ui.Line(fmt.Sprintf("due since execution %s: %s", x.ID, h.Name())))
	}
}

// noteDue tells what an apply of the site would do first.
func (v *fleetRun) noteDue() error {
	if !v.hasNames {
		return nil
	}
	list, err := v.dueHooks()
	for i := range list {
		v.tellDue(&list[i])
	}
	return err
}

// hintDue says what is due now, and how it is done.
func (v *fleetRun) hintDue() {
	if v.globals.JSON {
		return
	}
	with := ""
	if v.globals.giveValues() {
		with = ", with the same --var, --var-file and --data"
	}
	for _, h := range v.brokenHooks {
		if v.globals.Quiet { // nothing was told of it
			for _, line := range ui.HookText(h.RecordHook, h.failures) {
				fmt.Fprintln(v.Err, ui.Line(line))
			}
		}
		if h.IsDue() {
			fmt.Fprintf(v.Err, "hint: %s is due: the next apply of the site does it first, and so does tenet apply --resume %s%s\n", ui.Line(h.Name()), v.execution, with)
		}
	}
}

// resumeDue does first what is due of the execution that goes on: by its site, as that is now.
func (v *fleetRun) resumeDue(ctx context.Context) error {
	if v.resumes == nil || len(v.resumes.DueHooks()) == 0 {
		if v.globals.giveValues() {
			return usage("leave them out", "--var, --var-file and --data are for hooks that are due, and the execution has left none")
		}
		return nil
	}
	x := v.resumes
	v.tellDue(x)
	c, err := v.load(ctx, x.Origin)
	if err == nil {
		if found := c.Diagnostics(); found.HasErrors() {
			err = v.diagnose(c, found)
		}
	}
	var r *hookRunner
	if err == nil {
		r, err = v.newHookRunner(ctx, c)
	}
	if err != nil {
		return newStatus(exitSite, fmt.Errorf("what execution %s has left is due, and the site for it, %s, cannot be used: %w", x.ID, x.Origin, err),
			cmp.Or(diag.HintOf(err), "apply the site from where it is now: that does it first"))
	}
	release, err := v.lockHooks()
	if err != nil {
		return err
	}
	defer release()
	return r.settle(ctx, x.ID)
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// hookRunner runs the hooks of a site's rollout.
type hookRunner struct {
	*fleetRun
	declared *site       // whose hooks they are
	all      []lang.Host // that it declares
}

// identity is that by which records know the site.
func (v *fleetRun) identity() string { return journal.Identity(v.name, v.place) }

// newHookRunner makes ready for hooks: of the site that is applied, or that a record names.
func (v *fleetRun) newHookRunner(ctx context.Context, c *site) (*hookRunner, error) {
	stop := v.limitEvaluation()
	all, _, diags := c.Hosts(ctx, c.Target)
	stop()
	if err := v.diagnose(c, diags); err != nil {
		return nil, err
	}
	return &hookRunner{fleetRun: v, declared: c, all: all}, nil
}

// hooks says how to run hooks on the hosts of these names, around batches of others.
func (r *hookRunner) hooks(ctx context.Context, names, batches []string) (*fleet.Hooks, error) {
	var hosts []lang.Host
	for _, h := range r.all {
		if slices.Contains(names, h.Name) {
			hosts = append(hosts, h)
		}
	}
	list, err := r.client.members(ctx, hosts, r.identity(), r.noteHost)
	if err != nil {
		return nil, err
	}
	members := map[string]*fleet.Member{}
	for _, m := range list {
		members[m.Name] = m
	}
	failed, err := r.failedHosts(batches)
	if err != nil {
		return nil, err
	}
	facts := r.declared.FactNames()
	return &fleet.Hooks{
		Members: members, Failed: failed,
		Plan: fleet.Plan(facts, r.prepareLook),
		Task: func(h fleet.HookRun) fleet.Task {
			return fleet.Apply(facts, func(ctx context.Context, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
				return r.prepareHook(ctx, h, m, known)
			})
		},
	}, nil
}

// failedHosts gives those of the hosts that the last after_each of the site was told had failed: a batch
// in which they are has something to do, whatever a plan finds.
func (v *fleetRun) failedHosts(names []string) (map[string]bool, error) {
	executions, err := v.executions()
	if err != nil {
		return nil, err
	}
	failed, err := executions.FailedHosts(names, func(x *fleet.Record) bool { return journal.Identity(x.Site, x.Origin) == v.identity() })
	return failed, failure(err)
}

// prepareLook makes the job of a host whose plan tells whether hooks run around its batch.
func (r *hookRunner) prepareLook(ctx context.Context, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
	j, err := r.jobOf(ctx, m, known)
	if err == nil && j != nil {
		err = r.give(j, m.Name, true)
	}
	if err != nil || j == nil {
		return nil, err
	}
	j.Execution, j.Origin, j.Rows, j.Plan = "", r.origin, nil, "" // nothing of the execution is there yet
	j.Parallel, j.LockTimeout = r.globals.Parallel, r.lockTimeout
	j.Become = r.become(m.Name, becomes(j.Run))
	return j, nil
}

// prepareHook evaluates the site for a host that a hook runs on, and takes the hook's state of it.
func (r *hookRunner) prepareHook(ctx context.Context, h fleet.HookRun, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
	facts, err := r.factsFrom(known)
	if err != nil {
		return nil, err
	}
	c, own := *r.declared, *r.declared.Site
	c.Site = &own
	own.Prune = false
	own.Selection = graph.Selection{Targets: []string{h.State}}
	own.Target.Hook = &lang.HookRun{State: h.State, Params: h.Params, Batch: h.Batch, Failed: h.Failed}
	compiled, diags, wrong := r.compileHost(ctx, &c, m.Name, facts)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if diags.HasErrors() {
		r.find(m.Name, diags)
		return nil, diags
	}
	if wrong != nil {
		return nil, newStatus(exitSite, fmt.Errorf("the site has no %s for %s", h.State, m.Name), "declare it there again, as a state that is lazy, or see to it by hand and forget the execution: tenet clean ID")
	}
	j := compiled.Job()
	if err := r.give(j, m.Name, false); err != nil {
		return nil, err
	}
	j.Execution, j.Origin = h.Execution, r.origin
	j.Parallel, j.LockTimeout = r.globals.Parallel, r.lockTimeout
	host := r.all[slices.IndexFunc(r.all, func(h lang.Host) bool { return h.Name == m.Name })]
	j.Become = machine.Become{Method: cmp.Or(r.globals.BecomeMethod, host.BecomeMethod)}
	if becomes(j.Run) {
		j.Become.Password = r.becomePass
	}
	return j, nil
}

// lockHooks keeps others from running hooks of the site.
func (v *fleetRun) lockHooks() (release func(), err error) {
	executions, err := v.executions()
	if err != nil {
		return nil, err
	}
	release, err = executions.LockHooks(v.identity())
	if errors.Is(err, fleet.ErrHooksLocked) {
		return nil, newStatus(exitFailed, fmt.Errorf("%w: of this site, begun from here", err), "tenet history lists it; apply again once it has ended")
	}
	return release, failure(err)
}

// due gives the executions of the site that have left hooks due.
func (v *fleetRun) due() ([]fleet.Record, error) {
	executions, err := v.executions()
	if err != nil {
		return nil, err
	}
	list, err := executions.Due()
	if err != nil {
		return nil, failure(err)
	}
	return slices.DeleteFunc(list, func(x fleet.Record) bool { return journal.Identity(x.Site, x.Origin) != v.identity() }), nil
}

// settleDue does first what earlier executions of the site have left due. It reports whether the rest may
// follow.
func (v *fleetRun) settleDue(ctx context.Context) (bool, error) {
	if !v.hasNames || v.site == nil && !v.isSavedPlan {
		return true, nil
	}
	list, err := v.due()
	if err != nil || len(list) == 0 {
		return true, err
	}
	for i := range list {
		v.tellDue(&list[i])
	}
	if v.isSavedPlan {
		return false, newStatus(exitFailed, errors.New("what an earlier apply has left is to be done first, and nothing was done"), "tenet apply does it: give it the site")
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
	r, err := v.newHookRunner(ctx, v.site)
	if err != nil {
		return false, err
	}
	if list, err = v.due(); err != nil { // as it is behind the lock
		return false, err
	}
	return true, r.settleAll(ctx, list)
}

// settleSince does what was left due since settleDue has looked, by an apply that was under way then. Who is
// asked for leave has seen a plan without it, and is told to begin anew.
func (r *hookRunner) settleSince(ctx context.Context) error {
	list, err := r.due()
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
	if shown := r.showFindings(); shown != nil {
		return shown
	}
	if err != nil {
		code := exitFailed
		if r.wasInterrupted() {
			code = exitInterrupted
		}
		return newStatus(code, fmt.Errorf("what execution %s has left is due still, and nothing else was done: %w", id, err),
			"put that right and apply the site again; tenet status "+id+" tells what is due, and tenet clean "+id+" forgets it")
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

// hookTeller tells of hooks where no hosts are shown.
type hookTeller struct {
	fleet.Silence
	client *client
}

// Hook tells of a hook.
func (t *hookTeller) Hook(h fleet.RecordHook, failures []string) {
	if t.client.globals.JSON {
		_ = t.client.printLine(ui.NewHookLine(h, failures)) // what comes after it tells
		return
	}
	if t.client.globals.Quiet && len(failures) == 0 {
		return
	}
	for _, line := range ui.HookText(h, failures) {
		fmt.Fprintln(t.client.Err, ui.Line(line))
	}
}

// Note tells what people should know of a host.
func (t *hookTeller) Note(host string, n machine.Note) { t.client.noteHost(host, n.Text) }

// withHooks calls what follows a rollout, ready to run its hooks.
func (v *fleetRun) withHooks(ctx context.Context, rollout *lang.Rollout, call func(*fleet.Hooks) error) error {
	if !rollout.HasHooks() {
		return call(nil)
	}
	if v.site == nil {
		return newStatus(exitUsage, errors.New("the rollout has hooks, and for them the site is needed"), "apply the site itself: tenet apply SITE")
	}
	release, err := v.lockHooks()
	if err != nil {
		return err
	}
	defer release()
	r, err := v.newHookRunner(ctx, v.site)
	if err != nil {
		return err
	}
	if err := r.settleSince(ctx); err != nil {
		return err
	}
	var names, batches []string
	for _, h := range hooksOf(rollout) {
		names = append(names, h.Hosts...)
	}
	for _, m := range v.members {
		batches = append(batches, m.Name)
	}
	hooks, err := r.hooks(ctx, names, batches)
	if err != nil {
		return err
	}
	return call(hooks)
}

// hooksOf gives all hooks of a rollout.
func hooksOf(r *lang.Rollout) []lang.Hook {
	all := slices.Concat(r.BeforeEach, r.AfterEach)
	for _, s := range r.Stages {
		all = slices.Concat(all, s.BeforeEach, s.AfterEach)
	}
	return all
}

// brokenHook is a hook that did not end well, and why.
type brokenHook struct {
	fleet.RecordHook
	failures []string
}

// noteDue tells what an apply of the site would do first.
func (v *fleetRun) noteDue() error {
	if !v.hasNames {
		return nil
	}
	list, err := v.due()
	for i := range list {
		v.tellDue(&list[i])
	}
	return err
}

// Hook shows a hook, and keeps what went wrong.
func (k *eventKeeper) Hook(h fleet.RecordHook, failures []string) {
	if h.Status == fleet.HookFailed || h.Status == fleet.HookDue || len(failures) > 0 {
		k.v.brokenHooks = append(k.v.brokenHooks, brokenHook{h, failures})
	}
	if l, ok := k.display.(fleet.HookListener); ok {
		l.Hook(h, failures)
	}
}

// hintDue says what is due now, and how it is done.
func (v *fleetRun) hintDue() {
	if v.globals.JSON {
		return
	}
	for _, h := range v.brokenHooks {
		if v.globals.Quiet { // nothing was told of it
			for _, line := range ui.HookText(h.RecordHook, h.failures) {
				fmt.Fprintln(v.Err, ui.Line(line))
			}
		}
		if h.IsDue() {
			fmt.Fprintf(v.Err, "hint: %s is due: the next apply of the site does it first, and so does tenet apply --resume %s\n", ui.Line(h.Name()), v.execution)
		}
	}
}

// resumeDue does first what is due of the execution that goes on: by its site, as that is now.
func (v *fleetRun) resumeDue(ctx context.Context) error {
	if v.resumes == nil || len(v.resumes.DueHooks()) == 0 {
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

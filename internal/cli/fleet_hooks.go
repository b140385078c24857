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
	"github.com/tenetcm/tenet/runtime/orchestrate"
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
		Plan: fleet.Plan(r.facts, r.prepareLook),
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
		err = r.give(j, m.Name, beforeTurn)
	}
	if err != nil || j == nil {
		return nil, err
	}
	j.Execution, j.Origin, j.Rows, j.Plan = "", r.origin, nil, "" // nothing of the execution is there yet
	j.Parallel, j.LockTimeout, j.Once = r.globals.Parallel, r.lockTimeout, r.once
	j.Become = r.become(m.Name, becomes(j.Run))
	return j, nil
}

// compileHook evaluates the site for a host that a hook runs on, and takes the hook's state of it.
func (s *client) compileHook(ctx context.Context, declared *site, h fleet.HookRun, host string, facts func(name string) (any, error)) (*orchestrate.Compilation, error) {
	c, own := *declared, *declared.Site
	c.Site = &own
	own.Prune = false
	own.Selection = graph.Selection{Targets: []string{h.State}}
	own.Target.Hook = &lang.HookRun{State: h.State, Params: h.Params, Batch: h.Batch, Failed: h.Failed}
	compiled, diags, wrong := s.compileHost(ctx, &c, host, facts)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	if wrong != nil {
		return nil, newStatus(exitSite, fmt.Errorf("the site has no %s for %s", h.State, host), "declare it there again, as a state that is lazy, or see to it by hand and forget the execution: tenet clean ID")
	}
	return compiled, nil
}

// prepareHook makes what a hook does on a host.
func (r *hookRunner) prepareHook(ctx context.Context, h fleet.HookRun, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
	facts, err := r.factsFrom(known)
	if err != nil {
		return nil, err
	}
	compiled, err := r.compileHook(ctx, r.declared, h, m.Name, facts)
	if diags, ok := errors.AsType[diag.List](err); ok {
		r.find(m.Name, diags)
	}
	if err != nil {
		return nil, err
	}
	j := compiled.Job()
	if err := r.give(j, m.Name, hookTurn); err != nil {
		return nil, err
	}
	j.Execution, j.Origin = h.Execution, r.origin
	j.Parallel, j.LockTimeout, j.Once = r.globals.Parallel, r.lockTimeout, r.once
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
	release, err := v.lockHooks()
	if err != nil {
		return err
	}
	defer release()
	r, err := v.newHookRunner(ctx, cmp.Or(v.hookSite, v.site))
	if err != nil {
		return err
	}
	if err := r.settleSince(ctx); err != nil {
		return err
	}
	var names []string
	for _, h := range hooksOf(rollout) {
		names = append(names, h.Hosts...)
	}
	hooks, err := r.hooks(ctx, names, memberNames(v.members))
	if err != nil {
		return err
	}
	if err := r.check(ctx, rollout, hooks.Members); err != nil {
		return err
	}
	return call(hooks)
}

// runsHooks reports whether hooks of a rollout run around batches of the hosts.
func (v *fleetRun) runsHooks(rollout *lang.Rollout) bool {
	if !rollout.HasHooks() {
		return false
	}
	batches, err := fleet.Batches(rollout, 1, memberNames(v.members))
	return err != nil || slices.ContainsFunc(batches, func(b fleet.Batch) bool { return len(b.Before)+len(b.After) > 0 })
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

// Hook shows a hook, and keeps what went wrong.
func (k *eventKeeper) Hook(h fleet.RecordHook, failures []string) {
	if h.Status == fleet.HookFailed || h.Status == fleet.HookDue || len(failures) > 0 {
		k.v.brokenHooks = append(k.v.brokenHooks, brokenHook{h, failures})
	}
	if l, ok := k.display.(fleet.HookListener); ok {
		l.Hook(h, failures)
	}
}

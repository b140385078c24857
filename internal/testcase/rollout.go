package testcase

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// seed is that of shuffled rollouts: a case has the same order each time.
const seed = 1

// apply applies the site to the hosts, as its rollout says. It reports whether it was begun.
func (f *fleetRun) apply(ctx context.Context) bool {
	rollout := lang.Rollout{}
	if f.rollout != nil {
		rollout = *f.rollout
	}
	rollout.Pause = 0 // time passes at once
	var names []string
	for _, h := range f.chosen() {
		names = append(names, h.name)
	}
	batches, err := fleet.BatchesInOrder(&rollout, seed, names, f.outputs.needs)
	if err != nil {
		f.diagnostics.Add(diag.Diagnostic{Summary: err.Error(), Hint: diag.HintOf(err), Range: rollout.Range})
		return false
	}
	f.turns.batches = batches
	if !f.knowsHookHosts(batches) {
		return false
	}
	o := fleet.Options{Forks: 1, Patience: fleet.NotAgain, Rollout: &rollout, Seed: seed, Needs: f.outputs.needs, Listener: &hookFailures{f: f}}
	if rollout.HasHooks() {
		if err := f.withHooks(ctx, &o, names); err != nil {
			f.failRun("apply", err)
			return false
		}
		defer o.Execution.Close()
	}
	outcomes, err := fleet.Run(ctx, f.members(f.chosen()), fleet.Apply(nil, f.prepare), o)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		f.failRun("apply", err)
		return false
	}
	return f.take(ctx, outcomes)
}

// knowsHookHosts holds the case to have machines for the hosts on which hooks run.
func (f *fleetRun) knowsHookHosts(batches []fleet.Batch) bool {
	for _, b := range batches {
		for _, hook := range slices.Concat(b.Before, b.After) {
			for _, name := range hook.Hosts {
				if f.host(name) == nil && !slices.Contains(b.Machines, name) {
					f.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("a hook of the rollout runs on %s, of which the case has no machine", name), Range: f.c.Range,
						Hint: fmt.Sprintf("write machine %q { … } into the case", name), Related: []diag.Related{{Message: "the hook", Range: hook.Range}}})
					return false
				}
			}
		}
	}
	return true
}

// members are the machines of hosts.
func (f *fleetRun) members(hosts []*hostRun) (list []*fleet.Member) {
	for _, h := range hosts {
		list = append(list, &fleet.Member{Name: h.name, InProcess: true, Machine: &turnTaker{h.runner(), f, h}})
	}
	return list
}

// withHooks makes ready for the hooks of a rollout around these hosts, with the records of earlier steps, and
// does what those have left due.
func (f *fleetRun) withHooks(ctx context.Context, o *fleet.Options, names []string) error {
	all := &fleet.Executions{Dir: filepath.Join(f.records.dir, "executions")}
	failed, err := all.FailedHosts(names, func(*fleet.Record) bool { return true })
	if err != nil {
		return err
	}
	o.Hooks = &fleet.Hooks{
		Members: map[string]*fleet.Member{}, Failed: failed, Plan: fleet.Plan(nil, f.look),
		Task: func(run fleet.HookRun) fleet.Task {
			return fleet.Apply(nil, func(ctx context.Context, m *fleet.Member, _ *machine.Facts) (*machine.Job, error) {
				return f.host(m.Name).hookJob(ctx, run)
			})
		},
	}
	for _, m := range f.members(f.hosts) {
		o.Hooks.Members[m.Name] = m
	}
	due, err := all.Due()
	if err != nil {
		return err
	}
	for _, x := range due {
		open, err := all.Open(x.ID)
		if err == nil {
			err = fleet.Settle(ctx, open, *o)
		}
		if err != nil {
			return fmt.Errorf("what an earlier step has left is due still: %w", err)
		}
	}
	r := fleet.Record{Command: "test"}
	for _, name := range names {
		r.Hosts = append(r.Hosts, fleet.RecordHost{Name: name})
	}
	o.Execution, err = all.New(r)
	return err
}

// look makes the job by which it is found out whether a batch has something to do.
func (f *fleetRun) look(_ context.Context, m *fleet.Member, _ *machine.Facts) (*machine.Job, error) {
	return f.host(m.Name).jobFor(fleet.BeforeTurn)
}

// jobFor makes the job of a host, with the outputs of others that it reads at this moment.
func (h *hostRun) jobFor(now fleet.Reading) (*machine.Job, error) {
	run, err := h.read(h.compilation.run, now)
	if err != nil {
		return nil, err
	}
	j := h.job(h.compilation)
	j.Run = run
	return j, nil
}

// prepare makes the job of a host whose turn it is. Where hooks have run on it, its plan is made anew: it is
// not as it was when all were planned.
func (f *fleetRun) prepare(ctx context.Context, m *fleet.Member, _ *machine.Facts) (*machine.Job, error) {
	h := f.host(m.Name)
	if len(h.hooks) > 0 {
		planned, ok := h.plan(ctx)
		if !ok {
			return nil, h.diagnostics
		}
		h.planned = planned
	}
	return h.jobFor(fleet.ForTurn)
}

// hookJob makes the job of a host on which a hook runs.
func (h *hostRun) hookJob(ctx context.Context, run fleet.HookRun) (*machine.Job, error) {
	t := h.compilation.target
	t.Hook = &lang.HookRun{State: run.State, Params: run.Params, Batch: run.Batch, Failed: run.Failed}
	result, list := h.compileFor(ctx, t)
	h.placeVars(list)
	if list.HasErrors() {
		return nil, list
	}
	selected, list := result.Select(graph.Selection{Targets: []string{run.State}})
	if list.HasErrors() {
		return nil, list
	}
	reader, err := h.read(impatient(selected, h.o.Registry), fleet.BeforeTurn)
	if err != nil {
		return nil, err
	}
	j := h.job(&compilation{run: reader, sources: result.Sources})
	j.Execution, h.hook = run.Execution, run.State
	return j, nil
}

// take takes over how it ended with the hosts. It reports whether that is known.
func (f *fleetRun) take(ctx context.Context, outcomes []fleet.Outcome) bool {
	for _, o := range outcomes {
		h := f.host(o.Machine)
		switch {
		case o.Status == fleet.Skipped:
			h.why = o.Err
		case o.Err != nil:
			h.failRun("apply", o.Err)
			return false
		case h.applied == nil: // its batch had nothing to do, and was left alone
			var ok bool
			if h.applied, ok = h.caseRun.apply(ctx); !ok {
				return false
			}
		}
	}
	return true
}

// turnTaker is a machine that notes its turns.
type turnTaker struct {
	*runner.Runner
	fleet *fleetRun
	host  *hostRun
}

// Apply applies, and notes what happens.
func (t *turnTaker) Apply(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	s := newStory()
	if j.Execution == "" {
		t.host.applied = s
		t.fleet.turns.addBatch(t.host.name)
	} else {
		t.host.hooks = append(t.host.hooks, s)
		t.fleet.turns.add(j.Execution, t.host.name, t.host.hook)
	}
	tell := o.Event
	o.Event = func(ev states.Event) {
		s.add(ev)
		if tell != nil {
			tell(ev)
		}
	}
	result, err := t.Runner.Apply(ctx, j, o)
	if err == nil && j.Execution == "" {
		t.host.hand(false, result.Outputs)
	}
	return result, err
}

// hookFailures reports hooks that fail for another reason than one of their parts.
type hookFailures struct {
	fleet.Silence
	f *fleetRun
}

// Hook is told of a hook that begins, or has ended.
func (l *hookFailures) Hook(h fleet.RecordHook, failures []string) {
	if h.Status != fleet.HookFailed {
		return
	}
	for _, name := range h.Hosts {
		if list := l.f.host(name).hooks; len(list) > 0 && list[len(list)-1].hasFailed() {
			return // checkTurn tells
		}
	}
	l.f.fail(Failure{Message: h.Name() + " failed", Got: strings.Join(failures, "\n")})
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// hookCheck finds out before anything begins whether the site says what hooks do on their hosts. Where it does
// not, before_each would fail, and what is behind the batch would be due.
type hookCheck struct {
	*hookRunner
	byHost map[string][]fleet.RecordHook

	mu    sync.Mutex
	wrong map[string]error // of hosts
}

// check makes what each hook of the rollout is on each of its hosts, and does nothing of it. A host that does not
// answer is left to the hook: it is tried again then.
func (r *hookRunner) check(ctx context.Context, rollout *lang.Rollout, members map[string]*fleet.Member) error {
	c := &hookCheck{hookRunner: r, byHost: hooksByHost(rollout, memberNames(r.members)), wrong: map[string]error{}}
	var asked []*fleet.Member
	for _, name := range slices.Sorted(maps.Keys(c.byHost)) {
		if m := members[name]; m != nil {
			asked = append(asked, m)
		}
	}
	r.findings = findings{}
	ctx, cancelled, done := r.interruptible(ctx)
	defer done()
	_, err := fleet.Run(ctx, asked, fleet.Task{Name: "evaluate", Ask: c.ask, Repeatable: true},
		fleet.Options{Forks: r.globals.Forks, Patience: fleet.NotAgain, Cancelled: cancelled})
	switch {
	case err != nil:
		return failure(err)
	case r.wasInterrupted():
		return &status{code: exitInterrupted, err: errInterrupted}
	case len(c.wrong) == 0:
		return nil
	}
	for name, err := range c.wrong {
		if diags, ok := errors.AsType[diag.List](err); ok {
			r.find(name, diags)
		}
	}
	if err := r.showFindings(); err != nil {
		return err
	}
	return c.refusal()
}

// hooksByHost gives the hooks that may run on each host, around batches of those that are named: one of those that differ only in the batch.
func hooksByHost(rollout *lang.Rollout, names []string) map[string][]fleet.RecordHook {
	inOrder := *rollout
	inOrder.Order = "" // each stage has the same hosts in any order
	batches, err := fleet.Batches(&inOrder, 0, names)
	if err != nil {
		return nil // the rollout itself tells
	}
	byHost := map[string][]fleet.RecordHook{}
	known := map[string]bool{}
	for _, b := range batches {
		for _, h := range b.RecordHooks(fleet.HookPlanned) {
			for _, host := range h.Hosts {
				if key := ui.HookWhat(fleet.RecordHook{State: h.State, Params: h.Params, Hosts: []string{host}}); !known[key] {
					known[key], byHost[host] = true, append(byHost[host], h)
				}
			}
		}
	}
	return byHost
}

// ask evaluates for one host. It is reached only if what it says of itself matters: an apply that finds nothing to do
// begins nothing on the hosts of hooks.
func (c *hookCheck) ask(ctx context.Context, call *fleet.Call) (*machine.Result, error) {
	needsFacts := false
	var wrong error
	known, err := c.factsFrom(&machine.Facts{})
	if err != nil {
		return nil, err
	}
	evaluate := func() error {
		wrong = c.compileAll(ctx, call.Name, func(name string) (any, error) {
			v, err := known(name)
			needsFacts = needsFacts || err != nil
			return v, err
		})
		return nil
	}
	err = call.Evaluate(ctx, evaluate)
	if err == nil && needsFacts {
		var told *machine.Facts
		if told, err = call.Facts(ctx, c.declared.FactNames()); err == nil {
			known, err = c.factsFrom(told)
		}
		if err == nil {
			err = call.Evaluate(ctx, evaluate)
		}
	}
	if err == nil && wrong != nil && ctx.Err() == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrong[call.Name] = wrong
	}
	return nil, err
}

// compileAll makes all hooks of a host. The error is the first one.
func (c *hookCheck) compileAll(ctx context.Context, host string, facts func(name string) (any, error)) error {
	for _, h := range c.byHost[host] {
		_, err := c.compileHook(ctx, c.declared, fleet.HookRun{State: h.State, Params: h.Params, Batch: h.Batch}, host, facts)
		if err != nil {
			return err
		}
	}
	return nil
}

// refusal says on which hosts hooks cannot run, and what may be done about it.
func (c *hookCheck) refusal() error {
	names := slices.Sorted(maps.Keys(c.wrong))
	why := ""
	if missing, ok := c.wrong[names[0]].(*status); ok { // of others, diagnostics were shown
		why = ": " + missing.Error()
	}
	hint := "put that right, and apply again"
	if c.isSavedPlan {
		hint = "give apply the --var, --var-file and --data that the plan was made with, and with -i the site that has these states; or plan again"
	}
	return newStatus(exitSite, fmt.Errorf("the hooks of the rollout cannot run on %s, and nothing was done%s", strings.Join(names, ", "), why), hint)
}

func memberNames(members []*fleet.Member) []string {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Name)
	}
	return names
}

package testcase

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
)

// fleetRun is a case about hosts on its way.
type fleetRun struct {
	*caseRun
	hosts   []*hostRun // in the order of the site
	rollout *lang.Rollout
	turns   turns
}

// hostRun is one of the hosts. What is wrong with it goes to the case by gather.
type hostRun struct {
	caseRun
	name       string
	evaluation *evaluation
	unselected diag.List // why nothing of it is selected; nil: something is
	planned    *story    // before the rollout, and, where hooks have run on it, at its turn
	applied    *story    // in its turn; nil: it had none
	hooks      []*story  // what each run of a hook did there
	hook       string    // the state of the last one
	why        error     // why it had none
}

// runHosts carries a case out that is about hosts: what one machine goes through, each of them does, but for
// the apply, which is that of all together.
func (r *caseRun) runHosts(ctx context.Context) {
	f := r.newFleet()
	defer f.gather()
	if !f.compile(ctx) {
		return
	}
	for _, h := range f.hosts {
		if h.unselected == nil {
			h.checkRun(ctx)
			continue
		}
		for _, b := range h.c.block.blocks {
			if b.word != "expect_apply" { // see checkTurn
				h.fail(Failure{Message: "nothing of it is selected", Got: h.unselected.Error(), Range: b.at})
			}
		}
	}
	if r.c.lastStage() == untilRun {
		return
	}
	for _, h := range f.chosen() {
		var ok bool
		if h.planned, ok = h.plan(ctx); !ok {
			return
		}
		h.checkPlan(h.planned)
	}
	if r.c.lastStage() == untilPlan || !f.apply(ctx) {
		return
	}
	for _, h := range f.hosts {
		h.checkTurn()
	}
	f.checkTurns()
	for _, h := range f.hosts {
		if h.applied != nil {
			h.converge(ctx, h.applied)
		}
	}
}

func (r *caseRun) newFleet() *fleetRun {
	f := &fleetRun{caseRun: r}
	if r.machines == nil {
		r.machines = map[string]*host.Memory{}
	}
	for i, m := range r.c.hosts {
		one := *r.c
		one.block, one.machine, one.hosts = hostBlock(r.c.block, m), m.machineBlock, nil
		f.hosts = append(f.hosts, &hostRun{name: m.name, caseRun: caseRun{
			c: &one, o: r.o, machine: r.machines[m.name], outputs: r.outputs, records: &records{filepath.Join(r.records.dir, strconv.Itoa(i))}, peers: f.factsOfHost, peerStory: f.lastStory}})
	}
	return f
}

// chosen lists the hosts of which something is selected.
func (f *fleetRun) chosen() []*hostRun {
	return slices.DeleteFunc(slices.Clone(f.hosts), func(h *hostRun) bool { return h.unselected != nil })
}

func (f *fleetRun) host(name string) *hostRun {
	i := slices.IndexFunc(f.hosts, func(h *hostRun) bool { return h.name == name })
	if i < 0 {
		return nil
	}
	return f.hosts[i]
}

// lastStory gives what a machine was told last, and whether that was a plan or an apply; nil: nothing, or there is no machine.
func (f *fleetRun) lastStory(name string) (s *story, what string) {
	switch h := f.host(name); {
	case h == nil:
		return nil, ""
	case h.applied != nil:
		return h.applied, "apply"
	default:
		return h.planned, "plan"
	}
}

// factsOfHost gives the facts of a machine; nil: the host has none.
func (f *fleetRun) factsOfHost(name string) *facts.Facts {
	if h := f.host(name); h != nil {
		return h.caseRun.facts
	}
	return nil
}

// compile makes the machines and the runs, and the rollout. It reports whether they are there.
func (f *fleetRun) compile(ctx context.Context) bool {
	var found diag.List
	for _, h := range f.hosts {
		if !h.settle(ctx) { // the facts of all may be read by each
			return false
		}
	}
	for _, h := range f.hosts {
		var ok bool
		if h.evaluation, ok = h.evaluate(ctx); !ok {
			return false
		}
		f.machines[h.name] = h.machine
		found = union(found, h.evaluation.list)
	}
	found = union(found, f.order(ctx)).Sorted()
	if want := f.c.expectsError(); want != nil {
		f.wantRefusal(found, want)
		return false
	}
	f.diagnostics = append(f.diagnostics, found...)
	if found.HasErrors() {
		return false
	}
	var unselected diag.List
	for _, h := range f.hosts {
		h.unselected = h.choose(h.evaluation)
		unselected = union(unselected, h.unselected)
	}
	if len(f.chosen()) == 0 {
		f.diagnostics = append(f.diagnostics, unselected...)
		return false
	}
	f.checkWarnings()
	if err := f.orderByOutputs(); err != nil {
		f.diagnostics.Add(diag.Diagnostic{Summary: err.Error(), Hint: diag.HintOf(err), Range: f.c.Range})
		return false
	}
	return true
}

// order brings the hosts into the order of the site, and finds its rollout.
func (f *fleetRun) order(ctx context.Context) diag.List {
	t := f.hosts[0].evaluation.target
	t.Host, t.Facts = "", nil
	all, _, list := f.o.Site.Hosts(ctx, t)
	if list.HasErrors() {
		f.placeVars(list)
		return list
	}
	place := func(h *hostRun) int {
		return slices.IndexFunc(all, func(one lang.Host) bool { return one.Name == h.name })
	}
	slices.SortFunc(f.hosts, func(a, b *hostRun) int { return place(a) - place(b) })
	var mine []lang.Host
	for _, h := range f.hosts {
		if i := place(h); i >= 0 {
			mine = append(mine, all[i])
		}
	}
	f.rollout, list = f.o.Site.Rollout(ctx, t, mine)
	f.placeVars(list)
	return list
}

// gather takes over what was found of each host, and names it.
func (f *fleetRun) gather() {
	for _, h := range f.hosts {
		for _, failure := range h.failures {
			failure.Message = h.name + ": " + failure.Message
			f.failures = append(f.failures, failure)
		}
		f.diagnostics = union(f.diagnostics, h.diagnostics)
		f.notes = append(f.notes, h.notes...)
		f.updatedFiles = append(f.updatedFiles, h.updatedFiles...)
	}
}

// union adds what is not in the list yet: hosts have many mistakes in common.
func union(list, more diag.List) diag.List {
	for _, d := range more {
		same := func(o diag.Diagnostic) bool {
			return o.Severity == d.Severity && o.Range == d.Range && o.Error() == d.Error()
		}
		if !slices.ContainsFunc(list, same) {
			list = append(list, d)
		}
	}
	return list
}

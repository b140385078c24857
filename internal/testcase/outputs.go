package testcase

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// outputBook is what hosts give one another in a case.
type outputBook struct {
	fleet.Exchange
	needs map[string][]string // of each host, those that have their turn before it
	// recorded is what was given in earlier steps, by host and name.
	recorded map[string]map[string]states.Output
}

// after is the book of the next step.
func (k *outputBook) after() *outputBook {
	if k == nil {
		return &outputBook{recorded: map[string]map[string]states.Output{}}
	}
	return &outputBook{recorded: k.recorded}
}

// given gives what a host was known to give before the case, and gave in earlier steps.
func (r *caseRun) given(host string) map[string]states.Output {
	out := map[string]states.Output{}
	of, _ := the[map[string]any](r.c.block, "hosts")[host].(map[string]any)
	values, _ := of["outputs"].(map[string]any)
	for name, v := range values {
		out[name] = states.Output{Value: v, IsKnown: true}
	}
	if r.o.Site.Name() == "" { // nothing is recorded for it
		return out
	}
	return merged(out, r.outputs.recorded[host])
}

// read gives a run the outputs of other hosts that it names, as they are known at this moment.
func (r *caseRun) read(run *states.StateRun, now fleet.Reading) (*states.StateRun, error) {
	list := run.HostOutputs()
	if len(list) == 0 {
		return run, nil
	}
	reader := *run
	reader.Given = nil
	for _, n := range list {
		out := r.outputs.Output(n, now)
		if out == nil {
			known, was := r.given(n.Host)[n.Name]
			if !was {
				return nil, r.missingOutput(n)
			}
			out = &states.HostOutput{Host: n.Host, Name: n.Name, Output: known}
		}
		reader.Given = append(reader.Given, *out)
	}
	return &reader, nil
}

// missingOutput says why an output of another host is not there.
func (r *caseRun) missingOutput(n *states.Expr) error {
	text := fmt.Sprintf("%s reads the output %s of %s, which has not given it", r.compilation.target.Host, n.Name, n.Host)
	say := fmt.Sprintf("say what it has given: hosts = { %s = { outputs = { %s = … } } }", n.Host, n.Name)
	if r.peers == nil || r.peers(n.Host) == nil {
		return &diag.HintError{Message: text, Hint: fmt.Sprintf("give %s a machine: machine %q { … }; or %s", n.Host, n.Host, say)}
	}
	s, what := r.peerStory(n.Host)
	if s == nil {
		return &diag.HintError{Message: text + ": nothing was done there yet", Hint: "select what gives it, or " + say}
	}
	for _, address := range s.order {
		if ev := s.ends[address]; failedOutcome(ev) {
			text += fmt.Sprintf(": in its %s, %s is %s", what, address, ev.Outcome)
			if ev.Error != nil {
				text += ": " + ev.Error.Message
			}
			return &diag.HintError{Message: r.mask(text), Hint: fmt.Sprintf("give the machine of %s what that needs, or %s", n.Host, say)}
		}
	}
	return &diag.HintError{Message: fmt.Sprintf("%s: its %s does not know it", text, what), Hint: "look at the part that it comes of, which was not carried out, or not for certain; or " + say}
}

// hand hands on what the machine gives at the end of a plan or an apply.
func (r *caseRun) hand(planning bool, outputs map[string]states.Output) {
	host := r.compilation.target.Host
	if planning {
		r.outputs.TakePlanned(host, outputs)
		return
	}
	known := r.outputs.TakeGiven(host, outputs)
	r.outputs.recorded[host] = merged(r.outputs.recorded[host], known)
}

// orderByOutputs brings the hosts into an order in which each comes after those whose outputs it reads, and
// their turns likewise.
func (f *fleetRun) orderByOutputs() error {
	for _, h := range f.chosen() {
		f.outputs.Survey(h.name, h.compilation.run)
	}
	isRead := false
	f.outputs.needs, isRead = f.outputs.Needs(func(name string) bool { h := f.host(name); return h != nil && h.unselected == nil })
	if !isRead {
		return nil
	}
	r := lang.Rollout{}
	if f.rollout != nil {
		r = *f.rollout
		r.Order = ""
	}
	var names, order []string
	for _, h := range f.hosts {
		names = append(names, h.name)
	}
	batches, err := fleet.BatchesInOrder(&r, seed, names, f.outputs.needs)
	if err != nil {
		return err
	}
	for _, b := range batches {
		order = append(order, b.Machines...)
	}
	slices.SortStableFunc(f.hosts, func(a, b *hostRun) int { return slices.Index(order, a.name) - slices.Index(order, b.name) })
	return nil
}

// unknownHosts reports hosts of which the case says something, and which the site does not declare.
func (r *caseRun) unknownHosts(names []string) (list diag.List) {
	for _, name := range slices.Sorted(maps.Keys(the[map[string]any](r.c.block, "hosts"))) {
		if !slices.Contains(names, name) {
			list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the site declares no host %q", name), Range: r.c.block.fields["hosts"].at, Hint: nearest(name, names)})
		}
	}
	return list
}

// plainOutputs checks what a case says a host has given: any values.
func plainOutputs(name string, of map[string]any) error {
	values, given := of["outputs"]
	if !given {
		return nil
	}
	list, ok := values.(map[string]any)
	if !ok {
		return fmt.Errorf("the outputs of %s are no object", name)
	}
	for _, v := range list {
		if _, err := expr.Value(v); err != nil {
			return fmt.Errorf("the outputs of %s: %w", name, err)
		}
	}
	return nil
}

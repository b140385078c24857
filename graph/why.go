package graph

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Explanation tells why something is in a run, and when it runs. Lists are in
// the order of the run, and empty where there is nothing.
type Explanation struct {
	Address  string     `json:"address"`
	Declared diag.Range `json:"declared,omitzero"`
	// Runs says in words what makes it run.
	Runs string `json:"runs"`
	// Invocations are the addresses that the explanation is about: several when
	// a handler has several waves, or a state several runs.
	Invocations []string              `json:"invocations"`
	Requires    []string              `json:"requires,omitempty"` // what must settle first
	Follows     []string              `json:"follows,omitempty"`  // what it names to come after
	After       []string              `json:"after,omitempty"`    // what must have ended first
	RequiredBy  []string              `json:"required_by,omitempty"`
	NotifiedBy  []states.Notification `json:"notified_by,omitempty"`
	Notifies    []string              `json:"notifies,omitempty"`
	Blocks      []string              `json:"blocks,omitempty"` // those that hold it
	// Reads are the outputs of other hosts that it names, whose turns come before: "output.NAME of HOST".
	Reads []string `json:"reads,omitempty"`
	// Retain says of its parts, by their addresses, what stays once they are declared no longer.
	Retain map[string]states.Retention `json:"retain,omitempty"`
}

// Why explains an address: of an invocation, a handler, a block, or a part,
// with or without its wave. The error says that nothing has the address, with
// the nearest that there is.
func Why(r *Result, address string) (*Explanation, error) {
	x := &selector{plan: r.plan}
	x.index()
	address = StateAddresses([]string{address})[0]
	e := &Explanation{Address: address, Declared: r.Sources[address]}
	found := x.find(address)
	for d := range x.lazyNamed(address) {
		e.Invocations = append(e.Invocations, d.Address)
		e.Runs = "nothing notifies or requires it now; it runs when it is a target, or owed from an earlier run"
		e.Declared = d.Range
	}
	if len(found) == 0 && len(e.Invocations) == 0 && !e.explainParams(r.plan) {
		return nil, x.diags[0]
	}
	if len(found) > 0 {
		e.explain(r, found)
		e.explainReading(r.Run)
		e.explainRetention(r.Run)
	}
	return e, nil
}

// explainReading adds what its invocations read of other hosts.
func (e *Explanation) explainReading(run *states.StateRun) {
	of := &states.StateRun{}
	for _, inv := range run.Invocations {
		if slices.Contains(e.Invocations, inv.Address) {
			of.Invocations = append(of.Invocations, inv)
		}
	}
	for _, n := range of.HostOutputs() {
		e.Reads = append(e.Reads, fmt.Sprintf("output.%s of %s", n.Name, n.Host))
	}
}

// explainParams says of a state that it has params which only a run can give. It reports whether it is one.
func (e *Explanation) explainParams(p *planner) bool {
	i := slices.IndexFunc(p.decls, func(d *decl) bool { return d.isState() && d.NeedsRun && !d.isOmitted && d.Address == e.Address })
	if i < 0 {
		return false
	}
	e.Declared, e.Runs = p.decls[i].Range, "by runs alone, which give it its params: nothing runs it"
	return true
}

// explainRetention adds what its parts retain: all of them, or that alone which the address names.
func (e *Explanation) explainRetention(run *states.StateRun) {
	e.Retain = map[string]states.Retention{}
	for i := range run.Invocations {
		if !slices.Contains(e.Invocations, run.Invocations[i].Address) {
			continue
		}
		for _, p := range run.Invocations[i].Parts {
			address := states.WithoutWave(p.Address)
			if p.Options.Retain != 0 && (e.Address == address || e.Address == states.BaseAddress(address) || !strings.HasPrefix(e.Address, run.Invocations[i].State+".")) {
				e.Retain[address] = p.Options.Retain
			}
		}
	}
}

func (e *Explanation) explain(r *Result, found []int) {
	p := r.plan
	about := make(map[int]bool)
	for _, i := range found {
		about[i] = true
	}
	if e.Declared.IsZero() {
		e.Declared = p.finals[found[0]].d.Range
	}
	var requires, after, requiredBy, notifies, blocks []int
	var followed []follow
	reasons := make(map[string]bool)
	for i, f := range p.finals {
		for _, to := range f.requires {
			if about[to] {
				requiredBy = append(requiredBy, i)
			}
		}
		for _, n := range f.causes {
			if about[n.from] {
				notifies = append(notifies, i)
			}
		}
		if !about[i] {
			continue
		}
		requires, after = append(requires, f.requires...), append(after, f.predecessors...)
		followed = append(followed, p.effectiveFollows(f.d, f.d.requires, f.d.follows)...)
		for _, n := range f.causes {
			e.NotifiedBy = append(e.NotifiedBy, p.notification(n))
		}
		for _, b := range f.d.blocks {
			blocks = append(blocks, p.finalOf[b.base])
		}
		reasons[p.reason(f)] = true
	}
	e.Invocations = p.addresses(found)
	for _, f := range uniqueFollows(followed) {
		if f.to.confirms == nil {
			e.Follows = append(e.Follows, f.to.Address)
		}
	}
	e.Requires, e.After = p.addresses(requires), p.addresses(after)
	e.RequiredBy, e.Notifies, e.Blocks = p.addresses(requiredBy), p.addresses(notifies), p.addresses(blocks)
	e.Runs = strings.Join(slices.Sorted(maps.Keys(reasons)), "; ")
}

// reason says what makes a final run.
func (p *planner) reason(f *final) string {
	pin := p.nodes[f.nodes[0]].pin
	switch {
	case f.d.confirms != nil:
		return "when something in " + f.d.confirms.Address + " has changed"
	case f.handler:
		return "when one of those that notify it asks for it, or when it is owed from an earlier run"
	case pin != nil && pin.finishes || f.d.finishes != nil:
		return "always, when its block ends"
	case pin != nil || f.d.rescues != nil:
		return "when a member of its block failed"
	case f.d.isBlock():
		return "always: its members run"
	case f.d.lazy && p.demanded[f.d.Address]:
		return "always: it is a target"
	case f.d.lazy:
		return "always: it is required"
	}
	return "always"
}

// Text writes the explanation for people.
func (e *Explanation) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Address)
	line := func(title string, list ...string) {
		for i, s := range list {
			if i > 0 {
				title = ""
			}
			fmt.Fprintf(&b, "  %-13s%s\n", title, s)
		}
	}
	if !e.Declared.IsZero() {
		line("declared", e.Declared.String())
	}
	if len(e.Invocations) != 1 || e.Invocations[0] != e.Address {
		line("invocations", e.Invocations...)
	}
	line("runs", e.Runs)
	line("requires", e.Requires...)
	line("follows", e.Follows...)
	line("after", slices.DeleteFunc(slices.Clone(e.After), func(a string) bool { return slices.Contains(e.Follows, a) })...)
	line("required by", e.RequiredBy...)
	var by []string
	for _, n := range e.NotifiedBy {
		by = append(by, n.Address+" on "+n.On)
	}
	line("notified by", by...)
	line("notifies", e.Notifies...)
	line("in block", e.Blocks...)
	line("reads", e.Reads...)
	var retained []string
	for _, address := range slices.Sorted(maps.Keys(e.Retain)) {
		retained = append(retained, retentionText(address, e.Retain[address]))
	}
	line("retains", slices.Compact(retained)...)
	_, err := io.WriteString(w, b.String())
	return err
}

// retentionText tells what stays of a part, in words.
func retentionText(address string, r states.Retention) string {
	if r == states.RetainAll {
		return "what " + address + " has created, once it is declared no longer: until tenet forget lets go of it"
	}
	return fmt.Sprintf("of all that %s has created, the %d that were wanted last", states.BaseAddress(address), r)
}

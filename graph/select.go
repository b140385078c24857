package graph

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Selection says which part of a run is wanted. The zero value is all of it.
type Selection struct {
	Targets []string // addresses of invocations, blocks, states or parts
	Tags    []string
	Exclude []string // addresses
	// Elsewhere: other machines may have what this one has not. It is left out here, and an error only if
	// nothing is left of the targets and tags.
	Elsewhere bool
}

// Select gives the run without what is not selected. Targets and tags take
// what they name, all that it requires, and the handlers that these may
// notify; a lazy state that is a target is invoked. Exclude drops what it names
// and all that requires it, and warns of the latter. Handlers that are left
// out stay in StateRun.Handlers, with their notifiers. Waves keep their
// numbers. An address or a tag that nothing has is an error.
func (r *Result) Select(s Selection) (*states.StateRun, diag.List) {
	if len(s.Targets)+len(s.Tags)+len(s.Exclude) == 0 {
		return r.Run, nil
	}
	s.Targets, s.Exclude = StateAddresses(s.Targets), StateAddresses(s.Exclude)
	if s.Elsewhere {
		known, unknown := r.known(s)
		if len(s.Targets)+len(s.Tags) > 0 && len(known.Targets)+len(known.Tags) == 0 {
			return nil, unknown
		}
		s = known
	}
	x := &selector{plan: r.plan, keep: make([]bool, len(r.plan.finals)), named: make(map[int]bool),
		forced: make(map[int]bool), selection: s, dropped: make(map[*decl]bool)}
	x.index()
	idle := x.take(s)
	if x.diags.HasErrors() {
		return nil, x.diags
	}
	if len(idle) > 0 {
		demanded := maps.Clone(r.demanded)
		if demanded == nil {
			demanded = make(map[string]bool)
		}
		for _, address := range idle {
			demanded[address] = true
		}
		with, diags := compile(r.declarations, r.options, demanded)
		if with == nil {
			return nil, diags
		}
		return with.Select(s)
	}
	x.drop(s.Exclude)
	if x.diags.HasErrors() {
		return nil, x.diags
	}
	return x.run(r.Run), x.diags
}

// handlerWord is the word handler where an address names a state by it.
var handlerWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:component\.[\w-]+(?:\["(?:[^"\\]|\\.)*"\])?\.)*)handler\.`)
})

// StateAddresses gives addresses as records and runs have them: that of handler.NAME is state.NAME.
func StateAddresses(addresses []string) []string {
	out := slices.Clone(addresses)
	for i, address := range out {
		out[i] = handlerWord().ReplaceAllString(address, "${1}state.")
	}
	return out
}

// selector works out one selection, over the finals of a plan.
type selector struct {
	plan      *planner
	names     map[string][]int // of all that has an address: the finals that it means
	idle      map[string]*decl // addresses of lazy states without an invocation
	named     map[int]bool     // targets
	keep      []bool
	causes    [][]notificationCause // of each final, by whom that is kept
	forced    map[int]bool          // waves that are targets
	selection Selection
	excludes  []string       // addresses
	dropped   map[*decl]bool // by them
	users     [][]int        // of each final: the finals that declare to require it
	diags     diag.List
}

// index collects the addresses that may be selected.
func (x *selector) index() {
	p := x.plan
	x.names = make(map[string][]int)
	x.idle = make(map[string]*decl)
	name := func(address string, i int) {
		if list := x.names[address]; len(list) == 0 || list[len(list)-1] != i {
			x.names[address] = append(list, i)
		}
	}
	for i, f := range p.finals {
		for _, a := range set([]string{f.address, f.d.Address, f.d.Base}) {
			name(a, i)
			for part := range f.d.parts() {
				if !f.d.TopLevel {
					name(a+"."+part.Address, i)
				}
			}
		}
		if f.d.Cluster != "" {
			name("cluster."+f.d.Cluster, i)
		}
		if f.d.state != nil {
			for _, a := range set([]string{f.d.state.Address, f.d.state.Base}) {
				name(a, i)
			}
		}
	}
	for _, d := range p.decls {
		if d.isState() && d.lazy && !d.isOmitted && !d.NeedsRun && len(d.waves)+len(d.pinNodes)+len(d.runs) == 0 {
			x.idle[d.Address] = d
			x.idle[d.Base] = d
		}
	}
}

// take keeps what targets and tags name, with all that belongs to it. It
// returns the targets among the lazy states that have no invocation yet.
func (x *selector) take(s Selection) (idle []string) {
	if len(s.Targets)+len(s.Tags) == 0 {
		for i := range x.keep {
			x.keep[i] = true
		}
		return nil
	}
	for _, t := range x.inEach(s.Targets) {
		found := x.find(t)
		for d := range x.lazyNamed(t) {
			idle = append(idle, d.Address)
		}
		for k, i := range found {
			x.named[i] = true
			f := x.plan.finals[i]
			if f.handler && (k == 0 || x.plan.finals[found[k-1]].d != f.d) {
				x.forced[i] = true // its first wave runs though nobody notifies it
			}
			x.keepNeeded(i)
		}
	}
	x.checkTags(s.Tags)
	for i, f := range x.plan.finals {
		if f.d.hasTag(s.Tags, x.plan.nodes.blockAround(f)...) {
			x.keepNeeded(i)
		}
	}
	return idle
}

// inEach puts the addresses within all instances of a component in the place of
// one that gives it no key.
func (x *selector) inEach(addresses []string) []string {
	var out []string
	for _, address := range addresses {
		before := len(out)
		if len(x.names[address]) == 0 && x.idle[address] == nil {
			for name := range x.names {
				if states.InEach(address, name) {
					out = append(out, name)
				}
			}
			for name := range x.idle {
				if states.InEach(address, name) {
					out = append(out, name)
				}
			}
		}
		if len(out) == before {
			out = append(out, address)
		}
	}
	return set(out)
}

// lazyNamed yields the lazy states without invocation that an address means.
func (x *selector) lazyNamed(address string) func(func(*decl) bool) {
	return func(yield func(*decl) bool) {
		if x.idle[address] == nil {
			return
		}
		for _, d := range x.plan.decls {
			if x.idle[d.Address] == d && (d.Address == address || d.Base == address) && !yield(d) {
				return
			}
		}
	}
}

// find gives the finals that an address means; none with a diagnostic.
func (x *selector) find(address string) []int {
	if found := x.names[address]; len(found) > 0 {
		return found
	}
	if x.idle[address] != nil {
		return nil
	}
	for _, d := range x.plan.decls {
		if d.Address == address || d.Base == address || strings.HasPrefix(address, d.Address+".") {
			if d.isOmitted {
				x.diags.Add(diag.Diagnostic{
					Severity: diag.Warning, Summary: address + " is left out by its when", Range: d.Range,
				})
				return nil
			}
		}
	}
	names := append(slices.Collect(maps.Keys(x.names)), slices.Collect(maps.Keys(x.idle))...)
	slices.Sort(names)
	x.diags.Add(diag.Diagnostic{
		Summary: fmt.Sprintf("nothing has the address %s", address), Hint: suggest(address, names),
	})
	return nil
}

// keepNeeded keeps a final, all that it requires, and the handlers that these notify.
func (x *selector) keepNeeded(i int) {
	p := x.plan
	queue := []int{i}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if x.keep[i] {
			continue
		}
		x.keep[i] = true
		f := p.finals[i]
		queue = append(queue, f.requires...)
		for _, n := range f.nodes {
			queue = append(queue, p.toFinals(p.nodes[n].causes)...)
		}
		for _, h := range f.d.notes {
			if h.handler.Defer {
				queue = append(queue, p.finalOf[h.handler.base])
			}
		}
		if f.d.isBlock() {
			queue = append(queue, p.toFinals(p.nodes.contents(f.d))...)
		}
		if f.d.confirms != nil && x.named[i] {
			queue = append(queue, p.finalOf[f.d.confirms.base])
		}
		// A block that is kept for one member alone still notifies.
		for _, b := range ancestors(f.d.blocks) {
			if len(b.notes) > 0 && b.base >= 0 {
				queue = append(queue, p.toFinals(p.nodes[b.base].causes)...)
			}
			if b.confirm != nil && b.confirm.base >= 0 {
				queue = append(queue, p.finalOf[b.confirm.base])
			}
		}
	}
}

// checkTags reports tags that no declaration carries, not even one that is left
// out.
func (x *selector) checkTags(tags []string) {
	if len(tags) == 0 {
		return
	}
	var known []string
	for _, d := range x.plan.decls {
		known = append(known, invocationOptions(d).Tags...)
		for _, part := range d.Parts {
			known = append(known, part.Options.Tags...)
		}
	}
	known = set(known)
	there := "nothing has tags"
	if len(known) > 0 {
		there = "the tags are " + strings.Join(known[:min(len(known), 20)], ", ")
	}
	for _, tag := range tags {
		if !slices.Contains(known, tag) {
			x.diags.Add(diag.Diagnostic{Summary: fmt.Sprintf("nothing has the tag %q", tag), Hint: cmp.Or(suggest(tag, known), there)})
		}
	}
}

// hasTag reports whether an invocation or one of its parts has one of the tags.
func (d *decl) hasTag(tags []string, around ...*decl) bool {
	if len(tags) == 0 || d.isBlock() {
		return false
	}
	has := func(o []string) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(o, t) })
	}
	if has(invocationOptions(d, around...).Tags) {
		return true
	}
	for part := range d.parts() {
		if has(part.Options.Tags) {
			return true
		}
	}
	return false
}

// drop leaves out what is excluded, and all that requires it.
func (x *selector) drop(exclude []string) {
	if len(exclude) == 0 {
		return
	}
	x.indexUsers()
	x.excludes = x.inEach(exclude)
	queue := x.excludedFinals(x.excludes)
	named := make(map[int]bool, len(queue))
	for _, i := range queue {
		named[i] = true
	}
	seen := make(map[int]bool)
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if seen[i] {
			continue
		}
		seen[i] = true
		queue = append(queue, x.users[i]...)
		f := x.plan.finals[i]
		x.dropped[f.d] = true
		if f.d.isBlock() && !named[i] {
			continue // it goes on without one of its members; who requires it does not
		}
		if x.keep[i] && !named[i] {
			x.diags.Add(diag.Diagnostic{
				Severity: diag.Warning, Summary: f.address + " is left out, since it requires what is excluded",
				Range: f.d.Range,
			})
		}
		x.keep[i] = false
	}
}

// excludedFinals gives the finals that addresses mean, with all that is in blocks.
func (x *selector) excludedFinals(addresses []string) []int {
	p := x.plan
	var out []int
	for _, address := range addresses {
		for _, i := range x.find(address) {
			out = append(out, i)
			if d := p.finals[i].d; d.isBlock() {
				for list := range alwaysList + 1 {
					out = append(out, p.toFinals(p.nodes.allNodes(d, list))...)
				}
			}
		}
	}
	return out
}

// indexUsers turns the declared requirements round: waits do not count.
func (x *selector) indexUsers() {
	p := x.plan
	x.users = make([][]int, len(p.finals))
	for i, f := range p.finals {
		for _, n := range f.nodes {
			for _, e := range p.nodes[n].requires {
				to := p.finalOf[e.to]
				x.users[to] = append(x.users[to], i)
			}
		}
		if f.d.isBlock() {
			for _, m := range p.toFinals(p.nodes.contents(f.d)) {
				x.users[m] = append(x.users[m], i)
			}
		}
	}
}

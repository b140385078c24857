package graph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// optionSources lists the options that hold for an invocation of d, the nearest
// first: its own, its state's, its blocks'. Around are those in whose lists this
// invocation of a state stands.
func (d *decl) optionSources(around ...*decl) []*states.Options {
	list := []*states.Options{&d.Options}
	if d.state != nil {
		list = append(list, &d.state.Options)
	}
	for _, b := range slices.Backward(ancestors(append(slices.Clone(d.blocks), around...))) {
		list = append(list, &b.Options)
	}
	return list
}

// invocationOptions joins what acts on the whole invocation. A block's failure
// that is ignored is the block's own affair.
func invocationOptions(d *decl, around ...*decl) states.InvocationOptions {
	var o states.InvocationOptions
	for _, s := range d.optionSources(around...) {
		o.Locks = append(o.Locks, s.Locks...)
		o.Tags = append(o.Tags, s.Tags...)
	}
	own := []*states.Options{&d.Options}
	if d.state != nil {
		own = append(own, &d.state.Options)
	}
	if d.TopLevel && len(d.Parts) == 1 {
		own = append(own, &d.Parts[0].Options)
		o.Locks = append(o.Locks, d.Parts[0].Options.Locks...)
		o.Tags = append(o.Tags, d.Parts[0].Options.Tags...)
	}
	for _, s := range own {
		o.IgnoreFailure = o.IgnoreFailure || s.IgnoreFailure
		o.Description = cmp.Or(o.Description, s.Description)
	}
	o.Locks, o.Tags = set(o.Locks), set(o.Tags)
	return o
}

func set(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// part describes a part, with what it inherits; a part's own option wins, then
// the nearest.
func (p *planner) part(d *decl, part *states.PartDeclaration, around ...*decl) states.Part {
	own := &part.Options
	o := states.PartOptions{
		IgnoreFailure: own.IgnoreFailure, Locks: own.Locks, Sensitive: own.Sensitive,
		Retain: own.Retain, Cluster: d.Cluster, Tags: own.Tags, Description: own.Description,
	}
	for _, s := range append([]*states.Options{own}, d.optionSources(around...)...) {
		if o.Retry == nil {
			o.Retry = s.Retry
		}
		o.Become = cmp.Or(o.Become, s.Become)
		o.Timeout = cmp.Or(o.Timeout, s.Timeout)
	}
	if d.TopLevel {
		o.Sensitive = o.Sensitive || d.Options.Sensitive
	}
	m := p.registry.ModuleOf(part.Type)
	if o.Retry == nil {
		o.Retry = m.Retry
	}
	return states.Part{
		Act: part.Act, Type: part.Type, Key: part.Key, Ensure: d.ensureOf(part), Values: part.Values,
		Sensitive: sensitive(m, part, o.Sensitive), Options: o,
	}
}

// attributes are those that a part gives, be it on the host.
func attributes(part *states.PartDeclaration) map[string]bool {
	all := make(map[string]bool, len(part.Values)+len(part.Results))
	for name := range part.Values {
		all[name] = true
	}
	for name := range part.Results {
		all[name] = true
	}
	return all
}

// sensitive lists the attributes that are never shown.
func sensitive(m *states.Module, part *states.PartDeclaration, all bool) []string {
	if all {
		return slices.Sorted(maps.Keys(attributes(part)))
	}
	list := slices.Clone(part.Sensitive)
	for i := range m.Attributes {
		if a := &m.Attributes[i]; a.Sensitive && (part.Values[a.Name] != nil || part.Results[a.Name] != nil) {
			list = append(list, a.Name)
		}
	}
	return set(list)
}

// invocationGuards gives the guards of the blocks around d, outer ones first,
// of its state and its own. A block's is decided once for all of the block; the
// others each time they are met.
func (p *planner) invocationGuards(d *decl, at int, address string, around ...*decl) []states.Guard {
	var out []states.Guard
	for _, b := range ancestors(append(slices.Clone(d.blocks), around...)) {
		out = p.guards(out, d, at, b.Options.Guards, b.Address, address)
	}
	if d.state != nil {
		out = p.guards(out, d, at, d.state.Options.Guards, address, address)
	}
	return p.guards(out, d, at, d.Options.Guards, address, address)
}

// partGuards gives a part's own guards; those of a part at top level may have
// been declared for its invocation.
func (p *planner) partGuards(d *decl, at int, part *states.PartDeclaration, address, invocation string) []states.Guard {
	out := p.guards(nil, d, at, part.Options.Guards, address, invocation)
	if d.TopLevel {
		of := p.guards(nil, d, at, d.Options.Guards, address, invocation)
		out = slices.DeleteFunc(out, func(g states.Guard) bool { return slices.ContainsFunc(of, sameGuard(g)) })
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func sameGuard(g states.Guard) func(states.Guard) bool {
	return func(x states.Guard) bool {
		return g.Unless == x.Unless && g.Exists == x.Exists && g.Missing == x.Missing && g.Scope == x.Scope &&
			slices.Equal(g.Command, x.Command) && slices.Equal(g.WouldChange, x.WouldChange) && sameExpressions(g.Results, x.Results)
	}
}

func sameExpressions(a, b map[string]*states.Expr) bool {
	return maps.EqualFunc(a, b, func(x, y *states.Expr) bool {
		one, err1 := json.Marshal(x)
		two, err2 := json.Marshal(y)
		return err1 == nil && err2 == nil && bytes.Equal(one, two)
	})
}

func (p *planner) guards(out []states.Guard, d *decl, at int, list []states.GuardDeclaration, scope, invocation string) []states.Guard {
	for _, g := range list {
		var would []int
		for _, r := range g.WouldChange {
			for _, d := range p.units(r) {
				for _, i := range slices.Concat(d.waves, d.pinNodes, baseOnly(d)) {
					would = append(would, p.finalOf[i])
				}
			}
		}
		out = append(out, states.Guard{
			Unless: g.Unless, Exists: g.Exists, Missing: g.Missing, Command: g.Command,
			WouldChange: p.addresses(would), Scope: scope, Results: p.results(d, at, invocation, g.Results),
		})
	}
	return out
}

func baseOnly(d *decl) []int {
	if d.base < 0 {
		return nil
	}
	return []int{d.base}
}

// partRequires gives the parts of the same invocation that a part requires.
func (d *decl) partRequires(part *states.PartDeclaration, invocation string) []string {
	return d.ownAddresses(append(resultRefs(part.Results, part.Options.Guards), part.Options.Require...), invocation)
}

// ownAddresses gives the parts of the same invocation that references name.
func (d *decl) ownAddresses(refs []states.Ref, invocation string) []string {
	var out []string
	for _, r := range refs {
		if !isOwnPart(d, r) {
			continue
		}
		for _, other := range partsNamed(d, r.Part) {
			if !other.Options.LeftOut {
				out = append(out, partAddress(d, invocation, other))
			}
		}
	}
	return set(out)
}

// isReversed reports whether a state is taken away as a whole: not by what each
// part says, but by what they inherit. What was set up last goes first then.
func (d *decl) isReversed() bool {
	if !d.absent {
		return false
	}
	for part := range d.parts() {
		if part.Options.Ensure != "" {
			return false
		}
	}
	return true
}

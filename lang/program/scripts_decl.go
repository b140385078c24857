package program

import (
	"cmp"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// addCalls adds the calls that led to what a script has made to the diagnostics
// about it: those of the list from there on.
func addCalls(list diag.List, from int, calls []hcl2.Range) {
	if len(calls) == 0 {
		return
	}
	for i := from; i < len(list); i++ {
		d := &list[i]
		if slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.Message == callMessage }) {
			continue
		}
		d.Related = slices.Clone(d.Related)
		for _, c := range calls {
			d.Related = append(d.Related, diag.Related{Message: callMessage, Range: rangeOf(c)})
		}
	}
}

const callMessage = "called here"

// join makes a declaration one more instance of a base that scripts declare.
func (d *decoder) join(out, first *declaration) bool {
	if out.key == nil || first == nil || first.key == nil || out.role != first.role {
		return false
	}
	if first.keys == nil {
		first.keys = map[string]bool{*first.key: true}
	}
	if first.keys[*out.key] {
		return false
	}
	first.keys[*out.key] = true
	out.entry = first.entry
	first.group = append(first.group, out)
	return true
}

// register enters a part under its name, and gives the one that has it already:
// several instances may share a name.
func (d *declaration) register(p *part) (first *part) {
	if d.names == nil {
		d.names = map[string]*part{}
	}
	if first := d.names[p.base]; first != nil && (p.key == nil || first.key == nil) {
		return first
	}
	if first := d.names[p.instance()]; first != nil {
		return first
	}
	d.names[p.base], d.names[p.instance()] = p, p
	return nil
}

// instance is the address of a part with its key.
func (p *part) instance() string {
	if p.key == nil {
		return p.base
	}
	return states.InstanceAddress(p.base, *p.key)
}

// sortInstances brings instances into the order of their keys, at the place of
// the first.
func (d *declaration) sortInstances() {
	slices.SortStableFunc(d.group, func(a, b *declaration) int { return cmp.Compare(*a.key, *b.key) })
	d.sortParts()
	for _, other := range d.group {
		other.sortParts()
	}
}

func (d *declaration) sortParts() {
	if !slices.ContainsFunc(d.parts, func(p *part) bool { return p.key != nil }) {
		return
	}
	first := map[string]int{}
	for i, p := range d.parts {
		if _, ok := first[p.base]; !ok {
			first[p.base] = i
		}
	}
	slices.SortStableFunc(d.parts, func(a, b *part) int {
		if a.base != b.base || a.key == nil || b.key == nil {
			return cmp.Compare(first[a.base], first[b.base])
		}
		return cmp.Compare(*a.key, *b.key)
	})
}

// expandGroup finds the instances that scripts declare one by one.
func (e *evaluator) expandGroup(first *declaration) {
	base := e.prefix + first.base
	for _, d := range first.group {
		turn := &each{*d.key, cty.StringVal(*d.key)}
		in := &instance{decl: d, address: states.InstanceAddress(base, turn.key), each: turn, owner: e}
		e.instances[in.address] = in
		e.instancesByBase[base] = append(e.instancesByBase[base], in)
	}
}

// partTurns gives the instances of a part.
func (e partValues) partTurns(p *part, ctx *hcl2.EvalContext) ([]*each, bool) {
	if p.key != nil {
		return []*each{{*p.key, cty.StringVal(*p.key)}}, true
	}
	return e.forEach(p.forEach, ctx)
}

// generateParts gives a state with its parts, which a function may have to make for
// these params.
func (e partValues) generateParts(in *instance, params map[string]cty.Value) *declaration {
	d := in.decl
	if d.generate == nil {
		return d
	}
	made := *d
	made.parts, made.names = nil, nil
	made.entry = &expr.Entry{Base: d.entry.Base, Range: d.entry.Range, Parts: map[string]*expr.PartEntry{}}
	body, list := d.generate(params)
	e.list.Add(list...)
	if body == nil {
		e.doubtful[in.address] = true
		return &made
	}
	dec := &decoder{shapes: e.site.shapes, site: e.site}
	for _, b := range body.Blocks {
		dec.statePart(&made, b)
	}
	e.list.Add(dec.list...)
	made.sortParts()
	e.link(func(l *linker) { l.parts(&made, scope{self: made.entry, params: d}) })
	return &made
}

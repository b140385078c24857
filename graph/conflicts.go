package graph

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// maxCompared bounds how many different wishes for one resource are compared
// with each further one.
const maxCompared = 16

// wish is one part, as one declaration wants it.
type wish struct {
	d    *decl
	part *states.PartDeclaration
}

// warnConflicts warns of parts that want the same resource differently, when
// neither a guard nor `when` tells them apart: each run would undo the other.
func (p *planner) warnConflicts() {
	type thing struct{ kind, key string }
	wishes := make(map[thing][]wish)
	var claimed claims
	var last *decl
	for _, f := range p.finals {
		if f.d == last || f.d.isBlock() {
			continue // a further wave
		}
		last = f.d
		for part := range f.d.parts() {
			m := p.registry.ModuleOf(part.Type)
			t, w := thing{part.Type, part.Key}, wish{f.d, part}
			if part.Key != "" {
				claimed.add(m, w)
			}
			if m.IsAct() || part.Key == "" {
				continue
			}
			known := wishes[t]
			at := slices.IndexFunc(known, func(k wish) bool { return conflict(m, k, w) != "" })
			if at >= 0 {
				p.warnConflict(known[at], w, conflict(m, known[at], w))
			}
			if len(known) < maxCompared {
				wishes[t] = append(known, w)
			}
		}
	}
	p.warnClaimConflicts(&claimed)
}

// conflict names what two wishes differ in: "ensure", an attribute, or "".
func conflict(m *states.Module, a, b wish) string {
	if !reflect.DeepEqual(conditions(a), conditions(b)) {
		return ""
	}
	if have, want := a.d.ensureOf(a.part), b.d.ensureOf(b.part); have != want {
		return "ensure"
	} else if have == states.Absent {
		return ""
	}
	for i := range m.Attributes {
		attribute := &m.Attributes[i]
		x, y := a.part.Values[attribute.Name], b.part.Values[attribute.Name]
		if !attribute.In && x != nil && y != nil && !reflect.DeepEqual(x, y) {
			return attribute.Name
		}
	}
	return ""
}

// conditions lists what must hold for a part to act: guards without their
// places, in declaration order.
func conditions(w wish) []states.GuardDeclaration {
	var out []states.GuardDeclaration
	add := func(list []states.GuardDeclaration) {
		for _, g := range list {
			g.Range = diag.Range{}
			g.WouldChange = slices.Clone(g.WouldChange)
			for i := range g.WouldChange {
				g.WouldChange[i].Range = diag.Range{}
			}
			out = append(out, g)
		}
	}
	for _, b := range ancestors(w.d.blocks) {
		add(b.Options.Guards)
	}
	if w.d.state != nil {
		add(w.d.state.Options.Guards)
	}
	add(w.d.Options.Guards)
	if !w.d.TopLevel {
		add(w.part.Options.Guards)
	}
	return out
}

func (p *planner) warnConflict(a, b wish, in string) {
	first, second := partAddress(a.d, a.d.Address, a.part), partAddress(b.d, b.d.Address, b.part)
	p.diags.Add(diag.Diagnostic{
		Severity: diag.Warning,
		Summary:  fmt.Sprintf("%s and %s contradict each other", first, second),
		Detail: fmt.Sprintf("Both are the %s %q, with a different %s and no guard that tells them apart: each run would undo one and then the other.",
			b.part.Type, b.part.Key, in),
		Hint:    "take one away, or give them guards or a `when` that differ",
		Range:   b.part.Range,
		Related: []diag.Related{{Message: first + " is declared here", Range: a.part.Range}},
	})
}

// partAddress gives the address of a part of an invocation; a part at top level
// is its invocation.
func partAddress(d *decl, invocation string, part *states.PartDeclaration) string {
	if d.TopLevel {
		return invocation
	}
	return invocation + "." + part.Address
}

package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// wait lets everything wait until what it requires has settled. A wait that
// would close a cycle, since a handler requires what would have to wait for it,
// gives way; so what is inserted first wins: declaration order.
func (p *planner) wait() {
	byDeclaration := make([]int, len(p.nodes))
	for i := range byDeclaration {
		byDeclaration[i] = i
	}
	slices.SortStableFunc(byDeclaration, func(a, b int) int { return cmp.Compare(p.nodes[a].d.index, p.nodes[b].d.index) })
	warned := make(map[[3]*decl]bool)
	for _, i := range byDeclaration {
		n := p.nodes[i]
		for k := range n.requires {
			p.waitFor(i, &n.requires[k], warned)
		}
	}
}

// waitFor lets node i wait for the waves that e.to causes: all of them or, where
// that closes a cycle, each that does not.
func (p *planner) waitFor(i int, e *edge, warned map[[3]*decl]bool) {
	if p.settle[e.to] == e.to {
		return
	}
	waves := p.settled(e.to)
	n := p.nodes[i]
	// A handler does not wait for itself: what it requires may notify it.
	own := func(w int) bool { return p.nodes[w].d == n.d && n.pin == nil }
	if !slices.ContainsFunc(waves, own) && p.order.insert(p.settle[e.to], i) {
		e.waits = waves
		return
	}
	for _, w := range waves {
		if own(w) {
			continue
		}
		if p.order.insert(w, i) {
			e.waits = append(e.waits, w)
			continue
		}
		if key := [3]*decl{n.d, p.nodes[e.to].d, p.nodes[w].d}; !warned[key] {
			warned[key] = true
			p.warnWait(n.d, e, p.nodes[w])
		}
	}
}

// settled lists the waves that settling waits for: those that node i causes,
// and that they cause in their turn.
func (p *planner) settled(i int) []int {
	n := p.nodes[i]
	if n.closure != nil || p.settle[i] == i {
		return n.closure
	}
	var inner []int
	if n.d.isBlock() {
		inner = p.contents(n.d)
	}
	list := make([]int, 0, len(n.causes))
	list = append(list, n.causes...)
	for _, x := range append(inner, n.causes...) {
		list = append(list, p.settled(x)...)
	}
	slices.Sort(list)
	n.closure = slices.Compact(list)
	return n.closure
}

func (p *planner) warnWait(d *decl, e *edge, wave *node) {
	required, handler := p.nodes[e.to].d, wave.d
	p.diags.Add(diag.Diagnostic{
		Severity: diag.Warning,
		Summary:  fmt.Sprintf("%s cannot wait for %s, which %s may notify", d.Address, handler.Address, required.Address),
		Detail: fmt.Sprintf("%s requires %s, and so would wait for %s; but that handler, or one before it, itself requires what comes after %s. The declared requirement wins.",
			d.Address, required.Address, handler.Address, d.Address),
		Hint:  fmt.Sprintf("if that order is right, nothing is to be done; else take away what %s requires, or mark it with defer", handler.Address),
		Range: e.at,
		Related: []diag.Related{
			{Message: handler.Address + " is notified here", Range: wave.sources[0].notes[0].at},
			{Message: handler.Address + " is declared here", Range: handler.Range},
		},
	})
}

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
	for _, i := range p.nodes.byDeclaration() {
		p.waitForHandlers(i)
		for _, e := range p.nodes[i].requires {
			if p.settle[e.to] == e.to {
				continue
			}
			waves := p.settledWaves(e.to)
			if !slices.ContainsFunc(waves, p.nodes.ignoredWaves(i, e.by)) && p.order.insert(p.settle[e.to], i) {
				continue
			}
			for _, w := range waves {
				if p.nodes.ignoredWaves(i, e.by)(w) {
					if e.by != nil {
						p.precede(i, w)
					}
				} else if !p.order.insert(w, i) {
					p.yield(i, p.nodes[e.to].d, w)
				}
			}
		}
	}
	p.findSplits()
}

// precede lets a handler's wave come after a member of the component that the handler
// stands in: what the component requires may notify the handler, which is of use only
// where the component is set up. It gives way as all waits do.
func (p *planner) precede(i, wave int) {
	n := p.nodes[i]
	if !n.wave && n.d != p.nodes[wave].d && p.order.insert(i, wave) {
		p.nodes[wave].after = append(p.nodes[wave].after, i)
	}
}

// ignoredWaves tells the waves that node i does not wait for, though what it requires may notify
// them: those of its own handler and, where a component requires it as a whole, those of
// handlers in that component.
func (ns nodeList) ignoredWaves(i int, by *decl) func(w int) bool {
	n := ns[i]
	return func(w int) bool {
		h := ns[w].d
		return h == n.d && n.pin == nil || by != nil && slices.Contains(ancestors(h.blocks), by)
	}
}

// waitMerged notes the waits of the merged graph. Merging keeps those that were
// inserted; it may make room for others, and the rest gives way for good.
func (p *planner) waitMerged() {
	p.closures = make(map[int][]int)
	p.mergedNodes = make([][]int, len(p.nodes))
	for i := range p.nodes {
		rep := p.order.find(i)
		p.mergedNodes[rep] = append(p.mergedNodes[rep], i)
	}
	warned := make(map[[3]*decl]bool)
	for _, i := range p.nodes.byDeclaration() {
		n := p.nodes[i]
		p.waitForMergedHandlers(i)
		for k := range n.requires {
			e := &n.requires[k]
			own := p.nodes.ignoredWaves(i, e.by)
			for _, w := range p.settledWavesMerged(p.order.find(e.to)) {
				if own(w) {
					continue
				}
				if p.order.insert(w, i) {
					e.waits = append(e.waits, w)
				} else if key := [3]*decl{n.d, p.nodes[e.to].d, p.nodes[w].d}; !warned[key] && !p.yielded.byFollows(key) {
					warned[key] = true
					p.warnWait(n.d, e, p.nodes[w])
				}
			}
		}
	}
}

func (ns nodeList) byDeclaration() []int {
	list := make([]int, len(ns))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(ns[a].d.index, ns[b].d.index) })
	return list
}

// settledWaves lists the waves that settling waits for: those that node i causes,
// and that they cause in their turn.
func (p *planner) settledWaves(i int) []int {
	n := p.nodes[i]
	if n.closure == nil && p.settle[i] != i {
		n.closure = p.gather(i, []int{i}, p.settledWaves)
	}
	return n.closure
}

// settledWavesMerged is settled for the merged node i: for all that were merged into
// it.
func (p *planner) settledWavesMerged(i int) []int {
	if list, known := p.closures[i]; known {
		return list
	}
	list := p.gather(i, p.mergedNodes[i], func(x int) []int { return p.settledWavesMerged(p.order.find(x)) })
	for k, w := range list {
		list[k] = p.order.find(w)
	}
	slices.Sort(list)
	p.closures[i] = slices.Compact(list)
	return p.closures[i]
}

// gather joins what the nodes merged into i cause, with what settling means of
// that, and of what it holds if it is a block.
func (p *planner) gather(i int, merged []int, settled func(int) []int) []int {
	list := []int{}
	for _, x := range merged {
		for _, w := range p.nodes[x].causes {
			list = append(append(list, w), settled(w)...)
		}
	}
	if d := p.nodes[i].d; d.isBlock() {
		for _, m := range p.nodes.contents(d) {
			list = append(list, settled(m)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *planner) warnWait(d *decl, e *edge, wave *node) {
	required, handler := p.nodes[e.to].d, wave.d
	x := diag.Diagnostic{
		Severity: diag.Warning,
		Summary:  fmt.Sprintf("%s cannot wait for %s, which %s may notify", d.Address, handler.Address, required.Address),
		Detail: fmt.Sprintf("%s requires %s, and so would wait for %s; but that handler, or one before it, itself requires what comes after %s. The declared requirement wins.",
			d.Address, required.Address, handler.Address, d.Address),
		Hint:    fmt.Sprintf("if that order is right, nothing is to be done; else take away what %s requires, or mark it with defer", handler.Address),
		Range:   e.at,
		Related: []diag.Related{{Message: handler.Address + " is declared here", Range: handler.Range}},
	}
	for _, n := range required.notes {
		if n.handler == handler {
			x.Related = append(x.Related, diag.Related{Message: handler.Address + " is notified here", Range: n.at})
			break
		}
	}
	p.diags.Add(x)
}

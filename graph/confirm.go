package graph

import (
	"slices"

	"github.com/tenetcm/tenet/states"
)

// addConfirm declares the check of a block that is to be confirmed: a run
// without parts, right behind the block. It comes after the block whatever came
// of that, and after the handlers that the block may have notified; what
// requires the block requires it.
func (p *planner) addConfirm(b *decl) {
	check := &states.Declaration{
		Kind: states.RunKind, Address: b.Address + ".confirm", Base: b.Address + ".confirm", File: b.File, Range: b.Range,
		Options: states.Options{IgnoreFailure: b.Options.IgnoreFailure, Tags: b.Options.Tags},
	}
	b.confirm = &decl{Declaration: check, index: len(p.decls), base: -1, confirms: b}
	p.decls = append(p.decls, b.confirm)
}

// linkConfirms puts each check beside its block into the lists in which that
// stands: a block that is not confirmed has failed for those around it.
func (p *planner) linkConfirms() {
	for _, b := range p.decls {
		if b.confirm == nil {
			continue
		}
		b.confirm.blocks = slices.Clone(b.blocks)
		b.confirm.rescues, b.confirm.finishes = b.rescues, b.finishes
		for _, around := range b.blocks {
			for _, list := range []*[]*decl{&around.members, &around.rescue, &around.always} {
				if i := slices.Index(*list, b); i >= 0 {
					*list = slices.Insert(*list, i+1, b.confirm)
				}
			}
		}
	}
}

// waitForHandlers lets the check of a block wait for the handlers that the block
// may notify. It gives way as all waits do.
func (p *planner) waitForHandlers(i int) {
	b := p.nodes[i].d.confirms
	if b == nil {
		return
	}
	for _, w := range p.nodes.wavesBefore(b, p.settledWaves) {
		if !p.order.insert(w, i) {
			p.yield(i, b, w)
		}
	}
}

// waitForMergedHandlers notes those waits in the merged graph.
func (p *planner) waitForMergedHandlers(i int) {
	n := p.nodes[i]
	if n.d.confirms == nil {
		return
	}
	list := p.nodes.wavesBefore(n.d.confirms, func(x int) []int { return p.settledWavesMerged(p.order.find(x)) })
	for k, w := range list {
		list[k] = p.order.find(w)
	}
	slices.Sort(list)
	for _, w := range slices.Compact(list) {
		if p.order.insert(w, i) {
			n.after = append(n.after, w)
		} else if !p.yielded.byFollows([3]*decl{n.d, n.d.confirms, p.nodes[w].d}) {
			p.warnWait(n.d, &edge{to: n.d.confirms.base, at: n.d.Range}, p.nodes[w])
		}
	}
}

// wavesBefore lists the waves that a block and what it holds may cause, and
// those that they cause in their turn; but not what the block notifies of its
// failure: of that its check speaks, too.
func (ns nodeList) wavesBefore(b *decl, settled func(int) []int) []int {
	var list []int
	for _, w := range ns[b.base].causes {
		onChange := slices.ContainsFunc(ns[w].sources, func(c cause) bool {
			return c.from == b.base && slices.ContainsFunc(c.notes, func(n note) bool { return n.on == states.OnChange })
		})
		if onChange {
			list = append(append(list, w), settled(w)...)
		}
	}
	for _, m := range ns.contents(b) {
		list = append(list, settled(m)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

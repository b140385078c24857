package graph

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// linkBlocks finds the members of blocks, and what stands in their rescue and
// always lists, which makes states lazy. It returns false if a block holds
// itself: then nothing further can be told.
func (p *planner) linkBlocks() bool {
	for _, b := range p.decls {
		if !b.isBlock() {
			continue
		}
		for _, r := range b.Members {
			for _, m := range p.units(r) {
				if slices.Contains(b.members, m) {
					continue
				}
				b.members = append(b.members, m)
				m.blocks = append(m.blocks, b)
			}
		}
		for _, r := range b.Rescue {
			b.rescue = append(b.rescue, p.pin(b, r, false)...)
		}
		for _, r := range b.Always {
			b.always = append(b.always, p.pin(b, r, true)...)
		}
	}
	return p.checkNesting()
}

// pin notes that what r names runs in a list of b.
func (p *planner) pin(b *decl, r states.Ref, finishes bool) []*decl {
	found := p.units(r)
	for _, d := range found {
		if d.isState() {
			d.lazy = true
			d.pins = append(d.pins, pin{block: b, finishes: finishes})
			continue
		}
		if other := cmpOr(d.rescues, d.finishes); other != nil {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s stands in two lists: of %s and of %s", d.Address, other.Address, b.Address),
				Detail:  "A run or a block is carried out once; a state may stand in several lists.",
				Range:   r.Range,
			})
			continue
		}
		if finishes {
			d.finishes = b
		} else {
			d.rescues = b
		}
		d.blocks = append(d.blocks, b)
	}
	return found
}

func cmpOr(a, b *decl) *decl {
	if a != nil {
		return a
	}
	return b
}

// checkNesting refuses blocks that hold themselves.
func (p *planner) checkNesting() bool {
	const open, done = 1, 2
	mark := make(map[*decl]int)
	var visit func(b *decl) bool
	visit = func(b *decl) bool {
		if mark[b] != 0 {
			return mark[b] == done
		}
		mark[b] = open
		for _, list := range [][]*decl{b.members, b.rescue, b.always} {
			for _, m := range list {
				if m.isBlock() && !visit(m) {
					return false
				}
			}
		}
		mark[b] = done
		return true
	}
	for _, b := range p.decls {
		if b.isBlock() && !visit(b) {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s holds itself", b.Address), Range: b.Range,
				Hint: "take it out of its own members, rescue and always lists, and those of the blocks in it",
			})
			return false
		}
	}
	return true
}

// chain makes each member of an ordered block require the one before it.
func (p *planner) chain(b *decl) {
	if !b.Ordered {
		return
	}
	var last *decl
	for _, m := range b.members {
		if m.lazy {
			continue
		}
		if last != nil {
			m.chained = append(m.chained, require{to: last, at: b.Range})
		}
		last = m
	}
}

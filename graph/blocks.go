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
	holds := make([][]link, len(p.decls))
	for i, b := range p.decls {
		for _, list := range [][]*decl{b.members, b.rescue, b.always} {
			for _, m := range list {
				if m.isBlock() {
					holds[i] = append(holds[i], link{m.index, "holds", b.Range})
				}
			}
		}
	}
	left := sortLinks(holds).cyclic
	p.reportCycles("blocks", holds, left, func(i int) (string, diag.Range) { return p.decls[i].Address, p.decls[i].Range })
	return len(left) == 0
}

// chain makes each member of an ordered block require the one before it.
func (b *decl) chain() {
	if !b.Ordered {
		return
	}
	var last *decl
	for _, m := range b.members {
		if m.lazy || m.confirms != nil {
			continue
		}
		if last != nil {
			m.chainRequires = append(m.chainRequires, require{to: last, at: b.Range})
		}
		last = m
	}
}

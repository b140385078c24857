package graph

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// arrange draws the hard edges, which nothing can take away, and puts the
// nodes into a topological order: requirements, notifications, members before
// their block, the tail after everything else. Behind the nodes stand points
// of time: settled points, and "all of these have ended".
func (p *planner) arrange() {
	o := newOrder(len(p.nodes))
	p.order = o
	for i, n := range p.nodes {
		for _, e := range n.requires {
			o.edge(e.to, i)
		}
		for _, c := range n.sources {
			o.edge(c.from, i)
		}
		if b := n.d.confirms; b != nil {
			o.edge(b.base, i)
			n.after = append(n.after, b.base)
		}
	}
	p.drawBlocks()
	p.drawTail()
	p.drawSettled()
	p.drawFollows()
	if p.sortNodes() && p.drawWaveFollows() {
		p.reverseAbsent()
	}
}

// place is one of the lists of a block.
type place int

const (
	memberList place = iota
	rescueList
	alwaysList
)

// list gives the declarations in one of a block's lists.
func (d *decl) list(in place) []*decl {
	return [][]*decl{d.members, d.rescue, d.always}[in]
}

// listNodes gives the nodes directly in one of a block's lists.
func (ns nodeList) listNodes(b *decl, in place) []int {
	var out []int
	for _, m := range b.list(in) {
		if in == memberList || !m.isState() {
			if !m.isOmitted && m.base >= 0 && !m.Defer {
				out = append(out, m.base)
			}
			continue
		}
		for _, i := range m.pinNodes {
			if pin := ns[i].pin; pin.block == b && pin.finishes == (in == alwaysList) {
				out = append(out, i)
			}
		}
	}
	return out
}

// allNodes gives all nodes in a list of a block, those of nested blocks included.
func (ns nodeList) allNodes(b *decl, in place) []int {
	var out []int
	for _, i := range ns.listNodes(b, in) {
		out = append(out, i)
		if inner := ns[i].d; inner.isBlock() {
			for list := range alwaysList + 1 {
				out = append(out, ns.allNodes(inner, list)...)
			}
		}
	}
	return out
}

func (p *planner) drawBlocks() {
	for _, b := range p.decls {
		if !b.isBlock() || b.base < 0 {
			continue
		}
		before := p.nodes.listNodes(b, memberList)
		for _, list := range []place{rescueList, alwaysList} {
			if len(b.list(list)) > 0 {
				ended := p.order.add()
				for _, i := range before {
					p.order.edge(i, ended)
				}
				for _, i := range p.nodes.allNodes(b, list) {
					p.order.edge(ended, i)
				}
				before = append(before, p.nodes.listNodes(b, list)...)
			}
		}
		for _, i := range before {
			p.order.edge(i, b.base)
		}
	}
}

// drawTail lets deferred handlers wait for all that is not in the tail.
func (p *planner) drawTail() {
	p.gate = -1
	for i, n := range p.nodes {
		if !n.d.Defer || n.pin != nil {
			continue
		}
		if p.gate < 0 {
			p.gate = p.order.add()
		}
		p.order.edge(p.gate, i)
	}
	if p.gate < 0 {
		return
	}
	for i, n := range p.nodes {
		if !n.tail {
			p.order.edge(i, p.gate)
		}
	}
}

// drawSettled gives all that causes waves, and blocks, a settled point: after
// the node, and after all that it causes has settled.
func (p *planner) drawSettled() {
	p.settle = make([]int, len(p.nodes))
	for i, n := range p.nodes {
		p.settle[i] = i
		if len(n.causes) > 0 || n.d.isBlock() {
			p.settle[i] = p.order.add()
			p.order.edge(i, p.settle[i])
		}
	}
	for i, n := range p.nodes {
		for _, w := range n.causes {
			p.order.edge(p.settle[w], p.settle[i])
		}
		if n.d.isBlock() {
			for _, m := range p.nodes.contents(n.d) {
				p.order.edge(p.settle[m], p.settle[i])
			}
		}
	}
}

// contents gives all nodes directly in a block.
func (ns nodeList) contents(b *decl) []int {
	return slices.Concat(ns.listNodes(b, memberList), ns.listNodes(b, rescueList), ns.listNodes(b, alwaysList))
}

// sortNodes finds a first order. It prefers waves and points of time, so that
// most waits will agree with it already.
func (p *planner) sortNodes() bool {
	key := make([]int, len(p.order.succ))
	for i, n := range p.nodes {
		if !n.wave {
			key[i] = 1 + n.d.index
		}
	}
	if len(p.order.sort(key)) == len(key) {
		return true
	}
	links := make([][]link, len(key))
	for i := range links {
		for _, from := range p.order.pred[i] {
			if f, follows := p.followed.of[[2]int{from, i}]; follows {
				links[i] = append(links[i], link{from, "follows", f.at})
			} else {
				links[i] = append(links[i], p.nodes.explain(from, i))
			}
		}
	}
	p.reportCycles("requirements and notifications", links, sortLinks(links).cyclic, p.nodeName)
	return false
}

// explain says why node x comes after an earlier one.
func (ns nodeList) explain(earlier, x int) link {
	l := link{to: earlier, verb: "comes after"}
	if x >= len(ns) {
		return l
	}
	n := ns[x]
	for _, e := range n.requires {
		if e.to == earlier {
			return link{earlier, "requires", e.at}
		}
	}
	for _, c := range n.sources {
		if c.from == earlier {
			return link{earlier, "is notified by", c.notes[0].at}
		}
	}
	if n.d.isBlock() {
		l.verb = "waits for its member"
	}
	return l
}

func (p *planner) nodeName(i int) (string, diag.Range) {
	switch {
	case i < len(p.nodes):
		return p.nodes[i].d.Address, p.nodes[i].d.Range
	case i == p.gate:
		return "the tail", diag.Range{}
	}
	return "the end of a block's members", diag.Range{}
}

// reverseAbsent reverses the requirements among what is taken away: what was set up
// last goes first. One that would close a cycle stays.
func (p *planner) reverseAbsent() {
	for i, n := range p.nodes {
		for _, e := range n.reverse {
			if p.order.insert(i, e.to) {
				to := p.nodes[e.to]
				to.comeAfter(edge{to: i, at: e.at, isOrder: e.isOrder})
				if check := n.d.confirm; check != nil && p.order.insert(check.base, e.to) {
					to.comeAfter(edge{to: check.base, at: e.at, isOrder: e.isOrder})
				}
				continue
			}
			p.order.insert(e.to, i)
			n.comeAfter(e)
			from := p.nodes[e.to].d
			p.diags.Add(diag.Diagnostic{
				Severity: diag.Warning,
				Summary:  fmt.Sprintf("%s is removed before %s, though set up before it", from.Address, n.d.Address),
				Detail:   "Removing in reverse order would close a cycle with other requirements.",
				Range:    e.at,
				Related:  []diag.Related{{Message: from.Address + " is declared here", Range: from.Range}},
			})
		}
	}
}

// comeAfter notes that a node requires another, or only comes after it.
func (n *node) comeAfter(e edge) {
	if e.isOrder {
		n.after = append(n.after, e.to)
	} else {
		n.requires = append(n.requires, e)
	}
}

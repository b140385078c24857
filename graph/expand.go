package graph

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// maxNodes bounds the invocations and waves before merging: chains of handlers
// that fan out and in again double them at each step.
const maxNodes = 1 << 20

// node is an invocation, a block, or the wave that one notification causes.
type node struct {
	d        *decl
	pin      *pin    // of a rescue or always list
	wave     bool    // runs only when notified
	tail     bool    // a deferred handler, or a wave that one causes
	requires []edge  // what it waits for, its own requirements
	causes   []int   // the waves that it notifies
	sources  []cause // waves and deferred handlers: what notifies it
	reverse  []edge  // requirements that may be turned round
	closure  []int   // see planner.settledWaves
	follows  []follow
	after    []int // what has ended before it: what it follows; of the check of a block that, and what it waits for
}

// nodeList are all nodes, by their number.
type nodeList []*node

// edge is a requirement on a node.
type edge struct {
	to int
	at diag.Range
	// by is the component that requires it as a whole; nil: n does so itself.
	by *decl
	// waits are the waves to be waited for, of those that settling means.
	waits []int
	// isOrder is that of `follows`: to has ended, however.
	isOrder bool
}

// cause is one notifier of a wave.
type cause struct {
	from  int
	notes []note
}

// expand makes a node of everything that is invoked: by itself, by being
// required, or by being notified; for each notification its own wave.
func (p *planner) expand() {
	for _, d := range p.decls {
		switch {
		case d.isOmitted:
		case !d.isState():
			p.baseOf(d)
		case !d.lazy && !d.NeedsRun && len(d.runs) == 0, p.demanded[d.Address]:
			p.baseOf(d)
		}
		for i := range d.pins {
			if pin := &d.pins[i]; !d.isOmitted && !pin.block.isOmitted && p.invocable(d, pin.block.Range) {
				d.pinNodes = append(d.pinNodes, p.add(node{d: d, pin: pin}))
			}
		}
	}
	for i := 0; i < len(p.nodes); i++ {
		if len(p.nodes) > maxNodes {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("handlers notify each other along more than %d ways", maxNodes),
				Detail:  "Each way from a notifier to a handler counts, since each could need an invocation.",
				Hint:    "let the handlers at the end be notified directly, or mark them with defer",
				Range:   p.nodes[i].d.Range,
			})
			return
		}
		p.requireNodes(i)
		p.notifyNodes(i)
	}
}

func (p *planner) add(n node) int {
	p.nodes = append(p.nodes, &n)
	return len(p.nodes) - 1
}

// baseOf gives the node of d that always runs, and makes it where it is new.
func (p *planner) baseOf(d *decl) int {
	i := p.baseNode(d, false)
	p.nodes[i].wave = false // a deferred handler may have been notified first
	return i
}

func (p *planner) baseNode(d *decl, wave bool) int {
	if d.base < 0 {
		d.base = p.add(node{d: d, wave: wave, tail: d.Defer})
		if d.isState() {
			d.waves = append(d.waves, d.base)
		}
	}
	return d.base
}

// invocable reports a state that only a run can invoke, though none does.
func (p *planner) invocable(d *decl, at diag.Range) bool {
	if !d.isState() || !d.NeedsRun {
		return true
	}
	p.diags.Add(diag.Diagnostic{
		Summary: d.Address + " is invoked by no run", Range: at,
		Detail:  "It has a param without a default, so that only a run can invoke it.",
		Hint:    "declare a run of it, or give the param a default",
		Related: []diag.Related{{Message: d.Address + " is declared here", Range: d.Range}},
	})
	return false
}

func (p *planner) requireNodes(i int) {
	n := p.nodes[i]
	list := n.d.requires
	if n.pin != nil {
		list = slices.Clone(list)
		for _, b := range append(ancestors(n.pin.block.blocks), n.pin.block) {
			list = append(list, p.ownRequires(b)...)
		}
		list = uniqueRequires(list)
	}
	for _, r := range effectiveRequires(list) {
		switch {
		case !p.invocable(r.to, r.at):
		case r.to.Defer && !n.tail:
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s requires %s, which is deferred", n.d.Address, r.to.Address), Range: r.at,
				Detail:  "A deferred state runs after everything else.",
				Hint:    "take defer away from it, or the requirement",
				Related: []diag.Related{{Message: r.to.Address + " is declared here", Range: r.to.Range}},
			})
		case !n.wave && !n.tail && n.pin == nil && r.to.absent && n.d.absent:
			for _, to := range leaves(r.to) {
				n.reverse = append(n.reverse, edge{to: p.baseOf(to), at: r.at})
			}
		default:
			n.requires = append(n.requires, edge{to: p.baseOf(r.to), at: r.at, by: r.component})
		}
	}
}

// effectiveRequires replaces what is left out by what it requires itself.
func effectiveRequires(list []require) []require {
	if !slices.ContainsFunc(list, func(r require) bool { return r.to.isOmitted || r.to.isBlock() }) {
		return list
	}
	var out []require
	seen := make(map[*decl]bool)
	var add func(r require)
	add = func(r require) {
		to := r.to
		if seen[to] {
			return
		}
		seen[to] = true
		in := func(d *decl) require { return require{to: d, at: r.at, component: r.component} }
		if !to.isOmitted {
			out = append(out, r)
			if to.confirm != nil {
				out = append(out, in(to.confirm))
			}
		} else {
			for _, next := range to.requires {
				add(in(next.to))
			}
		}
		for _, m := range to.members {
			if m.isOmitted || m.isBlock() && to.isOmitted {
				add(in(m))
			}
		}
	}
	for _, r := range list {
		add(r)
	}
	return uniqueRequires(out)
}

func (p *planner) notifyNodes(i int) {
	n := p.nodes[i]
	for rest := n.d.notes; len(rest) > 0; {
		h := rest[0].handler
		end := slices.IndexFunc(rest, func(m note) bool { return m.handler != h })
		if end < 0 {
			end = len(rest)
		}
		c := cause{from: i, notes: rest[:end]}
		rest = rest[end:]
		h.isNotified = true
		if h.Defer {
			w := p.baseNode(h, true)
			p.nodes[w].sources = append(p.nodes[w].sources, c)
			continue
		}
		w := p.add(node{d: h, wave: true, tail: n.tail, sources: []cause{c}})
		h.waves = append(h.waves, w)
		n.causes = append(n.causes, w)
	}
}

// leaves gives the invocations of a block that run by themselves, or of a
// declaration that is none, itself.
func leaves(d *decl) []*decl {
	if !d.isBlock() {
		return []*decl{d}
	}
	var out []*decl
	for _, m := range d.members {
		if !m.isOmitted && (!m.lazy || m.base >= 0) && m.confirms == nil {
			out = append(out, leaves(m)...)
		}
	}
	return uniqueDecls(out)
}

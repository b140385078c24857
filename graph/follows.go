package graph

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// follow is one resolved `follows`: what has it begins when `to` has ended.
type follow struct {
	to *decl
	at diag.Range
	by *decl // the declaration that says so: the one that follows, its state, or a block around it
}

// linkFollows resolves what d comes after: by its own option, those of its parts, of
// the state that it invokes and of the blocks that hold it.
func (p *planner) linkFollows(d *decl) {
	list := append(p.follows(d, d.Options.Follows), p.follows(d, d.Within)...)
	if d.state != nil {
		list = append(list, p.follows(d.state, d.state.Options.Follows)...)
	}
	for i := range d.Parts {
		if part := &d.Parts[i]; !part.Options.LeftOut {
			list = append(list, p.follows(d, part.Options.Follows)...)
		}
	}
	for _, b := range ancestors(d.blocks) {
		list = append(list, p.follows(b, b.Options.Follows)...)
	}
	d.follows = uniqueFollows(list)
}

// follows resolves references of d, but for those to its own parts. A state means all of
// its invocations, those of its runs included.
func (p *planner) follows(d *decl, refs []states.Ref) []follow {
	var list []follow
	for _, r := range refs {
		if isOwnPart(d, r) {
			continue
		}
		for _, to := range p.lookup(r) {
			list = append(list, follow{to, r.Range, d})
			for _, run := range to.runs {
				list = append(list, follow{run, r.Range, d})
			}
		}
	}
	return list
}

func uniqueFollows(list []follow) []follow {
	slices.SortStableFunc(list, func(a, b follow) int { return cmp.Compare(a.to.index, b.to.index) })
	return slices.CompactFunc(list, func(a, b follow) bool { return a.to == b.to })
}

// checkFollows reports what cannot be followed.
func (p *planner) checkFollows(d *decl) {
	refs := slices.Clone(d.Options.Follows)
	for i := range d.Parts {
		refs = append(refs, d.Parts[i].Options.Follows...)
	}
	for _, f := range p.follows(d, refs) {
		if !f.to.Defer {
			continue
		}
		p.diags.Add(diag.Diagnostic{
			Summary: d.Address + " follows " + f.to.Address + ", which is deferred", Range: f.at,
			Detail:  "A deferred state runs after everything else.",
			Hint:    "take defer away from it, or what follows it; a handler that it notifies runs after it",
			Related: []diag.Related{{Message: f.to.Address + " is declared here", Range: f.to.Range}},
		})
	}
}

// effectiveFollows gives what is followed, since it is named or by way of what is left out:
// that hands on what it follows and what it requires. So does a block that holds nothing.
func (p *planner) effectiveFollows(d *decl, requires []require, follows []follow) []follow {
	type way struct {
		to       *decl
		followed bool
	}
	seen := map[way]bool{}
	var out []follow
	var add func(f follow, followed bool)
	add = func(f follow, followed bool) {
		to := f.to
		if seen[way{to, followed}] {
			return
		}
		seen[way{to, followed}] = true
		if !to.isOmitted && followed {
			out = append(out, f)
			if to.confirm != nil {
				out = append(out, follow{to.confirm, f.at, f.by})
			}
		}
		if to.isOmitted || to.isBlock() && len(p.nodes.contents(to)) == 0 {
			for _, r := range to.requires {
				add(follow{r.to, f.at, f.by}, followed)
			}
			for _, next := range to.follows {
				add(follow{next.to, f.at, f.by}, true)
			}
		}
		for _, m := range to.members {
			if m.isOmitted || m.isBlock() && to.isOmitted {
				add(follow{m, f.at, f.by}, followed)
			}
		}
	}
	for _, r := range requires {
		add(follow{r.to, r.at, d}, false)
	}
	for _, f := range follows {
		add(f, true)
	}
	return uniqueFollows(out)
}

// followEdges are the edges of `follows`, before waves are merged.
type followEdges struct {
	of map[[2]int]follow // from an earlier node to a later one
	// chained are, for a handler, those that follow it and bring waves of it about: which of
	// its waves come after which of theirs is known when both are merged.
	chained map[*decl][]*decl
	caused  map[*decl]map[int]bool // see causedBy
}

// drawFollows adds the edges from what is always invoked.
func (p *planner) drawFollows() {
	p.followed = followEdges{of: map[[2]int]follow{}, chained: map[*decl][]*decl{}, caused: map[*decl]map[int]bool{}}
	if !slices.ContainsFunc(p.decls, func(d *decl) bool { return len(d.follows) > 0 }) {
		return
	}
	effective := make(map[*decl][]follow)
	for i, n := range p.nodes {
		if n.d.isBlock() && len(p.nodes.contents(n.d)) > 0 {
			continue // what it holds follows, and so it begins later
		}
		list, known := effective[n.d]
		if !known {
			list = p.effectiveFollows(n.d, n.d.requires, n.d.follows)
			effective[n.d] = list
		}
		if n.pin != nil {
			var around []follow
			for _, b := range append(ancestors(n.pin.block.blocks), n.pin.block) {
				around = append(around, p.follows(b, b.Options.Follows)...)
			}
			list = uniqueFollows(slices.Concat(list, p.effectiveFollows(n.d, nil, around)))
		}
		n.follows = list
		for _, f := range list {
			if n.isReversedBy(f) {
				for _, to := range leaves(f.to) {
					if to.base >= 0 {
						n.reverse = append(n.reverse, edge{to: to.base, at: f.at, isOrder: true})
					}
				}
			} else if f.to.base >= 0 {
				p.comeAfter(f.to.base, i, f)
			}
		}
	}
}

// isReversedBy reports whether both are taken away: then what was set up last goes first.
func (n *node) isReversedBy(f follow) bool {
	return !n.wave && !n.tail && n.pin == nil && f.to.absent && n.d.absent
}

// comeAfter draws one edge.
func (p *planner) comeAfter(earlier, i int, f follow) {
	n := p.nodes[i]
	n.after = append(n.after, earlier)
	if slices.Contains(p.order.pred[i], earlier) {
		return // it does so anyway
	}
	p.order.edge(earlier, i)
	p.followed.of[[2]int{earlier, i}] = f
}

// drawWaveFollows adds the edges from the waves of handlers, and from what blocks call in
// their lists: from all that do not come after what follows them.
func (p *planner) drawWaveFollows() (sound bool) {
	type found struct {
		earlier, i int
		f          follow
	}
	var list []found
	for i, n := range p.nodes {
		for _, f := range n.follows {
			waves := slices.DeleteFunc(slices.Concat(f.to.waves, f.to.pinNodes), func(w int) bool { return w == f.to.base })
			if len(waves) == 0 || n.isReversedBy(f) {
				continue
			}
			p.order.inPosition(waves)
			later, caused := p.later(i, waves[len(waves)-1]), p.causedBy(f.by)
			for _, w := range waves {
				switch {
				case later[w]:
				case caused[w]:
					p.chain(f.to, n.d)
				default:
					list = append(list, found{w, i, f})
				}
			}
		}
	}
	if len(list) == 0 {
		return true
	}
	for _, x := range list {
		p.comeAfter(x.earlier, x.i, x.f)
	}
	return p.sortNodes()
}

// chain notes that a handler is followed by what brings waves of it about.
func (p *planner) chain(handler, by *decl) {
	if list := p.followed.chained[handler]; !slices.Contains(list, by) {
		p.followed.chained[handler] = append(list, by)
	}
}

// later gives the nodes that come after node i, up to the last that is asked for.
func (p *planner) later(i, last int) map[int]bool {
	end := p.order.position[last]
	found, _ := p.order.search(p.order.succ, []int{i}, func(at int) int { return sign(at <= end) })
	out := make(map[int]bool, len(found))
	for _, x := range found {
		out[x] = true
	}
	return out
}

// causedBy gives the waves that come of any invocation of a declaration, its other instances
// and, of a block, what it holds: what follows as a whole cannot follow what itself brings
// about.
func (p *planner) causedBy(by *decl) map[int]bool {
	if known := p.followed.caused[by]; known != nil {
		return known
	}
	out := map[int]bool{}
	var queue []int
	for _, d := range p.whole(by) {
		queue = append(queue, slices.Concat(baseOnly(d), d.waves, d.pinNodes)...)
	}
	for len(queue) > 0 {
		x := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, w := range p.nodes[x].causes {
			if !out[w] {
				out[w] = true
				queue = append(queue, w)
			}
		}
	}
	p.followed.caused[by] = out
	return out
}

// whole gives a declaration with its other instances, its runs and, of a block, what it holds.
func (p *planner) whole(by *decl) []*decl {
	list := []*decl{by}
	list = append(list, p.byBase[by.Base]...)
	for k := 0; k < len(list); k++ {
		list = append(list, slices.Concat(list[k].runs, list[k].members, list[k].rescue, list[k].always)...)
	}
	return uniqueDecls(list)
}

// followMerged orders the merged waves of a handler and of what follows it, where they come of
// that and nothing else orders them.
func (p *planner) followMerged(h *decl) {
	for _, d := range p.followed.chained[h] {
		for _, x := range slices.Concat(baseOnly(d), d.waves, d.pinNodes) {
			for _, w := range h.waves {
				x, w := p.order.find(x), p.order.find(w)
				if x != w && p.order.insert(w, x) {
					p.nodes[x].after = append(p.nodes[x].after, w)
				}
			}
		}
	}
}

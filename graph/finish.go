package graph

import (
	"cmp"
	"slices"
)

// final is an invocation or block of the StateRun: one node, or several merged
// waves. Its number is its place in finals: by declaration, then by order.
type final struct {
	d            *decl
	nodes        []int
	handler      bool // runs only when notified
	requires     []int
	predecessors []int
	causes       []notificationCause
	joined       []named // the `follows` that make it one of several waves
	wave         int     // from 1; 0: the only one
	address      string
}

// notificationCause is one notification of a final.
type notificationCause struct {
	from int
	*note
}

// join is a node that ends when all before it have.
type join struct{ after []int }

// manyEdges is the number of edges between two groups that a join replaces.
const manyEdges = 64

// finish makes the invocations out of the merged nodes, with their direct
// predecessors.
func (p *planner) finish() {
	p.number()
	for i := range p.finals {
		p.connect(i)
	}
	p.soft = newOrder(len(p.finals))
	for i, f := range p.finals {
		for _, r := range f.requires {
			p.soft.edge(r, i)
		}
		for _, n := range f.causes {
			p.soft.edge(n.from, i)
		}
		for _, a := range f.predecessors {
			p.soft.edge(a, i)
		}
	}
	for i, f := range p.finals {
		if f.d.isBlock() {
			p.finishBlock(i)
		}
	}
	p.finishTail()
	p.order, p.closures, p.mergedNodes = nil, nil, nil // a Result keeps the plan
}

// number collects the nodes that were not merged into others, with those that
// were.
func (p *planner) number() {
	p.finalOf = make([]int, len(p.nodes))
	var reps []int
	for i := range p.nodes {
		if p.order.find(i) == i {
			reps = append(reps, i)
		}
	}
	slices.SortFunc(reps, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.nodes[a].d.index, p.nodes[b].d.index), cmp.Compare(p.order.position[a], p.order.position[b]))
	})
	for k, i := range reps {
		f := &final{d: p.nodes[i].d, handler: true, nodes: p.mergedNodes[i], joined: p.yielded.joined[i]}
		for _, x := range f.nodes {
			p.finalOf[x] = k
			f.handler = f.handler && p.nodes[x].wave
		}
		p.finals = append(p.finals, f)
	}
}

// connect collects what an invocation requires, what it waits for so that this
// has settled, what notifies it, and what the check of a block comes after.
func (p *planner) connect(i int) {
	f := p.finals[i]
	for _, x := range f.nodes {
		n := p.nodes[x]
		for _, e := range n.requires {
			f.requires = append(f.requires, p.finalOf[e.to])
			for _, w := range e.waits {
				f.requires = append(f.requires, p.finalOf[w])
			}
		}
		for _, c := range n.sources {
			for k := range c.notes {
				f.causes = append(f.causes, notificationCause{p.finalOf[c.from], &c.notes[k]})
			}
		}
	}
	for _, x := range f.nodes {
		f.predecessors = append(f.predecessors, p.toFinals(p.nodes[x].after)...)
	}
	slices.Sort(f.predecessors)
	f.predecessors = slices.Compact(f.predecessors)
	slices.Sort(f.requires)
	f.requires = slices.Compact(f.requires)
	sortNotified(f.causes)
	f.causes = slices.CompactFunc(f.causes, func(a, b notificationCause) bool {
		return a.from == b.from && a.part == b.part && a.on == b.on
	})
}

func sortNotified(list []notificationCause) {
	slices.SortStableFunc(list, func(a, b notificationCause) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.part, b.part), cmp.Compare(a.on, b.on))
	})
}

// toFinals gives the finals of nodes.
func (o *outline) toFinals(nodes []int) []int {
	out := make([]int, len(nodes))
	for k, i := range nodes {
		out[k] = o.finalOf[i]
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// finishBlock orders a block after what it holds, its rescue list after its
// members, and its always list after both.
func (p *planner) finishBlock(i int) {
	b := p.finals[i].d
	before := p.toFinals(p.nodes.listNodes(b, memberList))
	for _, list := range []place{rescueList, alwaysList} {
		p.bundle(before, p.toFinals(p.nodes.allNodes(b, list)))
		before = append(before, p.toFinals(p.nodes.listNodes(b, list))...)
	}
	for _, m := range before {
		p.soft.edge(m, i)
	}
}

// bundle puts all of one group before all of another, where nothing stands
// against it.
func (o *outline) bundle(before, behind []int) {
	if len(before)*len(behind) <= manyEdges {
		for _, to := range behind {
			for _, from := range before {
				o.soft.edge(from, to)
				o.finals[to].predecessors = append(o.finals[to].predecessors, from)
			}
		}
		return
	}
	j := o.soft.add()
	o.joins = append(o.joins, join{after: before})
	for _, from := range before {
		o.soft.edge(from, j)
	}
	for _, to := range behind {
		o.soft.edge(j, to)
		o.finals[to].predecessors = append(o.finals[to].predecessors, j)
	}
}

// finishTail puts deferred handlers behind everything that is not in the tail;
// the last of that are enough.
func (p *planner) finishTail() {
	var deferred, last []int
	tail := func(i int) bool { return p.nodes[p.finals[i].nodes[0]].tail }
	for i, f := range p.finals {
		switch {
		case f.d.Defer && tail(i):
			deferred = append(deferred, i)
		case !tail(i) && !slices.ContainsFunc(p.soft.succ[i], func(y int) bool { return y >= len(p.finals) || !tail(y) }):
			last = append(last, i)
		}
	}
	if len(deferred) > 0 {
		p.bundle(last, deferred)
	}
}

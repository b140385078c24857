package graph

import (
	"container/heap"
	"slices"
)

// merge makes one of the waves of a handler that need not be apart. A wave's
// level is one more than that of the highest wave of the same handler that
// leads to it; waves of one level do not reach each other, so they can be one,
// and each level is reached from the one below, so no fewer would do (Mirsky's
// theorem). Handlers are taken before those that they notify; merging adds
// paths, never takes one away, so what could not be merged never can.
func (p *planner) merge() {
	p.replaced = make(map[int]int)
	for _, h := range p.handlers {
		if len(h.waves) < 2 {
			continue
		}
		p.collapse(h)
		var merged []int
		for _, level := range p.levels(h.waves) {
			merged = append(merged, p.order.merge(level))
		}
		h.waves = merged
	}
}

// collapse leaves one wave of h for each notifier, where notifiers have become
// one. Of several it is the first: what waits for a later one is behind the
// first too.
func (p *planner) collapse(h *decl) {
	groups := make(map[int][]int)
	var notifiers []int
	for _, w := range h.waves {
		if n := p.nodes[w]; n.wave {
			from := p.same(n.sources[0].from)
			if groups[from] == nil {
				notifiers = append(notifiers, from)
			}
			groups[from] = append(groups[from], w)
		}
	}
	if len(notifiers) == len(h.waves) {
		return
	}
	for _, from := range notifiers {
		group := groups[from]
		if len(group) < 2 {
			continue
		}
		levels := p.levels(group)
		first := p.order.merge(levels[0])
		for _, later := range levels[1:] {
			for _, w := range later {
				p.replace(w, first)
			}
		}
	}
	h.waves = slices.DeleteFunc(h.waves, func(w int) bool { return p.same(w) != w })
}

// replace lets an earlier wave stand for a later one: all that was behind the
// later is behind the earlier; what the later waited for no longer matters.
func (p *planner) replace(later, earlier int) {
	o := p.order
	is := func(x int) bool { return x == later }
	for _, y := range o.succ[later] {
		y = o.find(y)
		o.pred[y] = slices.DeleteFunc(o.pred[y], is)
		if y != earlier {
			o.edge(earlier, y)
		}
	}
	for _, x := range o.pred[later] {
		x = o.find(x)
		o.succ[x] = slices.DeleteFunc(o.succ[x], is)
	}
	o.succ[later], o.pred[later] = nil, nil
	p.replaced[later] = earlier
}

// same gives the node that now stands for x.
func (p *planner) same(x int) int {
	for {
		x = p.order.find(x)
		earlier, gone := p.replaced[x]
		if !gone {
			return x
		}
		x = earlier
	}
}

// levels groups waves by how many of them lead to each. It looks only at what
// they reach, up to the last of them.
func (p *planner) levels(waves []int) [][]int {
	o := p.order
	last := 0
	level := make(map[int]int, 2*len(waves)) // the highest that leads to a node
	own := make(map[int]bool, len(waves))
	queue := &keyHeap{key: o.position}
	for _, w := range waves {
		last = max(last, o.position[w])
		own[w] = true
		level[w] = 0
		queue.ids = append(queue.ids, w)
	}
	heap.Init(queue)
	var groups [][]int
	for queue.Len() > 0 {
		x := heap.Pop(queue).(int)
		reached := level[x]
		if own[x] {
			if reached == len(groups) {
				groups = append(groups, nil)
			}
			groups[reached] = append(groups[reached], x)
			reached++
		}
		for _, y := range o.succ[x] {
			if y = o.find(y); o.position[y] > last {
				continue
			}
			before, seen := level[y]
			if !seen {
				heap.Push(queue, y)
			}
			level[y] = max(before, reached)
		}
	}
	return groups
}

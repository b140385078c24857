package graph

import (
	"cmp"
	"slices"
)

// order is a directed acyclic graph with a topological order that is kept up
// to date: Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed
// Acyclic Graphs" (2007). An insertion looks only at nodes between the two ends.
type order struct {
	succ, pred [][]int
	position   []int
	merged     []int // union-find: of each node, the one that it was merged into

	mark  []int // of the last search that reached the node
	stamp int
}

func newOrder(n int) *order {
	o := &order{succ: make([][]int, n), pred: make([][]int, n), position: make([]int, n), merged: make([]int, n), mark: make([]int, n)}
	for i := range n {
		o.merged[i] = i
	}
	return o
}

// add makes a further node.
func (o *order) add() int {
	n := len(o.succ)
	o.succ, o.pred = append(o.succ, nil), append(o.pred, nil)
	o.position, o.mark = append(o.position, n), append(o.mark, 0)
	o.merged = append(o.merged, n)
	return n
}

// edge adds x before y without looking at the order; sort comes after.
func (o *order) edge(x, y int) {
	o.succ[x] = append(o.succ[x], y)
	o.pred[y] = append(o.pred[y], x)
}

// sort places all nodes; among those that may come next the one with the
// smallest key does (Kahn, with a heap). It returns the nodes in order, without
// those that are on a cycle or behind one.
func (o *order) sort(key []int) []int {
	n := len(o.succ)
	waiting := make([]int, n)
	ready := keyHeap{key: key}
	for i := range n {
		if waiting[i] = len(o.pred[i]); waiting[i] == 0 {
			ready.push(i)
		}
	}
	sorted := make([]int, 0, n)
	for len(ready.ids) > 0 {
		x := ready.pop()
		o.position[x] = len(sorted)
		sorted = append(sorted, x)
		for _, y := range o.succ[x] {
			if waiting[y]--; waiting[y] == 0 {
				ready.push(y)
			}
		}
	}
	return sorted
}

// keyHeap is a binary heap of nodes by key, then by number. The standard
// library's would allocate for each number.
type keyHeap struct {
	ids []int
	key []int
}

func (h *keyHeap) less(i, j int) bool {
	a, b := h.ids[i], h.ids[j]
	return h.key[a] < h.key[b] || h.key[a] == h.key[b] && a < b
}

func (h *keyHeap) push(x int) {
	h.ids = append(h.ids, x)
	for i := len(h.ids) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			return
		}
		h.ids[i], h.ids[up] = h.ids[up], h.ids[i]
		i = up
	}
}

func (h *keyHeap) pop() int {
	first, last := h.ids[0], len(h.ids)-1
	h.ids[0] = h.ids[last]
	h.ids = h.ids[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return first
		}
		if down+1 < last && h.less(down+1, down) {
			down++
		}
		if !h.less(down, i) {
			return first
		}
		h.ids[i], h.ids[down] = h.ids[down], h.ids[i]
		i = down
	}
}

// find gives the node that x was merged into.
func (o *order) find(x int) int {
	for o.merged[x] != x {
		o.merged[x] = o.merged[o.merged[x]]
		x = o.merged[x]
	}
	return x
}

// insert adds x before y, unless that closes a cycle: then it returns false and
// has changed nothing.
func (o *order) insert(x, y int) bool {
	x, y = o.find(x), o.find(y)
	if x == y {
		return false
	}
	if o.position[x] > o.position[y] {
		behind, cyclic := o.search(o.succ, []int{y}, func(at int) int { return cmp.Compare(at, o.position[x]) })
		if cyclic {
			return false
		}
		before, _ := o.search(o.pred, []int{x}, func(at int) int { return cmp.Compare(o.position[y], at) })
		o.place(append(o.inPosition(before), o.inPosition(behind)...))
	}
	o.edge(x, y)
	return true
}

// search collects what can be reached from the start while side, of a node's
// position, is below zero; it stops with true where side is zero.
func (o *order) search(edges [][]int, start []int, side func(at int) int) ([]int, bool) {
	o.stamp++
	found := make([]int, 0, 8)
	for _, x := range start {
		o.mark[x] = o.stamp
		found = append(found, x)
	}
	for i := 0; i < len(found); i++ {
		for _, y := range edges[found[i]] {
			if y = o.find(y); o.mark[y] == o.stamp {
				continue
			}
			switch s := side(o.position[y]); {
			case s == 0:
				return nil, true
			case s < 0:
				o.mark[y] = o.stamp
				found = append(found, y)
			}
		}
	}
	return found, false
}

func (o *order) inPosition(nodes []int) []int {
	slices.SortFunc(nodes, func(a, b int) int { return cmp.Compare(o.position[a], o.position[b]) })
	return nodes
}

// place gives the positions that the nodes hold together to them in their
// order.
func (o *order) place(nodes []int) {
	positions := make([]int, len(nodes))
	for i, x := range nodes {
		positions[i] = o.position[x]
	}
	slices.Sort(positions)
	for i, x := range nodes {
		o.position[x] = positions[i]
	}
}

// merge makes one node of several of which none reaches another, and returns
// it. Only nodes between the first and the last of them change places.
func (o *order) merge(group []int) int {
	o.inPosition(group)
	first, last := o.position[group[0]], o.position[group[len(group)-1]]
	before, _ := o.search(o.pred, slices.Clone(group), func(at int) int { return sign(at > first) })
	behind, _ := o.search(o.succ, slices.Clone(group), func(at int) int { return sign(at < last) })
	before, behind = o.inPosition(before[len(group):]), o.inPosition(behind[len(group):])
	o.place(slices.Concat(before, group, behind))
	rep := group[0]
	for _, x := range group[1:] {
		o.merged[x] = rep
		o.succ[rep] = append(o.succ[rep], o.succ[x]...)
		o.pred[rep] = append(o.pred[rep], o.pred[x]...)
		o.succ[x], o.pred[x] = nil, nil
	}
	return rep
}

// sign is a side for search that never stops: inside or not.
func sign(inside bool) int {
	if inside {
		return -1
	}
	return 1
}

// reaches reports whether there is a path from x to y. It looks at budget edges
// at most, and then says no.
func (o *order) reaches(x, y, budget int) bool {
	x, y = o.find(x), o.find(y)
	if x == y {
		return true
	}
	if o.position[x] > o.position[y] {
		return false
	}
	_, hit := o.search(o.pred, []int{y}, func(at int) int {
		if budget--; budget < 0 {
			return 1
		}
		return cmp.Compare(o.position[x], at)
	})
	return hit
}

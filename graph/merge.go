package graph

// merge makes one of the waves of a handler that need not be apart. A wave's
// level is one more than that of the highest wave of the same handler that
// leads to it; waves of one level do not reach each other, so they can be one,
// and each level is reached from the one below, so no fewer would do (Mirsky's
// theorem). Handlers are taken before those that they notify; merging adds
// paths, never takes one away, so what could not be merged never can.
func (p *planner) merge() {
	for _, h := range p.handlers {
		if len(h.waves) > 1 {
			var merged []int
			for _, level := range p.levels(h.waves) {
				merged = append(merged, p.order.merge(level))
			}
			h.waves = merged
		}
		p.followMerged(h)
	}
	p.noteJoined()
}

// levels groups waves by the longest chain of them that leads to each. It looks
// only at what they reach, up to the last of them.
func (p *planner) levels(waves []int) [][]int {
	o := p.order
	last := 0
	level := make(map[int]int, 2*len(waves)) // the highest that leads to a node
	own := make(map[int]bool, len(waves))
	queue := keyHeap{key: o.position}
	for _, w := range waves {
		last = max(last, o.position[w])
		own[w] = true
		level[w] = 0
		queue.push(w)
	}
	var groups [][]int
	for len(queue.ids) > 0 {
		x := queue.pop()
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
				queue.push(y)
			}
			level[y] = max(before, reached)
		}
	}
	return groups
}

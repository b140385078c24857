package graph

import "slices"

// yielded are the waits that gave way before waves were merged.
type yielded struct {
	// without tells, of who waits, what that requires and the handler, whether the wait
	// would give way without `follows`, too.
	without map[[3]*decl]bool
	list    []yield
	joined  map[int][]named // of merged waves: see noteJoined
}

// yield is a wait for a wave that gives way to a `follows`.
type yield struct {
	waiter, wave int
	by           named
	split        []int // further waves of the handler, which would come after the waiter
}

// named is one `follows`: d has it, and names to.
type named struct{ d, to *decl }

// byFollows reports whether `follows` alone makes a wait give way.
func (y *yielded) byFollows(key [3]*decl) bool {
	without, known := y.without[key]
	return known && !without
}

// yield notes that node i cannot wait for a wave, which comes after it.
func (p *planner) yield(i int, required *decl, wave int) {
	if len(p.followed.of) == 0 {
		return
	}
	if p.yielded.without == nil {
		p.yielded.without = map[[3]*decl]bool{}
	}
	key := [3]*decl{p.nodes[i].d, required, p.nodes[wave].d}
	if p.leadsTo(i, wave) {
		p.yielded.without[key] = true
		return
	}
	p.yielded.without[key] = p.yielded.without[key] || false
	p.yielded.list = append(p.yielded.list, yield{waiter: i, wave: wave, by: p.lastFollows(i, wave)})
}

// leadsTo reports whether there is a way from one node to another without `follows`.
func (p *planner) leadsTo(from, to int) bool {
	return slices.Contains(p.between(from, to, false), from)
}

// between gives the nodes that lead to a node, from the position of another on, the last
// first: all of them, or those that do without `follows`.
func (p *planner) between(from, to int, byFollows bool) []int {
	first := p.order.position[from]
	found, seen := []int{to}, map[int]bool{to: true}
	for k := 0; k < len(found); k++ {
		for _, x := range p.order.pred[found[k]] {
			if _, follows := p.followed.of[[2]int{x, found[k]}]; seen[x] || follows && !byFollows || p.order.position[x] < first {
				continue
			}
			seen[x] = true
			found = append(found, x)
		}
	}
	return found
}

// lastFollows gives the `follows` nearest to the end of the ways from one node to another.
func (p *planner) lastFollows(from, to int) named {
	leads := map[int]bool{from: true} // what comes after from
	found := p.between(from, to, true)
	p.order.inPosition(found)
	for _, x := range found {
		leads[x] = leads[x] || slices.ContainsFunc(p.order.pred[x], func(y int) bool { return leads[y] })
	}
	for _, x := range slices.Backward(found) {
		for _, y := range p.order.pred[x] {
			if f, follows := p.followed.of[[2]int{y, x}]; follows && leads[y] {
				return named{p.nodes[x].d, f.to}
			}
		}
	}
	panic("graph: a wait gives way to nothing")
}

// findSplits finds the further waves for whose sake the handler of a wait that gave way
// would have several: those that come after who would wait.
func (p *planner) findSplits() {
	for k := range p.yielded.list {
		y := &p.yielded.list[k]
		for _, w := range p.nodes[y.wave].d.waves {
			if w != y.wave && p.leadsTo(y.waiter, w) {
				y.split = append(y.split, w)
			}
		}
	}
}

// noteJoined notes which `follows` make one of several waves.
func (p *planner) noteJoined() {
	p.yielded.joined = map[int][]named{}
	for k := range p.yielded.list {
		y := &p.yielded.list[k]
		wave := p.order.find(y.wave)
		if slices.ContainsFunc(y.split, func(w int) bool { return p.order.find(w) == wave }) {
			p.yielded.joined[wave] = append(p.yielded.joined[wave], y.by)
		}
	}
}

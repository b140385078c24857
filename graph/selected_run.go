package graph

import (
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// run writes what is kept of a run.
func (x *selector) run(full *states.StateRun) *states.StateRun {
	p := x.plan
	x.keepBlocks()
	x.dropIdle()
	out := *full
	out.Prune, out.Partial = false, true // what is not declared is not selected
	out.Invocations, out.Blocks, out.Joins = nil, nil, nil
	b := newBridge(x)
	x.moveNotifications()
	number := make(map[string]int, len(p.finals))
	for i, f := range p.finals {
		number[f.address] = i
	}
	kept := func(address string) bool { return x.keep[number[address]] }
	for _, j := range b.joins() {
		out.Joins = append(out.Joins, states.Join{Address: p.joinNames[j], After: p.addresses(b.keptBefore(j))})
	}
	for _, inv := range full.Invocations {
		i := number[inv.Address]
		if !x.keep[i] {
			continue
		}
		inv.Requires = filter(inv.Requires, kept)
		inv.NotifiedBy = x.notifications(x.causes[i])
		inv.After = p.addresses(x.afterOf(i, b))
		if inv.Next != nil && !kept(inv.Next.Address) {
			inv.Next = nil
		}
		if x.forced[i] {
			inv.Handler, inv.Always = false, true
		}
		out.Invocations = append(out.Invocations, inv)
	}
	for _, block := range full.Blocks {
		if kept(block.Address) {
			if len(block.After) > 0 {
				block.After = p.addresses(x.afterOf(number[block.Address], b))
			}
			block.Requires, block.Members = filter(block.Requires, kept), filter(block.Members, kept)
			block.Rescue, block.Always = filter(block.Rescue, kept), filter(block.Always, kept)
			out.Blocks = append(out.Blocks, block)
		}
	}
	var declared map[*decl]bool
	out.Handlers, declared = x.handlers(kept)
	out.LeftOut = p.leftOut(func(d *decl) bool { return declared[d] })
	out.Revision = Revision(&out)
	return &out
}

// filter keeps what has a property; nothing stays nil.
func filter(list []string, keep func(string) bool) []string {
	var out []string
	for _, s := range list {
		if keep(s) {
			out = append(out, s)
		}
	}
	return out
}

// keepBlocks keeps a block as long as one of its members is kept, and what
// stands in its lists no longer than that.
func (x *selector) keepBlocks() {
	p := x.plan
	var settle func(i int)
	settle = func(i int) {
		d := p.finals[i].d
		held := p.toFinals(p.nodes.listNodes(d, memberList))
		some := len(held) == 0 && x.keep[i]
		for _, m := range held {
			if p.finals[m].d.isBlock() {
				settle(m)
			}
			some = some || x.keep[m]
		}
		x.keep[i] = some
		if d.confirm != nil {
			x.keep[p.finalOf[d.confirm.base]] = some
		}
		if some {
			return
		}
		for _, list := range []place{rescueList, alwaysList} {
			for _, m := range p.toFinals(p.nodes.allNodes(d, list)) {
				x.keep[m] = false
			}
		}
	}
	for i, f := range p.finals {
		if f.d.isBlock() {
			settle(i)
		}
	}
}

// dropIdle leaves out waves that nothing kept notifies, unless they are targets.
func (x *selector) dropIdle() {
	p := x.plan
	for _, i := range p.runOrder() {
		f := p.finals[i]
		told := slices.ContainsFunc(f.causes, func(n notificationCause) bool { return x.keep[n.from] })
		x.keep[i] = x.keep[i] && (told || !f.handler || x.named[i])
	}
}

// moveNotifications drops notifiers that are not kept; a wave that is not kept
// hands what it is told to the next one of its handler, if there is one.
func (x *selector) moveNotifications() {
	p := x.plan
	x.causes = make([][]notificationCause, len(p.finals))
	var next *final
	var last int
	for i, f := range slices.Backward(p.finals) {
		for _, n := range f.causes {
			if x.keep[n.from] {
				x.causes[i] = append(x.causes[i], n)
			}
		}
		if p.nodes[f.nodes[0]].pin != nil {
			continue // of a rescue or always list: no wave
		}
		if next == nil || next.d != f.d {
			next = nil
		}
		if x.keep[i] {
			next, last = f, i
		} else if next != nil && len(f.d.waves) > 1 {
			x.causes[last] = append(x.causes[last], x.causes[i]...)
			x.causes[i] = nil
		}
	}
}

func (x *selector) notifications(list []notificationCause) []states.Notification {
	sortNotified(list)
	var out []states.Notification
	for _, n := range list {
		out = append(out, x.plan.notification(n))
	}
	return slices.Compact(out)
}

// afterOf gives what a final comes after: its own order, and whatever was
// before it by way of what is left out.
func (x *selector) afterOf(i int, b *bridge) []int {
	f := x.plan.finals[i]
	var own []int
	for _, a := range f.predecessors {
		if b.isKept(a) {
			own = append(own, a)
		}
	}
	for _, a := range x.plan.soft.pred[i] {
		own = append(own, b.otherKeptBefore(a)...)
	}
	return slices.DeleteFunc(own, func(a int) bool {
		return slices.Contains(f.requires, a) ||
			slices.ContainsFunc(x.causes[i], func(n notificationCause) bool { return n.from == a })
	})
}

// handlers lists the lazy states that nothing invokes in the selection.
// Declared are these, and what is invoked.
func (x *selector) handlers(kept func(string) bool) (out []states.Invocation, declared map[*decl]bool) {
	p := x.plan
	invoked := make(map[*decl]bool)
	told := make(map[*decl][]notificationCause)
	for i, f := range p.finals {
		if x.keep[i] {
			invoked[f.d] = true
		} else {
			told[f.d] = append(told[f.d], x.causes[i]...)
		}
	}
	unused := &Result{Sources: make(map[string]diag.Range)}
	declared = invoked
	var idle []*decl
	for _, d := range p.decls {
		if !d.isState() || d.isOmitted || d.NeedsRun || invoked[d] || !d.lazy && len(told[d]) == 0 || len(d.pinNodes) > 0 && len(d.waves) == 0 {
			continue
		}
		inv := p.idleHandler(unused, d)
		inv.Requires = filter(inv.Requires, func(a string) bool { return p.byAddress[a] != nil || kept(a) })
		inv.NotifiedBy = x.notifications(told[d])
		inv.LeftOut = x.isLeftOut(d)
		out = append(out, inv)
		idle = append(idle, d)
	}
	for _, d := range idle {
		declared[d] = true
	}
	return out, declared
}

// bridge finds the order among what is kept by way of what is not.
type bridge struct {
	x       *selector
	results map[int][]int
}

func newBridge(x *selector) *bridge { return &bridge{x: x, results: make(map[int][]int)} }

// isKept reports whether a final is kept, or a join still has something before it.
func (b *bridge) isKept(i int) bool {
	if i < len(b.x.plan.finals) {
		return b.x.keep[i]
	}
	return len(b.keptBefore(i)) > 0
}

// keptBefore gives what is kept before a node, without what lies before that.
func (b *bridge) keptBefore(i int) []int {
	if list, ok := b.results[i]; ok {
		return list
	}
	var list []int
	for _, a := range b.x.plan.soft.pred[i] {
		if b.isKept(a) {
			list = append(list, a)
		}
		list = append(list, b.otherKeptBefore(a)...)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	b.results[i] = list
	return list
}

// otherKeptBefore gives what else is before something that comes after node a: what lies
// before a that is not kept, or before those members of block a that are not,
// since a block waits for its members alone.
func (b *bridge) otherKeptBefore(a int) []int {
	p := b.x.plan
	if !b.isKept(a) {
		return b.keptBefore(a)
	}
	if a >= len(p.finals) || !p.finals[a].d.isBlock() {
		return nil
	}
	var list []int
	for _, m := range p.soft.pred[a] {
		list = append(list, b.otherKeptBefore(m)...)
	}
	return list
}

// joins lists the joins that are needed still, in the order of the run.
func (b *bridge) joins() []int {
	p := b.x.plan
	var out []int
	for j := len(p.finals); j < len(p.soft.succ); j++ {
		if b.isKept(j) {
			out = append(out, j)
		}
	}
	return p.soft.inPosition(out)
}

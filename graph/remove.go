package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// Removal is an invocation or a block that Remove has left out.
type Removal struct {
	Address string `json:"address"`
	Why     string `json:"why,omitempty"` // empty: it was to be left out
}

// Remove gives a run without some of its invocations, and without what requires
// them, is guarded by what they would change, or is a handler that nothing else
// notifies. The order among the rest stays as it is. A block goes on without
// one of its members, unless it has a check to confirm it; what requires the
// block does not. Handlers that are left out stay in StateRun.Handlers, and all
// resources are among those left out.
func Remove(run *states.StateRun, addresses []string) (*states.StateRun, []Removal) {
	w := &remover{run: run, removed: map[string]string{}, incomplete: map[string]bool{}, owner: owners(run)}
	for _, a := range addresses {
		w.removed[a] = ""
	}
	for before := -1; before != len(w.removed)+len(w.incomplete); {
		before = len(w.removed) + len(w.incomplete)
		for i := range run.Blocks {
			w.block(&run.Blocks[i])
		}
		for i := range run.Invocations {
			w.invocation(&run.Invocations[i])
		}
	}
	return w.remainingRun(), w.removals()
}

// remover works out what is left out of a run.
type remover struct {
	run        *states.StateRun
	removed    map[string]string // address → why
	incomplete map[string]bool   // blocks without some of their members
	owner      map[string]string
}

func (w *remover) drop(address, format string, args ...any) {
	if _, gone := w.removed[address]; !gone {
		w.removed[address] = fmt.Sprintf(format, args...)
	}
}

func (w *remover) isRemoved(address string) bool {
	_, gone := w.removed[address]
	return gone
}

// isUnmet reports whether a requirement of what has this address can be met no more.
func (w *remover) isUnmet(address string) bool { return w.isRemoved(address) || w.incomplete[address] }

// blockContents lists all that stands in a block.
func blockContents(b *states.Block) []string { return slices.Concat(b.Members, b.Rescue, b.Always) }

// block decides about a block, and what is in it.
func (w *remover) block(b *states.Block) {
	if slices.ContainsFunc(blockContents(b), w.isUnmet) {
		w.incomplete[b.Address] = true
	}
	if k := slices.IndexFunc(b.Requires, w.isUnmet); k >= 0 {
		w.drop(b.Address, "it requires %s", b.Requires[k])
	}
	if len(b.Members) > 0 && !slices.ContainsFunc(b.Members, func(m string) bool { return !w.isRemoved(m) }) {
		w.drop(b.Address, "nothing is left of it")
	}
	if b.Confirm != nil && w.incomplete[b.Address] {
		w.drop(b.Address, "it is confirmed as a whole")
	}
	if w.isRemoved(b.Address) {
		for _, m := range blockContents(b) {
			w.drop(m, "it is in %s", b.Address)
		}
	}
}

func (w *remover) invocation(inv *states.Invocation) {
	if k := slices.IndexFunc(inv.Requires, w.isUnmet); k >= 0 {
		w.drop(inv.Address, "it requires %s", inv.Requires[k])
	}
	for _, block := range []string{inv.Rescues, inv.Finishes, inv.Confirms} {
		if block != "" && w.isRemoved(block) {
			w.drop(inv.Address, "it belongs to %s", block)
		}
	}
	guards := slices.Clone(inv.Guards)
	for i := range inv.Parts {
		guards = append(guards, inv.Parts[i].Guards...)
	}
	for _, g := range guards {
		if k := slices.IndexFunc(g.WouldChange, w.isUnmet); k >= 0 {
			w.drop(inv.Address, "its guard asks whether %s would change", g.WouldChange[k])
		}
	}
	told := func(n states.Notification) bool { return !w.isRemoved(w.owner[n.Address]) }
	if inv.Handler && !inv.Always && len(inv.NotifiedBy) > 0 && !slices.ContainsFunc(inv.NotifiedBy, told) {
		w.drop(inv.Address, "nothing else notifies it")
	}
}

// removals lists what is left out, in the order of the run.
func (w *remover) removals() []Removal {
	var list []Removal
	add := func(address string) {
		if why, gone := w.removed[address]; gone {
			list = append(list, Removal{address, why})
		}
	}
	for i := range w.run.Invocations {
		add(w.run.Invocations[i].Address)
	}
	for i := range w.run.Blocks {
		add(w.run.Blocks[i].Address)
	}
	for i := range w.run.Handlers {
		add(w.run.Handlers[i].Address)
	}
	return list
}

// remainingRun writes the run that is left.
func (w *remover) remainingRun() *states.StateRun {
	out := *w.run
	out.Invocations, out.Blocks, out.Partial = nil, nil, true
	out.Joins, out.Handlers, out.LeftOut = slices.Clone(out.Joins), slices.Clone(out.Handlers), slices.Clone(out.LeftOut)
	joins := w.joins(&out)
	through := func(list []string) []string {
		list = slices.Clone(list)
		for i, a := range list {
			list[i] = cmp.Or(joins[a], a)
		}
		return list
	}
	for i := range out.Joins {
		out.Joins[i].After = through(out.Joins[i].After)
	}
	kept := map[string]bool{}
	for _, inv := range w.run.Invocations {
		if w.isRemoved(inv.Address) {
			continue
		}
		inv.After = through(inv.After)
		var told []states.Notification
		for _, n := range inv.NotifiedBy {
			if join := joins[w.owner[n.Address]]; join == "" {
				told = append(told, n)
			} else if !slices.Contains(inv.After, join) {
				inv.After = append(inv.After, join)
			}
		}
		inv.NotifiedBy = told
		if inv.Next != nil && w.isRemoved(inv.Next.Address) {
			inv.Next = nil
		}
		out.Invocations = append(out.Invocations, inv)
		kept[states.WithoutWave(inv.Address)] = true
	}
	for _, b := range w.run.Blocks {
		if !w.isRemoved(b.Address) {
			b.Members, b.Rescue, b.Always, b.After = w.keep(b.Members), w.keep(b.Rescue), w.keep(b.Always), through(b.After)
			out.Blocks = append(out.Blocks, b)
		}
	}
	w.updateLeftOut(&out, kept)
	out.Revision = Revision(&out)
	return &out
}

// joins puts a join in the place of all that is left out, so that what came
// before it still comes before what came after it. It gives their names.
func (w *remover) joins(out *states.StateRun) map[string]string {
	names := map[string]string{}
	add := func(address string, after []string) {
		names[address] = fmt.Sprintf("join#left%d", len(names)+1)
		out.Joins = append(out.Joins, states.Join{Address: names[address], After: after})
	}
	for i := range w.run.Invocations {
		if inv := &w.run.Invocations[i]; w.isRemoved(inv.Address) {
			after := slices.Concat(inv.Requires, inv.After)
			for _, n := range inv.NotifiedBy {
				after = append(after, w.owner[n.Address])
			}
			add(inv.Address, after)
		}
	}
	for i := range w.run.Blocks {
		if b := &w.run.Blocks[i]; w.isRemoved(b.Address) {
			add(b.Address, slices.Concat(b.Requires, b.After, blockContents(b)))
		}
	}
	return names
}

// updateLeftOut says what is declared and not in the run.
func (w *remover) updateLeftOut(out *states.StateRun, kept map[string]bool) {
	for i := range out.Handlers {
		out.Handlers[i].LeftOut = out.Handlers[i].LeftOut || w.isRemoved(out.Handlers[i].Address)
	}
	idle := map[string]int{} // where a handler stands in out.Handlers
	for _, inv := range w.run.Invocations {
		handler := states.WithoutWave(inv.Address)
		if !w.isRemoved(inv.Address) {
			continue
		}
		if inv.Handler || inv.Always {
			told := slices.DeleteFunc(slices.Clone(inv.NotifiedBy), func(n states.Notification) bool { return w.isRemoved(w.owner[n.Address]) })
			if at, there := idle[handler]; there {
				out.Handlers[at].NotifiedBy = append(out.Handlers[at].NotifiedBy, told...)
			} else if !kept[handler] || len(told) > 0 { // what still notifies it owes it that
				idle[handler] = len(out.Handlers)
				out.Handlers = append(out.Handlers, leftOutHandler(inv, told))
			}
			continue
		}
		if kept[handler] {
			continue
		}
		for _, p := range inv.Parts {
			out.LeftOut = append(out.LeftOut, states.Resource{Type: p.Type, Key: p.Key, Address: states.WithoutWave(p.Address)})
		}
	}
	slices.SortStableFunc(out.LeftOut, func(a, b states.Resource) int { return cmp.Compare(a.Address, b.Address) })
}

// leftOutHandler gives a handler of which a wave is left out.
func leftOutHandler(wave states.Invocation, told []states.Notification) states.Invocation {
	idle := wave
	idle.Address, idle.Handler, idle.Always, idle.LeftOut = states.WithoutWave(wave.Address), true, false, true
	idle.Requires, idle.After, idle.NotifiedBy, idle.Parts = nil, nil, told, slices.Clone(wave.Parts)
	for k := range idle.Parts {
		idle.Parts[k].Address = states.WithoutWave(idle.Parts[k].Address)
	}
	return idle
}

func (w *remover) keep(list []string) []string {
	return filter(list, func(a string) bool { return !w.isRemoved(a) })
}

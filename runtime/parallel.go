package runtime

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/states"
)

// parallel runs the parts of an invocation side by side, each after those that
// it requires, which must succeed, and after those before it that touch the
// same thing. One at a time they go in their order.
func (e *engine) parallel(ctx context.Context, i *invocation) {
	parts := inRequiredOrder(i.node.inv.Parts)
	after := conflictingParts(e.options.Registry, parts)
	slots := make(chan struct{}, e.options.Parallel)
	done := make(map[string]chan struct{}, len(parts))
	for _, p := range parts {
		done[p.Address] = make(chan struct{})
	}
	run := func(k int, p *states.Part) {
		defer close(done[p.Address])
		defer e.halt()
		for _, other := range after[k] {
			if other != k { // a part may name a path twice
				<-done[parts[other].Address]
			}
		}
		for _, r := range p.After {
			if ended := done[r]; ended != nil {
				<-ended
			}
		}
		for _, r := range p.Requires {
			if ended := done[r]; ended != nil {
				<-ended
			}
			if isFailure(i.outcomeOf(r)) {
				i.leavePart(p, r)
				return
			}
		}
		slots <- struct{}{}
		defer func() { <-slots }()
		if ctx.Err() == nil {
			// The invocation holds the locks against others, not its parts
			// against one another.
			defer e.locks.acquire(prefixed("part:"+i.node.address+":", p.Options.Locks))()
			e.actOnSteps(ctx, []*step{e.newStep(i, p)})
		}
	}
	if e.options.Parallel == 1 { // as in every plan
		for k, p := range parts {
			run(k, p)
		}
		return
	}
	var all fault.Group
	for k, p := range parts {
		all.Go(func() { run(k, p) })
	}
	all.Wait()
}

// conflictingParts lists, for each part, those before it that name the same or nested
// paths, or the same resource: what they do to it must not be mixed. The same holds
// for those that set an account up and those that need it.
func conflictingParts(registry *states.Registry, parts []*states.Part) [][]int {
	after := make([][]int, len(parts))
	at := map[string][]int{}    // by path, who names it
	below := map[string][]int{} // by path, who names something below it
	resource := map[string]int{}
	holders, users := map[string][]int{}, map[string][]int{} // by account
	var anything []int                                       // parts whose paths or keys only the host knows
	for k, p := range parts {
		m := registry.ModuleOf(p.Type)
		if m == nil {
			continue
		}
		if hasComputedPath(m, p) { // it may touch anything
			after[k] = numbersBelow(k)
			anything = append(anything, k)
			continue
		}
		after[k] = append(after[k], anything...)
		name := p.Type + "\x00" + p.Key
		if other, ok := resource[name]; ok && p.Key != "" {
			after[k] = append(after[k], other)
		}
		resource[name] = k
		own, needed := m.Accounts(p.Values)
		if m.Needs != nil && p.Ensure != states.Absent {
			needed = append(needed, m.Needs(p.Values)...)
		}
		for _, account := range append(needed, "user "+p.Options.Become) {
			after[k] = append(after[k], holders[account]...)
			users[account] = append(users[account], k)
		}
		for _, account := range own {
			after[k] = append(append(after[k], holders[account]...), users[account]...)
			holders[account] = append(holders[account], k)
		}
		for _, touched := range pathsOf(m, p) {
			touched = path.Clean(touched)
			after[k] = append(append(after[k], at[touched]...), below[touched]...)
			at[touched] = append(at[touched], k)
			for dir := touched; dir != "/" && strings.HasPrefix(dir, "/"); {
				dir = path.Dir(dir)
				after[k] = append(after[k], at[dir]...)
				below[dir] = append(below[dir], k)
			}
		}
	}
	return after
}

// hasComputedPath reports whether a key or a path that a part names depends on results.
func hasComputedPath(m *states.Module, p *states.Part) bool {
	for name := range p.Results {
		if a := m.Attribute(name); a != nil && (a.Key || a.Path) {
			return true
		}
	}
	return slices.ContainsFunc(p.Guards, func(g states.Guard) bool { return g.Results["exists"] != nil || g.Results["missing"] != nil })
}

// numbersBelow lists all numbers below k.
func numbersBelow(k int) []int {
	list := make([]int, k)
	for i := range list {
		list[i] = i
	}
	return list
}

// pathsOf are the paths that a part names, those of its guards included.
func pathsOf(m *states.Module, p *states.Part) []string {
	paths := m.Paths(p.Values)
	for _, g := range p.Guards {
		for _, path := range []string{g.Exists, g.Missing} {
			if path != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func (i *invocation) outcomeOf(part string) states.Outcome {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.parts[part]
}

func (i *invocation) leavePart(p *states.Part, by string) {
	i.mu.Lock()
	i.parts[p.Address] = states.Blocked
	i.mu.Unlock()
	i.engine.endBlocked(i.node, p, by, i.node.causes[by])
}

// inRequiredOrder gives the parts in their order, each after what it requires or follows.
func inRequiredOrder(parts []states.Part) []*states.Part {
	out := make([]*states.Part, 0, len(parts))
	index := make(map[string]*states.Part, len(parts))
	for _, p := range pointers(parts) {
		index[p.Address] = p
	}
	placed := map[string]bool{}
	var place func(p *states.Part)
	place = func(p *states.Part) {
		if placed[p.Address] {
			return
		}
		placed[p.Address] = true
		for _, r := range slices.Concat(p.Requires, p.After) {
			if q := index[r]; q != nil {
				place(q)
			}
		}
		out = append(out, p)
	}
	for _, p := range pointers(parts) {
		place(p)
	}
	return out
}

func pointers(parts []states.Part) []*states.Part {
	out := make([]*states.Part, len(parts))
	for k := range parts {
		out[k] = &parts[k]
	}
	return out
}

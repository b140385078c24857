package runtime

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// withOwed gives the run with an invocation for each handler that is owed
// something, and that nothing in the run invokes; those that such handlers notify
// in their turn are invoked too. They come after everything else, one after the
// other: what they pick up is complete by then.
func withOwed(run *states.StateRun, owed map[string][]states.Debt) (*states.StateRun, error) {
	if len(owed) == 0 {
		return run, nil
	}
	a := &appender{run: run, idleHandlers: map[string]*states.Invocation{}, waves: map[string][]*states.Invocation{}, added: map[string]bool{}, visited: map[string]bool{}}
	for i := range run.Invocations {
		handler := states.WithoutWave(run.Invocations[i].Address)
		a.waves[handler] = append(a.waves[handler], &run.Invocations[i])
	}
	for i := range run.Handlers {
		a.idleHandlers[run.Handlers[i].Address] = &run.Handlers[i]
	}
	for i := range run.Handlers {
		a.addOwed(&run.Handlers[i], owed)
	}
	if len(a.out) == 0 || a.err != nil {
		return run, a.err
	}
	return a.extendedRun(), nil
}

// appender adds invocations at the end of a run.
type appender struct {
	run          *states.StateRun
	idleHandlers map[string]*states.Invocation   // by handler
	waves        map[string][]*states.Invocation // of the run, by handler
	added        map[string]bool
	visited      map[string]bool // by addOwed
	chain        []string        // handlers, each notified by the one before
	out          []states.Invocation
	err          error
}

// addOwed appends a handler that is owed something, after those of them that it follows, also by way of one
// that is left out.
func (a *appender) addOwed(h *states.Invocation, owed map[string][]states.Debt) {
	if a.visited[h.Address] || !h.LeftOut && owed[h.Address] == nil {
		return
	}
	a.visited[h.Address] = true
	for _, address := range h.After {
		if earlier := a.idleHandlers[address]; earlier != nil {
			a.addOwed(earlier, owed)
		}
	}
	if h.LeftOut {
		return
	}
	a.add(h, nil)
}

// add appends a handler, and then what it notifies. Notifications have no cycle,
// unless the run comes from a file.
func (a *appender) add(h *states.Invocation, by []states.Notification) {
	if slices.Contains(a.chain, h.Address) {
		a.err = fmt.Errorf("the run goes in a circle: %s notifies itself", h.Address)
		return
	}
	a.chain = append(a.chain, h.Address)
	defer func() { a.chain = a.chain[:len(a.chain)-1] }()
	inv := *h
	if waves := a.waves[h.Address]; len(waves) > 0 || a.added[h.Address] {
		inv = a.nextWave(h)
	}
	a.added[h.Address] = true
	inv.Handler, inv.Always, inv.NotifiedBy, inv.Notifies = true, false, by, nil
	a.out = append(a.out, inv)
	for _, n := range a.notifies(h) {
		told := []states.Notification{{Address: inv.Address, On: n.On}}
		if next := a.idleHandlers[n.Address]; next != nil && !next.LeftOut {
			a.add(next, told)
		} else if waves := a.waves[n.Address]; len(waves) > 0 {
			next := *waves[0]
			next.Address = n.Address
			a.add(&next, told)
		}
	}
}

// notifies lists the handlers that a handler notifies: as it says itself when it
// is idle, else by what its waves in the run notify.
func (a *appender) notifies(h *states.Invocation) []states.Notification {
	if len(a.waves[h.Address]) == 0 {
		return h.Notifies
	}
	var out []states.Notification
	for i := range a.run.Invocations {
		for _, by := range a.run.Invocations[i].NotifiedBy {
			of := states.WithoutWave(by.Address)
			n := states.Notification{Address: states.WithoutWave(a.run.Invocations[i].Address), On: by.On}
			if (of == h.Address || strings.HasPrefix(of, h.Address+".")) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// nextWave makes one more wave of a handler that the run has waves of.
func (a *appender) nextWave(h *states.Invocation) states.Invocation {
	inv, number := *h, 1+len(a.waves[h.Address])
	for i := range a.out {
		if states.WithoutWave(a.out[i].Address) == h.Address {
			number++
		}
	}
	inv.Address = h.Address + "#" + strconv.Itoa(number)
	inv.Parts = slices.Clone(inv.Parts)
	for k := range inv.Parts {
		p := &inv.Parts[k]
		p.Address = inv.Address + strings.TrimPrefix(states.WithoutWave(p.Address), h.Address)
		p.ID = graph.PartID(a.run.Host, p.Address)
		p.Requires, p.After = slices.Clone(p.Requires), slices.Clone(p.After)
		for _, list := range [][]string{p.Requires, p.After} {
			for j, r := range list {
				list[j] = inv.Address + strings.TrimPrefix(states.WithoutWave(r), h.Address)
			}
		}
	}
	return inv
}

// extendedRun gives the run with what was added.
func (a *appender) extendedRun() *states.StateRun {
	run := *a.run
	run.Invocations = slices.Clone(run.Invocations)
	run.Handlers = slices.DeleteFunc(slices.Clone(run.Handlers), func(h states.Invocation) bool { return a.added[h.Address] && !h.LeftOut })
	all := states.Join{Address: "join#owed"}
	there := map[string]bool{}
	for i := range run.Invocations {
		all.After = append(all.After, run.Invocations[i].Address)
		there[run.Invocations[i].Address] = true
	}
	for i := range run.Blocks {
		all.After = append(all.After, run.Blocks[i].Address)
		there[run.Blocks[i].Address] = true
	}
	run.Joins = append(slices.Clone(run.Joins), all)
	last := all.Address
	for _, inv := range a.out {
		inv.After = []string{last}
		inv.Requires = slices.DeleteFunc(slices.Clone(inv.Requires), func(r string) bool { return !there[r] })
		run.Invocations = append(run.Invocations, inv)
		last, there[inv.Address] = inv.Address, true
	}
	return &run
}

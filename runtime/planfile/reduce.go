package planfile

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Rest is what is left of a plan that does not fit any more.
type Rest struct {
	Run       *states.StateRun
	Rows      []states.Event  // what a plan of it says now
	Omissions []graph.Removal // what was left out; empty: the plan fits
}

// StaleError says that nothing of a plan can be done.
type StaleError struct {
	Differences []machine.Difference
	Why         string
}

// Error says why.
func (e *StaleError) Error() string { return "the plan does not fit any more: " + e.Why }

// Reduce leaves out of a plan what does not fit any more, with what depends on
// it. Plan plans a run now, and gives its events; stale is told the differences
// that it makes out, in one call or several.
//
// Leaving something out may change what is foreseen of the rest: what would be
// the same act, if less certain or for other reasons, stays, and what would be
// another one is left out too.
func (p *Plan) Reduce(plan func(*states.StateRun) ([]states.Event, error), stale func([]machine.Difference) error) (*Rest, error) {
	rest := &Rest{Run: p.Run}
	var gone []string
	for {
		events, err := plan(rest.Run)
		if err != nil {
			return nil, err
		}
		differences, err := Compare(withoutRemoved(p.Rows, rest.Omissions), events)
		if err != nil {
			return nil, err
		}
		if len(rest.Omissions) > 0 {
			differences = slices.DeleteFunc(differences, SameAct)
		}
		more, ok := concernedParts(p.Run, differences)
		more = slices.DeleteFunc(more, func(a string) bool { return slices.Contains(gone, a) })
		if len(more) > 0 || !ok {
			if err := stale(differences); err != nil {
				return nil, err
			}
		}
		switch {
		case !ok:
			return nil, &StaleError{differences, "what differs is no part of the plan by itself"}
		case len(more) == 0:
			rest.Rows = Rows(events)
			return rest, nil
		}
		gone = append(gone, more...)
		if rest.Run, rest.Omissions = graph.Remove(p.Run, gone); len(rest.Run.Invocations) == 0 {
			return nil, &StaleError{differences, "nothing of it is left"}
		}
	}
}

// withoutRemoved gives the rows of a plan without those of what is left out.
func withoutRemoved(rows []states.Event, left []graph.Removal) []states.Event {
	gone := map[string]bool{}
	for _, l := range left {
		gone[l.Address] = true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(ev states.Event) bool { return gone[ev.Invocation] || gone[ev.Address] })
}

// concernedParts gives the addresses of the invocations and handlers whose rows
// differ. What else differs is about nothing that the run would do, unless ok is
// false.
func concernedParts(run *states.StateRun, differences []machine.Difference) (list []string, ok bool) {
	owners := map[string][]string{} // by address, without wave
	for _, invocations := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range invocations {
			inv := &invocations[i]
			add := func(address string) {
				address = states.WithoutWave(address)
				owners[address] = append(owners[address], inv.Address)
			}
			add(inv.Address)
			for k := range inv.Parts {
				if inv.Parts[k].Address != inv.Address {
					add(inv.Parts[k].Address)
				}
			}
		}
	}
	for i := range run.Blocks {
		owners[run.Blocks[i].Address] = []string{run.Blocks[i].Address}
	}
	for _, d := range differences {
		owner := cmp.Or(d.Invocation(), d.Address())
		waves := owners[states.WithoutWave(owner)]
		switch {
		case slices.Contains(waves, owner):
			list = append(list, owner)
		case len(waves) > 0: // of a wave that is owed
			list = append(list, waves...)
		case d.Type() == states.EventPart:
			return nil, false
		}
	}
	return list, true
}

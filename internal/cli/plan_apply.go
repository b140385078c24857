package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// applyPlan does what a saved plan says, if a plan now says the same.
func (s *client) applyPlan(ctx context.Context, cmd *applyCmd) error {
	if cmd.UntilConverged != nil {
		return usage("apply the site", "--until-converged plans anew each time, and this is a saved plan")
	}
	if err := s.onlySite(); err != nil {
		return err
	}
	plan, err := s.openPlan(ctx, cmd.Site)
	if err != nil {
		return err
	}
	c, err := s.planned(plan)
	if err != nil {
		return err
	}
	if err := s.elsewhereThan(plan, c); err != nil {
		return err
	}
	folder, err := s.journal()
	if err != nil {
		return err
	}
	if err := s.remember(c); err != nil {
		return err
	}
	// First without the lock, so that nothing is recorded of a plan that is
	// refused; then again with it, so that nothing comes between. While another
	// apply runs, what is here now means nothing.
	rows := plan.Rows
	var left []graph.Left
	if cmd.Partial {
		if left, rows, err = s.reduce(ctx, c, plan); err != nil {
			return err
		}
	} else if folder.Holder() == nil {
		if err := s.mustFit(ctx, c, rows); err != nil {
			return err
		}
	}
	c.fits = func(ctx context.Context) error { return s.mustFit(ctx, c, rows) }
	result, err := s.apply(ctx, c, folder, s.renderer)
	if err != nil {
		return err
	}
	if err := exitCode(result, cmd.DetailedExitcode); err != nil || len(left) == 0 {
		return err
	}
	return &status{code: exitFailed, err: fmt.Errorf("%s of the plan left out", counted(len(left), "invocation")), hint: "plan again for the rest"}
}

// mustFit plans again, and shows and refuses what differs from the rows.
func (s *client) mustFit(ctx context.Context, c *site, rows []states.Event) error {
	events, err := s.planAgain(ctx, c)
	if err != nil {
		return err
	}
	differences, err := planfile.Compare(rows, events)
	if err != nil || len(differences) == 0 {
		return failed(err)
	}
	if err := s.showStale(differences); err != nil {
		return err
	}
	return staleError(differences, "plan again, or apply what still fits with --partial")
}

func staleError(differences []planfile.Difference, hint string) error {
	return &status{code: exitFailed, hint: hint,
		err: fmt.Errorf("the plan does not fit this machine any more (%s), and nothing was applied", counted(len(differences), "difference"))}
}

// planAgain plans what a saved plan holds.
func (s *client) planAgain(ctx context.Context, c *site) ([]states.Event, error) {
	events, result, err := s.planEvents(ctx, c, nil)
	if err == nil && result.Interrupted {
		err = &status{code: exitInterrupted, err: errInterrupted}
	}
	return events, err
}

// reduce leaves out of a plan what does not fit any more, and gives what it left
// out, with the rows that are to be carried out. Leaving something out may
// change what is foreseen of the rest: what is less certain now, or for other
// reasons, stays, and what would do something else is left out too.
func (s *client) reduce(ctx context.Context, c *site, plan *planfile.Plan) ([]graph.Left, []states.Event, error) {
	full := c.run
	var stale []string
	var left []graph.Left
	for {
		events, err := s.planAgain(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		differences, err := planfile.Compare(remaining(plan.Rows, left), events)
		if err != nil {
			return nil, nil, failed(err)
		}
		if len(left) > 0 {
			differences = slices.DeleteFunc(differences, planfile.Difference.SameAct)
		}
		more, ok := concerned(full, differences)
		more = slices.DeleteFunc(more, func(a string) bool { return slices.Contains(stale, a) })
		if len(more) > 0 || !ok {
			if err := s.showStale(differences); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case !ok:
			return nil, nil, staleError(differences, "what differs is no part of the plan by itself: plan again")
		case len(more) == 0:
			return left, planfile.Rows(events), s.showLeft(left)
		}
		stale = append(stale, more...)
		if c.run, left = graph.Without(full, stale); len(c.run.Invocations) == 0 {
			return nil, nil, staleError(differences, "nothing of the plan is left: plan again")
		}
	}
}

// remaining gives the rows of a plan without those of what is left out.
func remaining(rows []states.Event, left []graph.Left) []states.Event {
	gone := map[string]bool{}
	for _, l := range left {
		gone[l.Address] = true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(ev states.Event) bool { return gone[ev.Invocation] || gone[ev.Address] })
}

// concerned gives the addresses of the invocations and handlers whose rows
// differ. What else differs is about nothing that the run would do, unless ok is
// false.
func concerned(run *states.StateRun, differences []planfile.Difference) (list []string, ok bool) {
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

// leftOut is what was left out of a plan, for programs.
type leftOut struct {
	Type string `json:"type"` // "left_out"
	graph.Left
}

// showLeft shows what is left out.
func (s *client) showLeft(left []graph.Left) error {
	for _, l := range left {
		var err error
		if why := cmp.Or(l.Why, "it is not what was planned"); s.globals.JSON {
			err = s.printLine(leftOut{"left_out", graph.Left{Address: l.Address, Why: why}})
		} else {
			err = unread(s.print(ui.Clean("left out: " + l.Address + ", " + why)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// staleRow is a row that differs, for programs.
type staleRow struct {
	Type    string        `json:"type"` // "stale"
	Address string        `json:"address"`
	Planned *states.Event `json:"planned"` // null: there was no such row
	Now     *states.Event `json:"now"`     // null: there is none
	Diff    string        `json:"diff"`
}

// showStale shows what differs, row by row.
func (s *client) showStale(differences []planfile.Difference) error {
	var out strings.Builder
	for _, d := range differences {
		diff := runtime.Diff(ui.Rows(d.Planned, d.Now))
		if s.globals.JSON {
			if err := s.printLine(staleRow{"stale", d.Address(), d.Planned, d.Now, diff}); err != nil {
				return err
			}
			continue
		}
		out.WriteString(ui.Stale(d.Address(), d.Planned, d.Now, diff, s.color(s.Out)))
	}
	_, err := s.Out.Write([]byte(out.String()))
	return failed(unread(err))
}

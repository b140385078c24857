package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// applyPlan does what a saved plan says, if a plan now says the same.
func (s *client) applyPlan(ctx context.Context, cmd *applyCmd) error {
	if cmd.UntilConverged != nil {
		return usage("apply the site", "--until-converged plans anew each time, and this is a saved plan")
	}
	if err := s.onlySite("a saved plan", "give it to tenet plan -o FILE", false); err != nil {
		return err
	}
	plan, err := s.openPlan(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if s.globals.Inventory != "" {
		return s.applyThere(ctx, cmd, plan)
	}
	j, err := s.plannedJob(ctx, plan, cmd.Site)
	if err != nil {
		return err
	}
	if err := s.elsewhereThan(plan); err != nil {
		return err
	}
	applying, err := s.applying()
	if err != nil {
		return err
	}
	// First without the lock, so that nothing is recorded of a plan that is
	// refused; then again with it, so that nothing comes between. While another
	// apply runs, what is here now means nothing.
	rest := &planfile.Rest{Run: plan.Run, Rows: plan.Rows}
	if cmd.Partial {
		if rest, err = s.reduce(j, plan, func() ([]states.Event, error) { return s.planAgain(ctx, j) }); err != nil {
			return err
		}
	} else if applying == nil {
		if err := s.mustFit(ctx, j, rest.Rows); err != nil {
			return err
		}
	}
	j.Rows = rest.Rows
	result, err := s.apply(ctx, j, s.renderer, s.fitsNoMore)
	if err != nil {
		return err
	}
	return orLeftOut(exitCode(result, cmd.DetailedExitcode), rest)
}

// orLeftOut is the exit status of an apply, or that something of its plan was left out.
func orLeftOut(err error, rest *planfile.Rest) error {
	if err != nil || len(rest.Left) == 0 {
		return err
	}
	return &status{code: exitFailed, err: fmt.Errorf("%d of the plan left out", len(rest.Left)), hint: "plan again for the rest"}
}

// mustFit plans again, and shows and refuses what differs from the rows.
func (s *client) mustFit(ctx context.Context, j *machine.Job, rows []states.Event) error {
	events, err := s.planAgain(ctx, j)
	if err != nil {
		return err
	}
	differences, err := planfile.Compare(rows, events)
	if err != nil || len(differences) == 0 {
		return failed(err)
	}
	return s.fitsNoMore(differences)
}

// fitsNoMore shows and refuses what differs from a saved plan.
func (s *client) fitsNoMore(differences []machine.Difference) error {
	if err := s.showStale(differences); err != nil {
		return err
	}
	return staleError(differences, "plan again, or apply what still fits with --partial")
}

func staleError(differences []machine.Difference, hint string) error {
	return &status{code: exitFailed, hint: hint,
		err: fmt.Errorf("the plan does not fit this machine any more (%s), and nothing was applied", counted(len(differences), "difference"))}
}

// planAgain plans what a saved plan holds.
func (s *client) planAgain(ctx context.Context, j *machine.Job) ([]states.Event, error) {
	events, result, err := s.planEvents(ctx, j, nil)
	if err == nil && result.Interrupted {
		err = &status{code: exitInterrupted, err: errInterrupted}
	}
	return events, err
}

// reduce leaves out of a plan what does not fit any more, shows it, and gives the
// rows that are to be carried out; again plans it where it is to be carried out.
func (s *client) reduce(j *machine.Job, plan *planfile.Plan, again func() ([]states.Event, error)) (*planfile.Rest, error) {
	rest, err := plan.Reduce(func(run *states.StateRun) ([]states.Event, error) {
		j.Run = run
		return again()
	}, s.showStale)
	var wrong *planfile.StaleError
	if errors.As(err, &wrong) {
		return nil, staleError(wrong.Differences, wrong.Why+": plan again")
	}
	if err != nil {
		return nil, err
	}
	j.Run = rest.Run
	return rest, s.showLeft(rest.Left)
}

// leftOut is what was left out of a plan, for programs.
type leftOut struct {
	Type string `json:"type"` // "left_out"
	graph.Removal
}

// showLeft shows what is left out.
func (s *client) showLeft(left []graph.Removal) error {
	for _, l := range left {
		var err error
		if why := cmp.Or(l.Why, "it is not what was planned"); s.globals.JSON {
			err = s.printLine(leftOut{"left_out", graph.Removal{Address: l.Address, Why: why}})
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
	Type    string    `json:"type"`           // "stale"
	Host    string    `json:"host,omitempty"` // of several
	Address string    `json:"address"`
	Planned *shownRow `json:"planned"` // null: there was no such row
	Now     *shownRow `json:"now"`     // null: there is none
	Diff    string    `json:"diff"`
}

// stale is a row that differs, for people and for programs.
func (s *client) stale(d machine.Difference) (string, staleRow) {
	diff := runtime.Diff(ui.Rows(d.Planned, d.Now))
	return ui.Stale(d.Address(), d.Planned, d.Now, diff, s.color(s.Out)),
		staleRow{Type: "stale", Address: d.Address(), Planned: rowOf(d.Planned), Now: rowOf(d.Now), Diff: diff}
}

// showStale shows what differs, row by row.
func (s *client) showStale(differences []machine.Difference) error {
	var out strings.Builder
	for _, d := range differences {
		text, row := s.stale(d)
		if s.globals.JSON {
			if err := s.printLine(row); err != nil {
				return err
			}
			continue
		}
		out.WriteString(text)
	}
	_, err := s.Out.Write([]byte(out.String()))
	return failed(unread(err))
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// applyPlan does what a saved plan says, if a plan now says the same.
func (s *client) applyPlan(ctx context.Context, cmd *applyCmd) error {
	if cmd.UntilConverged != nil {
		return usage("apply the site", "--until-converged plans anew each time, and this is a saved plan")
	}
	if err := s.onlySaved(true); err != nil {
		return err
	}
	plan, several, err := s.openPlan(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if several != nil {
		return s.applyFleetPlan(ctx, cmd, several)
	}
	if err := s.onlySaved(false); err != nil {
		return err
	}
	if cmd.rolloutFlags.areGiven() {
		return usage("leave it out", "a rollout is over several hosts, and this is the plan of one")
	}
	if plan.Failed {
		return newStatus(exitFailed, errors.New("the plan fails, and cannot be carried out"), "tenet show FILE shows what fails; put it right, and plan again")
	}
	j, err := s.plannedJob(ctx, plan, cmd.Site)
	if err != nil {
		return err
	}
	v, err := s.plannedRun(ctx, plan, j)
	if err != nil {
		return err
	}
	// The lock is held when it is compared with a plan as it is now, so that nothing comes
	// between; of a plan that is refused nothing is recorded.
	rest := &planfile.Rest{Run: plan.Run, Rows: plan.Rows}
	if cmd.Partial {
		if rest, err = s.reduce(j, plan, func() ([]states.Event, error) { return v.planSilently(ctx) }); err != nil {
			return err
		}
	}
	v.rows = map[string][]states.Event{v.hosts[0].Name: rest.Rows}
	return orOmission(v.applyAll(ctx, true, cmd.DetailedExitcode, nil), rest)
}

// plannedRun makes ready for a saved plan, on this machine or on the host that it was made
// for, which a site says how to reach.
func (s *client) plannedRun(ctx context.Context, plan *planfile.Plan, j *machine.Job) (*fleetRun, error) {
	v := &fleetRun{client: s, newRenderer: s.renderer, isSavedPlan: true, name: plan.Run.Site, origin: plan.Origin, place: plan.Origin, line: j.Line}
	if s.globals.Inventory == "" {
		t, err := s.thisMachine()
		if err != nil {
			return nil, err
		}
		if err := s.elsewhereThan(plan); err != nil {
			return nil, err
		}
		v.hosts, v.members = t.hosts, t.members
		v.jobOf = func(context.Context, *fleet.Member, *machine.Facts) (*machine.Job, error) {
			one := *j
			return &one, nil
		}
		return v, nil
	}
	host, declared, err := s.hostNamed(ctx, plan.Host.Name)
	if err != nil {
		return nil, err
	}
	v.hasNames, v.hosts, v.facts = true, []lang.Host{*host}, identityFacts()
	v.jobOf = func(_ context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		here, err := savedHost(m.Name, facts)
		if err != nil {
			return nil, err
		}
		if why := plan.Host.Differs(here); why != "" {
			return nil, newStatus(exitFailed, errors.New("the plan is refused: "+why), "apply it where it was made for")
		}
		one := *j
		return &one, nil
	}
	if err = v.reach(ctx); err == nil && plan.Run.Cluster != nil {
		err = v.latchMemberships(ctx, map[string]*langsite.Membership{plan.Run.Cluster.Name: plan.Run.Cluster}, declared)
	}
	return v, err
}

// orOmission is the exit status of an apply, or that something of its plan was left out.
func orOmission(err error, rest *planfile.Rest) error {
	if err != nil || len(rest.Omissions) == 0 {
		return err
	}
	return newStatus(exitFailed, fmt.Errorf("%d of the plan left out", len(rest.Omissions)), "plan again for the rest")
}

func staleError(differences []machine.Difference, hint string) error {
	return newStatus(exitFailed,
		fmt.Errorf("the plan does not fit this machine any more (%s), and nothing was applied", plural(len(differences), "difference")), hint)
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
	return rest, s.showOmissions("", rest.Omissions)
}

// omission is what was left out of a plan, for programs.
type omission struct {
	Type string `json:"type"`           // "left_out"
	Host string `json:"host,omitempty"` // of several
	graph.Removal
}

// showOmissions shows what is left out, of several hosts with the name of the host.
func (s *client) showOmissions(host string, left []graph.Removal) error {
	title := ""
	if host != "" {
		title = host + ": "
	}
	for _, l := range left {
		var err error
		if why := cmp.Or(l.Why, "it is not what was planned"); s.globals.JSON {
			err = s.printLine(omission{"left_out", host, graph.Removal{Address: l.Address, Why: why}})
		} else {
			err = unread(s.print(ui.Clean(title + "left out: " + l.Address + ", " + why)))
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
func (c *console) stale(d machine.Difference) (string, staleRow) {
	diff := runtime.Diff(ui.Rows(d.Planned, d.Now))
	return ui.Stale(d.Address(), d.Planned, d.Now, diff, c.color(c.Out)),
		staleRow{Type: "stale", Address: d.Address(), Planned: rowOf(d.Planned), Now: rowOf(d.Now), Diff: diff}
}

// showStale shows what differs, row by row.
func (c *console) showStale(differences []machine.Difference) error {
	var out strings.Builder
	for _, d := range differences {
		text, row := c.stale(d)
		if c.globals.JSON {
			if err := c.printLine(row); err != nil {
				return err
			}
			continue
		}
		out.WriteString(text)
	}
	_, err := c.Out.Write([]byte(out.String()))
	return failure(unread(err))
}

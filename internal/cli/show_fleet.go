package cli

import (
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// shownFleet is a saved plan of several hosts, for programs.
type shownFleet struct {
	Format    string           `json:"format"`
	Program   string           `json:"program"` // the version that made it
	Created   time.Time        `json:"created"`
	Encrypted bool             `json:"encrypted"`
	Site      string           `json:"site,omitempty"`
	Origin    string           `json:"origin"`
	Revision  string           `json:"revision"` // of what is to be done on all hosts
	Rollout   *lang.Rollout    `json:"rollout"`  // null: all hosts at once
	Hosts     []shownFleetHost `json:"hosts"`
}

// shownFleetHost is one of its hosts.
type shownFleetHost struct {
	planfile.FleetHost
	Rows []shownRow       `json:"rows"`
	Run  *states.StateRun `json:"run"` // secrets masked; null: nothing is to be done
}

// printFleetPlan prints all that is in a saved plan of several hosts.
func (s *client) printFleetPlan(plan *planfile.Fleet) error {
	out := shownFleet{Format: planfile.FleetFormat, Program: plan.Program, Created: plan.Created, Encrypted: plan.Encrypted,
		Site: plan.Site, Origin: plan.Origin, Revision: plan.Revision(), Rollout: plan.Rollout}
	for i := range plan.Hosts {
		h := shownFleetHost{FleetHost: plan.Hosts[i], Rows: shownRows(plan.Hosts[i].Rows)}
		one, err := plan.Plan(i)
		if err != nil {
			return failure(err)
		}
		if one != nil {
			h.Run = graph.Mask(one.Run)
		}
		out.Hosts = append(out.Hosts, h)
	}
	return s.printJSON(out)
}

// showFleetPlan shows a saved plan of several hosts as tenet plan did.
func (s *client) showFleetPlan(plan *planfile.Fleet) error {
	names := make([]string, len(plan.Hosts))
	for i := range plan.Hosts {
		names[i] = plan.Hosts[i].Name
	}
	g := s.globals
	problems := map[string]*states.Failure{}
	view := ui.NewFleet(ui.FleetOptions{
		Out: s.Out, Err: s.Err, Hosts: names, Plan: true, Saved: true, Summary: s.summary, Quiet: g.Quiet, Verbose: g.Verbose,
		Color: s.color(s.Out), ColorErr: s.color(s.Err), Line: placeLine(linesOf(plan)),
		Trouble: func(o *fleet.Outcome) *states.Failure { return problems[o.Machine] },
	})
	outcomes := make([]fleet.Outcome, len(plan.Hosts))
	for i := range plan.Hosts {
		h := &plan.Hosts[i]
		run := &states.StateRun{}
		for _, address := range h.Handlers {
			run.Invocations = append(run.Invocations, states.Invocation{Address: address, Handler: true})
		}
		view.Prepared(h.Name, &machine.Job{Run: run})
		for _, ev := range h.Rows {
			view.Event(h.Name, ev)
		}
		if h.Problem != nil {
			problem := *h.Problem
			if problem.Code == ui.CodeSite { // no diagnostics tell of it here
				problem.Code = ""
			}
			problems[h.Name] = &problem
		}
		outcomes[i] = fleet.Outcome{Machine: h.Name, Status: fleet.Status(h.Status)}
		if h.Revision != "" {
			outcomes[i].Result = &machine.Result{Counts: h.Counts}
		}
		view.Ended(h.Name, outcomes[i])
	}
	return failure(unread(view.Close(outcomes)))
}

// linesOf gives the lines that declarations are on.
func linesOf(plan *planfile.Fleet) func(file string, number int) string {
	var lines savedLines
	for i := range plan.Hosts {
		one, err := plan.Plan(i)
		if err != nil || one == nil || !plan.Hosts[i].HasFailed() { // only what fails is shown with its line
			continue
		}
		j := &machine.Job{}
		j.Places, j.Line = machine.PlacesOf(one.Places)
		lines.add(j)
	}
	return lines.line
}

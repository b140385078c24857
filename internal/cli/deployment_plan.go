package cli

import (
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	api "github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/states"
)

// showDeployPlan shows what the hosts of a deployment would do, as tenet plan does.
func (s *client) showDeployPlan(plan *api.DeployPlan) error {
	plans, err := grouping.Ungroup(plan.Rows, len(plan.Hosts))
	if err != nil {
		return failure(err)
	}
	return s.showPlans(plan.Hosts, plans)
}

// showPlans shows what hosts have planned for a server, as tenet plan does.
func (s *client) showPlans(hosts []string, plans [][]states.Event) error {
	g := s.globals
	view := ui.NewFleet(ui.FleetOptions{
		Out: s.Out, Err: s.Err, Hosts: hosts, Plan: true, Saved: true, Quiet: g.Quiet, Verbose: g.Verbose,
		Color: s.color(s.Out), ColorErr: s.color(s.Err), Trouble: func(*fleet.Outcome) *states.Failure { return nil },
	})
	outcomes := make([]fleet.Outcome, len(hosts))
	for i, name := range hosts {
		view.Prepared(name, &machine.Job{Run: &states.StateRun{}})
		for _, ev := range plans[i] {
			view.Event(name, ev)
		}
		outcomes[i] = fleet.Outcome{Machine: name, Status: fleet.Done, Result: &machine.Result{}}
		view.Ended(name, outcomes[i])
	}
	return failure(unread(view.Close(outcomes)))
}

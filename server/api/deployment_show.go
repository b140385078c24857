package api

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

func (a *API) showDeployment(ctx context.Context, c *access.Caller, in *deploymentInput) (*deploymentOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	brief, err := s.Brief(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	d := brief
	if in.Members != "none" {
		if d, err = s.Deployment(ctx, c, in.ID); err != nil {
			return nil, err
		}
	}
	out := deploymentOf(d)
	if in.Members == "plan" {
		out.Members = nil
	}
	if out.Counts, err = s.CountMembers(ctx, c, in.ID); err != nil {
		return nil, err
	}
	if out.Counts.Hidden { // what others would do is not theirs to see
		out.Plan, out.Approved = nil, ""
		out.Why = reasonOf(brief.Why.WithoutHosts())
	}
	out.Acts, err = a.actsOf(ctx, c, s, brief, out.Counts)
	return &deploymentOutput{out}, err
}

// actsOf lists what can be done with a deployment now.
func (a *API) actsOf(ctx context.Context, c *access.Caller, s *deploy.Service, d *deploy.Deployment, n *deploy.MemberCounts) (list []DeployAct, err error) {
	acts, err := s.ActsOf(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, act := range acts {
		may, err := s.May(ctx, c, act, d)
		if err != nil {
			return nil, err
		}
		says := saysOf(act, d, n)
		if n.Hidden { // how many these are is not the caller's to know
			says += "; and so with hosts that you may not read"
		}
		list = append(list, DeployAct{act, may, n.NotBegun, says})
	}
	return list, nil
}

// saysOf tells what an act will do to how many hosts.
func saysOf(act string, d *deploy.Deployment, n *deploy.MemberCounts) string {
	switch act {
	case deploy.ActPause:
		return fmt.Sprintf("hosts that have not begun wait until it is continued: %d; those at it go on: %d", n.NotBegun, n.States[rollout.Begun])
	case deploy.ActContinue:
		if d.Why.Code == deploy.CodeAllOut {
			return fmt.Sprintf("it goes on without the hosts of the batch that are out; hosts that have not begun: %d", n.NotBegun)
		}
		return fmt.Sprintf("hosts that have not begun get revision %d, batch by batch: %d", d.Number, n.NotBegun)
	case deploy.ActAbort:
		return fmt.Sprintf("hosts that have not begun keep what they have: %d; those that have begun keep revision %d: %d", n.NotBegun, d.Number, n.Begun)
	}
	return fmt.Sprintf("hosts get revision %d, batch by batch: %d; of these are out, and join when they are back: %d", d.Number, n.NotBegun, n.States[rollout.Out])
}

func (a *API) listMembers(ctx context.Context, c *access.Caller, in *membersInput) (*ListOutput[*DeployHost], error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("list-deployment-members %d %q", in.ID, in.State)
	after := int64(-1)
	if _, err := a.ReadCursor(c, list, in.Cursor, &after); err != nil {
		return nil, err
	}
	var states []rollout.State
	for _, one := range in.State {
		states = append(states, rollout.State(one))
	}
	found, err := s.Members(ctx, c, in.ID, states, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := NewPage(a, c, list, in.Limit, found, func(h deploy.PlacedHost) any { return h.Place })
	if err != nil {
		return nil, err
	}
	out := &ListOutput[*DeployHost]{List[*DeployHost]{Items: []*DeployHost{}, Next: page.Body.Next}}
	for _, h := range page.Body.Items {
		out.Body.Items = append(out.Body.Items, deployHostOf(h.Host))
	}
	return out, nil
}

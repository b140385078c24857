package deploy

import (
	"context"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// The acts of people on deployments.
const (
	ActStart    = "start"
	ActApprove  = "approve"
	ActPause    = "pause"
	ActContinue = "continue"
	ActAbort    = "abort"
)

// Acts lists what can be done with a deployment as it stands, by what would refuse it.
func (d *Deployment) Acts() (list []string) {
	tries := func(act string, do func(*Deployment) error) {
		copied := *d
		copied.Hosts = nil // which it would change
		if do(&copied) == nil {
			list = append(list, act)
		}
	}
	consent := ActApprove
	if d.Consent == Start {
		consent = ActStart
	}
	tries(consent, func(d *Deployment) error {
		var plan trust.Digest
		if d.Plan != nil {
			plan = d.Plan.Digest
		}
		return d.Approve("", "", plan, time.Time{})
	})
	tries(ActPause, func(d *Deployment) error { return d.Hold("", "", time.Time{}) })
	tries(ActContinue, func(d *Deployment) error { return d.Continue() })
	tries(ActAbort, func(d *Deployment) error { return d.Abort("", "", time.Time{}) })
	return list
}

// ActsOf lists what can be done with a deployment among the others of its site.
func (s *Service) ActsOf(ctx context.Context, d *Deployment) ([]string, error) {
	list := d.Acts()
	if d.Phase != Done {
		return list, nil
	}
	err := s.Store.Read(ctx, func(r store.Reader) error { return demandNewest(r, d) })
	if diag.CodeOf(err) == ErrPhase {
		return slices.DeleteFunc(list, func(act string) bool { return act == ActAbort }), nil
	}
	return list, err
}

// verb is the one that an act takes for each host.
func verb(act string) access.Verb {
	if act == ActApprove {
		return access.Approve
	}
	return access.Deploy
}

// May tells whether a caller may do something with a deployment.
func (s *Service) May(ctx context.Context, by *access.Caller, act string, d *Deployment) (bool, error) {
	if act == ActApprove && access.CheckApproval(by, d.By) != nil {
		return false, nil
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return false, err
	}
	err = s.Store.Read(ctx, func(r store.Reader) error { return demand(r, enrolled, by, verb(act), d) })
	if diag.CodeOf(err) == access.CodeForbidden {
		return false, nil
	}
	return err == nil, err
}

// demand holds a caller to have a verb for each host of a deployment, as far as the store has these.
func demand(r store.Reader, enrolled []Enrolled, by *access.Caller, verb access.Verb, d *Deployment) error {
	if by.MayEverywhere(verb) {
		return nil
	}
	targets := make(map[trust.ID]access.Target, len(enrolled))
	for i := range enrolled {
		targets[enrolled[i].ID] = enrolled[i].target()
	}
	return members(r, d.ID, -1, func(m *member) (bool, error) {
		target, known := targets[m.host]
		if !known { // it has the name by which it was enrolled
			h, err := readMember(r, d.ID, m.host)
			if err != nil {
				return false, err
			}
			target = access.Target{Name: h.Name}
		}
		return true, by.Demand(verb, target, d.Site)
	})
}

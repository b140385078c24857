package deploy

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Approve has a deployment begin by the plan that somebody has seen: where it needs an approval, another person than
// the one who has asked for it.
func (s *Service) Approve(ctx context.Context, by *access.Caller, id int64, plan trust.Digest, why string) (*Deployment, error) {
	return s.steer(ctx, by, id, "approve", why, func(d *Deployment) (access.Verb, error) {
		verb := access.Approve
		if d.Consent == Start {
			verb = access.Deploy
		} else if err := access.CheckApproval(by, d.By); err != nil {
			return verb, err
		}
		return verb, d.Approve(by.Name, why, plan, s.now())
	})
}

// Pause has nothing of a deployment begin.
func (s *Service) Pause(ctx context.Context, by *access.Caller, id int64, why string) (*Deployment, error) {
	return s.steer(ctx, by, id, "pause", why, func(d *Deployment) (access.Verb, error) { return access.Deploy, d.Hold(by.Name, why, s.now()) })
}

// Continue has a paused deployment go on.
func (s *Service) Continue(ctx context.Context, by *access.Caller, id int64, why string) (*Deployment, error) {
	return s.steer(ctx, by, id, "continue", why, func(d *Deployment) (access.Verb, error) { return access.Deploy, d.Continue() })
}

// Abort ends a deployment.
func (s *Service) Abort(ctx context.Context, by *access.Caller, id int64, why string) (*Deployment, error) {
	return s.steer(ctx, by, id, "abort", why, func(d *Deployment) (access.Verb, error) { return access.Deploy, d.Abort(by.Name, why, s.now()) })
}

// steer changes a deployment by a person's order, and audits it. It takes the verb for each of its hosts.
func (s *Service) steer(ctx context.Context, by *access.Caller, id int64, what, why string, change func(*Deployment) (access.Verb, error)) (*Deployment, error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	var d *record
	err = s.Store.Write(ctx, func(tx store.Tx) (err error) {
		if d, err = load(tx, id); err != nil {
			return err
		}
		if d == nil {
			return noDeployment(id)
		}
		if _, err := raise(tx, d.Site); err != nil {
			return err
		}
		if what == ActAbort && d.Phase == Done {
			if err := demandNewest(tx, d.Deployment); err != nil {
				return err
			}
		}
		was := d.Phase
		verb, err := change(d.Deployment)
		if forbidden := demand(tx, enrolled, by, verb, d.Deployment); forbidden != nil {
			return forbidden
		}
		if err != nil {
			return err
		}
		if was == Planned && d.Phase == Rolling {
			if err := s.supersede(tx, d.Deployment); err != nil {
				return err
			}
		}
		if err := d.save(tx); err != nil {
			return err
		}
		detail := map[string]string{"deployment": fmt.Sprint(id)}
		if d.Approved != nil && what == "approve" {
			detail["plan"] = d.Approved.Of.String()
		}
		if err := d.readPlan(); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "deployment." + what, Site: d.Site, Reason: why, Detail: detail})
	})
	if err != nil {
		return nil, err
	}
	s.Poke()
	s.publish(d.Deployment)
	return d.Deployment, nil
}

func noDeployment(id int64) error {
	return notFound(fmt.Sprintf("there is no deployment %d", id), "tenet deployments lists them")
}

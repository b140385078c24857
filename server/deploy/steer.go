package deploy

import (
	"context"
	"fmt"
	"slices"

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
		was := d.Phase
		verb, err := change(d.Deployment)
		if forbidden := demand(enrolled, by, verb, d.Deployment); forbidden != nil {
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

// demand holds a caller to have a verb for each host of a deployment.
func demand(enrolled []Enrolled, by *access.Caller, verb access.Verb, d *Deployment) error {
	targets := map[trust.ID]access.Target{}
	for i := range enrolled {
		targets[enrolled[i].ID] = enrolled[i].target()
	}
	for _, h := range d.Hosts {
		target, known := targets[h.ID]
		if !known {
			target = access.Target{Name: h.Name}
		}
		if err := by.Demand(verb, target, d.Site); err != nil {
			return err
		}
	}
	return nil
}

func noDeployment(id int64) error {
	return notFound(fmt.Sprintf("there is no deployment %d", id), "tenet deployments lists them")
}

// Deployment gives one, with those of its hosts that a caller may see. Of the plan there is what is about these.
func (s *Service) Deployment(ctx context.Context, by *access.Caller, id int64) (*Deployment, error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	var d *record
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if d, err = load(r, id); err != nil {
			return err
		}
		if d == nil || !by.MaySite(access.Read, d.Site) {
			return noDeployment(id)
		}
		may := map[trust.ID]bool{}
		for i := range enrolled {
			may[enrolled[i].ID] = by.May(access.Read, enrolled[i].target(), d.Site)
		}
		var seen []*Host
		for _, h := range d.Hosts {
			if may[h.ID] {
				seen = append(seen, h)
			}
		}
		if len(seen) < len(d.Hosts) { // what others would do is not theirs to see
			d.Plan, d.Approved, d.Batches = nil, nil, nil
		}
		d.Hosts = seen
		return d.readPlan()
	})
	if err != nil {
		return nil, err
	}
	s.known.Lock()
	since, isFault := s.faults[id]
	s.known.Unlock()
	if isFault && slices.Contains([]Phase{Planned, Rolling, Paused}, d.Phase) {
		d.Why = Reason{Code: CodeFault, Text: "the server cannot go on with it now", Since: since, Until: s.now().Add(interval), Ask: "the server's log says why"}
	}
	return d.Deployment, nil
}

// Deployments lists those of a site, or of all, the newest first, without their hosts and plans: up to so many with lower numbers than
// before; 0: any.
func (s *Service) Deployments(ctx context.Context, by *access.Caller, site string, before int64, limit int) (out []*Deployment, err error) {
	if before == 0 {
		before = 1 << 62
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		ids, err := numbers(r, `SELECT id FROM deploy_deployments WHERE id < $1 AND ($2 = '' OR site = $2) ORDER BY id DESC`, before, site)
		for _, id := range ids {
			if err != nil || len(out) == limit {
				break
			}
			var d *record
			if d, err = load(r, id); err == nil && by.MaySite(access.Read, d.Site) {
				d.Plan, d.Approved, d.Batches, d.Hosts = nil, nil, nil, nil
				out = append(out, d.Deployment)
			}
		}
		return err
	})
	return out, err
}

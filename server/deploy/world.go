package deploy

import (
	"context"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// world gathers what is known of the hosts of a deployment, and of its clusters.
func (s *Service) world(ctx context.Context, k *keptSite, d *Deployment, v *hostView, g *roundInput) (*World, *clusterWorld, error) {
	plans, err := s.plansOf(ctx, k, d)
	if err != nil {
		return nil, nil, err
	}
	later, err := s.laterThan(ctx, k, d)
	if err != nil {
		return nil, nil, err
	}
	prepared := k.prepared[preparedOf{d.prepared(), d.evaluationDigest()}]
	known := g.byID()
	clusters, err := s.clusters(k, d, g.enrolled, v, prepared)
	if err != nil {
		return nil, nil, err
	}
	now, isVoid := g.now, s.isVoid()
	var lacks func(*Enrolled, *Look)
	if d.Signed {
		lacks = s.lacks(k.revisions[d.Number], d, g.epochs[k.site], v, now)
	}
	demand := k.policy.lacks(d)
	look := func(id trust.ID) Look {
		l := Look{Demand: demand, Away: v.away[id], Pinned: k.pins[id], Elsewhere: later[id], Loop: v.loops[id], Held: v.held[id], Plan: plans[id], Objection: v.objections[id]}
		if t := k.targets[id]; t != nil {
			l.Target = &t.Target
			l.Void = isVoid(t)
		}
		e := known[id]
		if e == nil {
			l.Locked = "it is not enrolled any more"
			return l
		}
		l.Locked, l.Silent, l.Cluster = e.Locked, v.facts[e.Name] == nil, clusters.blocked[e.Name]
		if lacks != nil {
			l.Prepared = prepared[id]
			lacks(e, &l)
			return l
		}
		if p := prepared[id]; p != nil && (p.Recipient == e.Sealing || p.Absent) && !p.isStale(v, now) && p.isMemberAs(clusters.members, e.Name) {
			l.Prepared = p
		}
		return l
	}
	return &World{Now: now, Full: g.full, Forbidden: g.forbidden, Settles: s.settles, Look: look}, clusters, nil
}

// epochOf reads the present epoch of what is signed elsewhere.
func (s *Service) epochOf(ctx context.Context, site string) (epoch uint64, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		first, err := s.Signatures.Next(r, "", site) // of a host of which nothing is wanted
		epoch = first.Epoch
		return err
	})
	return epoch, err
}

// nextLook is when a deployment is looked at again although nothing has happened: when the first of what waits for a time has its time. What is not known to wait
// is looked at every minute.
func (d *Deployment) nextLook(k *keptSite, w *World) time.Time {
	due := w.Now.Add(retryLook)
	sooner := func(t time.Time) {
		if t.After(w.Now) && t.Before(due) {
			due = t
		}
	}
	sooner(w.Settles)
	sooner(d.Why.Until)
	sooner(d.Progress.Ended.Add(d.Pause))
	prepared := k.prepared[preparedOf{d.prepared(), d.evaluationDigest()}]
	for _, h := range d.Hosts {
		sooner(h.Why.Until)
		if t := k.targets[h.ID]; t != nil {
			sooner(t.Until)
		}
		if p := prepared[h.ID]; p != nil {
			sooner(p.Until)
			sooner(p.stales())
			if len(p.Schedule) > 0 {
				sooner(w.Now.Truncate(time.Minute).Add(time.Minute)) // windows open and close at whole minutes
			}
		}
	}
	return due
}

package deploy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// plansAtOnce is how many hosts of one deployment plan at a time.
const plansAtOnce = 16

// plans has hosts plan besides the rounds: a host may take minutes over it, or never answer, and no other one waits for that. Within a deployment
// each host plans once at a time.
type plans struct {
	mu     sync.Mutex
	queues map[int64]*planQueue // by deployment, of those whose hosts plan now
	// failed are errors of the server itself, for the next round to tell; those of hosts are kept as their plans.
	failed map[int64]error
	// fresh are those that came since the last round, and ended is how often a host was done with it.
	fresh []freshPlan
	ended int
	all   fault.Group
}

// freshPlan is what a host has just planned.
type freshPlan struct {
	site string
	tree contents.Digest
	host trust.ID
	*HostPlan
}

// takePlans takes plans that came since it was called last to those that are kept, and tells how often a host was done with one.
func (s *Service) takePlans() int {
	s.plans.mu.Lock()
	defer s.plans.mu.Unlock()
	for _, p := range s.plans.fresh {
		if k := s.kept[p.site]; k != nil && k.plans[p.tree] != nil {
			k.plans[p.tree][p.host] = p.HostPlan
		}
	}
	s.plans.fresh = nil
	return s.plans.ended
}

// planQueue are the hosts of one deployment.
type planQueue struct {
	*Deployment
	waiting []trust.ID
	busy    map[trust.ID]bool
}

// beginPlans has hosts plan, and returns at once. Those of the deployment that have not begun, and are not among these, need not any more. It gives
// what has failed since it was called last.
func (s *Service) beginPlans(ctx context.Context, d *Deployment, hosts []trust.ID) error {
	s.plans.mu.Lock()
	defer s.plans.mu.Unlock()
	q := s.plans.queues[d.ID]
	if q == nil && len(hosts) > 0 {
		q = &planQueue{busy: map[trust.ID]bool{}}
		s.plans.queues[d.ID] = q
	}
	if q != nil {
		q.Deployment = d
		q.waiting = slices.DeleteFunc(slices.Clone(hosts), func(id trust.ID) bool { return q.busy[id] })
		for len(q.busy) < plansAtOnce && len(q.waiting) > 0 {
			id := q.next()
			s.plans.all.Go(func() { s.planQueued(ctx, q, id) })
		}
	}
	err := s.plans.failed[d.ID]
	delete(s.plans.failed, d.ID)
	return err
}

// next takes the first host that waits.
func (q *planQueue) next() trust.ID {
	id := q.waiting[0]
	q.waiting, q.busy[id] = q.waiting[1:], true
	return id
}

// planQueued has one host plan, and then others as long as some wait.
func (s *Service) planQueued(ctx context.Context, q *planQueue, id trust.ID) {
	for {
		s.plans.mu.Lock()
		d := q.Deployment
		s.plans.mu.Unlock()
		err := fault.Do(func() error { return s.plan(ctx, d, id) })
		s.plans.mu.Lock()
		delete(q.busy, id)
		s.plans.ended++
		if err != nil && ctx.Err() == nil {
			s.plans.failed[d.ID] = err // of many, the last one is enough
		}
		if len(q.waiting) > 0 && ctx.Err() == nil {
			id = q.next()
			s.plans.mu.Unlock()
			continue
		}
		if len(q.busy) == 0 {
			delete(s.plans.queues, d.ID)
		}
		s.plans.mu.Unlock()
		s.Poke()
		return
	}
}

// dropPlans has no other host plan for deployments that are not among these.
func (s *Service) dropPlans(under []siteDeployment) {
	s.plans.mu.Lock()
	defer s.plans.mu.Unlock()
	for id, q := range s.plans.queues {
		if !isUnder(under, id) {
			q.waiting = nil
		}
	}
}

// plan has a host plan, and keeps what it says.
func (s *Service) plan(ctx context.Context, d *Deployment, id trust.ID) error {
	var p *Prepared
	var former *HostPlan
	if err := s.Store.Read(ctx, func(r store.Reader) (err error) {
		if p, err = one[Prepared](r, d.prepared(), d.Site, id, d.evaluationDigest()); err == nil {
			former, err = one[HostPlan](r, plansTable, d.Site, id, d.evaluationDigest())
		}
		return err
	}); err != nil || p == nil {
		return err
	}
	if former != nil && former.Identity == p.Identity && (former.Error == "" || s.now().Before(former.At.Add(replan))) {
		return nil // it came after the round that has asked for one
	}
	out := &HostPlan{Error: "this server has no way to ask it"}
	if s.Planner != nil {
		var err error
		if out, err = s.Planner.Plan(ctx, id, d.Site, p); err != nil {
			out = &HostPlan{Error: firstLine(err)}
		}
	}
	if err := ctx.Err(); err != nil { // the host has not said that it cannot
		return err
	}
	out.Identity, out.At = p.Identity, s.now()
	err := s.Store.Write(ctx, func(tx store.Tx) error { return plansTable.put(tx, d.Site, id, d.evaluationDigest(), out) })
	if err != nil {
		return errors.Join(errors.New("a plan could not be kept"), err)
	}
	s.plans.mu.Lock()
	defer s.plans.mu.Unlock()
	s.plans.fresh = append(s.plans.fresh, freshPlan{d.Site, d.evaluationDigest(), id, out})
	return nil
}

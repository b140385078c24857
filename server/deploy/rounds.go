package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// roundInput is what a round works with: it is the same for all of its steps.
type roundInput struct {
	now             time.Time
	enrolled        []Enrolled
	ids             map[trust.ID]*Enrolled // nil: not made yet
	versions        map[string]int64
	epochs          map[string]uint64 // by site, of what is signed elsewhere
	full, forbidden bool
	plans           int // how many have come until now
}

// byID finds hosts.
func (g *roundInput) byID() map[trust.ID]*Enrolled {
	if g.ids == nil {
		g.ids = make(map[trust.ID]*Enrolled, len(g.enrolled))
		for i := range g.enrolled {
			g.ids[g.enrolled[i].ID] = &g.enrolled[i]
		}
	}
	return g.ids
}

// gather asks for what a round is given, and lists the deployments that it looks at. As long as no version is another one they are those of before.
func (s *Service) gather(ctx context.Context) (*roundInput, []siteDeployment, error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	g := &roundInput{now: s.now(), enrolled: enrolled, epochs: map[string]uint64{}, full: s.IsFull != nil && s.IsFull(), forbidden: s.mayAssign() != nil}
	g.plans = s.takePlans()
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if g.versions, err = versions(r); err == nil && (s.under.versions == nil || !maps.Equal(g.versions, s.under.versions)) {
			s.under.versions = maps.Clone(g.versions)
			s.under.list, err = under(r)
		}
		return err
	})
	if err != nil {
		s.under.versions = nil
	}
	return g, s.under.list, err
}

// Round looks at each deployment once: it brings it as far as it goes, and then has done what it asks for. It reports whether
// something has come of that. Where nothing has happened since the round before it reads nothing of any host from the store.
func (s *Service) Round(ctx context.Context) (again bool, err error) {
	s.one.Lock()
	defer s.one.Unlock()
	g, list, err := s.gather(ctx)
	if err != nil {
		return false, err
	}
	s.dropPlans(list)
	s.dropSites(list)
	looked := map[string]bool{}
	var failed []error
	for _, one := range slices.Backward(list) { // later ones take hosts over
		if !looked[one.site] {
			looked[one.site] = true
			s.lookAgain(g.enrolled, one.site)
		}
		some, err := s.bring(ctx, one, g)
		again = again || some
		if errors.Is(err, errMoved) { // a person was faster
			delete(s.kept, one.site)
			again, err = true, nil
		}
		s.noteFault(one.id, err)
		if err != nil {
			delete(s.kept, one.site)
			failed = append(failed, fmt.Errorf("deployment %d: %w", one.id, err))
		}
	}
	return again, errors.Join(failed...)
}

// bring brings a deployment as far as it goes, unless it rests.
func (s *Service) bring(ctx context.Context, one siteDeployment, g *roundInput) (again bool, err error) {
	k, err := s.keptOf(ctx, one.site, g.versions)
	if err != nil {
		return false, err
	}
	d := k.deployments[one.id]
	if d == nil { // it came after the list, or is not looked at any more
		return false, nil
	}
	v := s.views[one.site]
	if d.Signed {
		if g.epochs[one.site], err = s.epochOf(ctx, one.site); err != nil {
			return false, err
		}
	}
	basis := s.basis(k, v, g)
	if k.rests[one.id].holds(basis, g.now) {
		return false, nil
	}
	delete(k.rests, one.id)
	w, came, err := s.step(ctx, k, d, v, g)
	if err != nil {
		return false, err
	}
	w.evaluate = slices.DeleteFunc(w.evaluate, func(id trust.ID) bool {
		e := g.byID()[id]
		return e == nil || e.Locked != "" || v.facts[e.Name] == nil
	})
	again, err = s.do(ctx, w, k, v, g)
	if err == nil && !again && !came.isChanged && len(w.evaluate) == 0 {
		k.rests[one.id] = restPeriod{basis, g.now, came.due}
		delete(k.plans, d.evaluationDigest())
	}
	return again || came.targets > 0, err
}

package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Filter says which deployments are listed; what is empty says nothing.
type Filter struct {
	Site   string
	Phases []Phase
	Before int64 // only those with lower numbers
	Limit  int   // 0: 100
}

// Deployments lists deployments, the newest first, without their hosts and plans.
func (s *Service) Deployments(ctx context.Context, by *access.Caller, f Filter) (out []*Deployment, err error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		ids, err := f.choose(r, by)
		if err != nil {
			return err
		}
		moving, err := under(r)
		if err != nil {
			return err
		}
		for _, id := range ids {
			d, err := s.brief(r, id, isUnder(moving, id))
			if err != nil {
				return err
			}
			if d != nil {
				short := *d
				short.Plan, short.Approved = nil, nil // it may name hosts that are not the caller's to see
				if !by.MaySiteEverywhere(access.Read, d.Site) {
					short.Why = short.Why.WithoutHosts()
				}
				out = append(out, &short)
			}
		}
		return nil
	})
	return out, err
}

// query is for the next deployments of a filter, but for its phases: an index gives them in their order.
func (f *Filter) query(before, limit int64) (sql string, args []any) {
	of, args := ``, []any{before, limit}
	if f.Site != "" {
		of, args = `site = $3 AND `, append(args, f.Site)
	}
	return `SELECT id, site, phase FROM deploy_deployments WHERE ` + of + `id < $1 ORDER BY id DESC LIMIT $2`, args
}

// choose gives the numbers of those that are listed.
func (f *Filter) choose(r store.Reader, by *access.Caller) (ids []int64, err error) {
	before := f.Before
	if before == 0 {
		before = 1 << 62
	}
	const chunk = 1000
	for len(ids) < f.Limit {
		n := 0
		sql, args := f.query(before, chunk)
		err := r.Query(sql, args, func(row store.Row) error {
			var site, phase string
			if err := row.Scan(&before, &site, &phase); err != nil {
				return err
			}
			if n++; len(ids) < f.Limit && by.MaySite(access.Read, site) && (len(f.Phases) == 0 || slices.Contains(f.Phases, Phase(phase))) {
				ids = append(ids, before)
			}
			return nil
		})
		if err != nil || n < chunk {
			return ids, err
		}
	}
	return ids, nil
}

// brief gives a deployment without its hosts, its batches and all of its plan but the digest; nil: it is gone. One of many hosts is long: those that nothing moves any more are kept in memory.
func (s *Service) brief(r store.Reader, id int64, moves bool) (*Deployment, error) {
	s.known.Lock()
	d := s.briefs[id]
	s.known.Unlock()
	var phase string
	if d != nil && !moves { // somebody may have ended it all the same
		if found, err := store.One(r, `SELECT phase FROM deploy_deployments WHERE id = $1`, []any{id}, &phase); err != nil || !found {
			return nil, err
		}
		if d.Phase == Phase(phase) {
			return d, nil
		}
	}
	var body []byte
	found, err := store.One(r, `SELECT body FROM deploy_deployments WHERE id = $1`, []any{id}, &body)
	if err != nil || !found {
		return nil, err
	}
	d = &Deployment{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, fmt.Errorf("deployment %d is damaged: %w", id, err)
	}
	d.Batches, d.turns = nil, len(d.Batches)
	if d.Approved != nil && d.Approved.Plan != nil {
		d.Plan, d.Approved.Plan = d.Approved.Plan, nil
	}
	if d.Plan != nil {
		d.Plan = &GroupedPlan{Digest: d.Plan.Digest}
	}
	if !moves {
		s.known.Lock()
		defer s.known.Unlock()
		if len(s.briefs) >= maxBriefs {
			clear(s.briefs)
		}
		s.briefs[id] = d
	}
	return d, nil
}

// maxBriefs bounds what is kept in memory of deployments that are over.
const maxBriefs = 5000

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
		may := readers(by, enrolled, d.Site)
		var seen []*Host
		for _, h := range d.Hosts {
			if may(h.ID) {
				seen = append(seen, h)
			}
		}
		if len(seen) < len(d.Hosts) { // what others would do is not theirs to see
			d.Plan, d.Approved, d.Batches, d.Why = nil, nil, nil, d.Why.WithoutHosts()
		}
		d.Hosts = seen
		return d.readPlan()
	})
	if err != nil {
		return nil, err
	}
	s.noticeFault(d.Deployment)
	return d.Deployment, nil
}

// Brief gives a deployment without its hosts, and of their plan the digest alone.
func (s *Service) Brief(ctx context.Context, by *access.Caller, id int64) (*Deployment, error) {
	var d Deployment
	err := s.Store.Read(ctx, func(r store.Reader) error {
		site, err := siteOf(r, by, id)
		if err != nil {
			return err
		}
		moving, err := under(r)
		if err != nil {
			return err
		}
		one, err := s.brief(r, id, isUnder(moving, id))
		if err == nil && one == nil {
			err = noDeployment(id)
		}
		if err == nil {
			d, d.Site = *one, site
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.noticeFault(&d)
	return &d, nil
}

// noticeFault has a deployment say that the server cannot go on with it, if that is so.
func (s *Service) noticeFault(d *Deployment) {
	s.known.Lock()
	since, isFault := s.faults[d.ID]
	s.known.Unlock()
	if isFault && slices.Contains([]Phase{Planned, Rolling, Paused}, d.Phase) {
		d.Why = Reason{Code: CodeFault, Text: "the server cannot go on with it now", Since: since, Until: s.now().Add(interval), Ask: "the server's log says why"}
	}
}

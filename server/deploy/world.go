package deploy

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// hostView is what hosts have told, as of one time.
type hostView struct {
	loops   map[trust.ID]*control.Loop
	held    map[trust.ID]trust.Position
	away    map[trust.ID]time.Time
	facts   map[string]map[string]json.RawMessage // by name
	revoked map[trust.ID]bool                     // who is no host any more
	since   map[string]time.Time                  // since when the facts of a name are what they are
	// outputs are what hosts give to others of the site, and given since when that is what it is.
	outputs map[string]map[string]json.RawMessage
	given   map[string]time.Time
	// objections are what hosts have against what they are to be.
	objections map[trust.ID]*Objection
}

// look asks what hosts have told, before a transaction.
func (s *Service) look(enrolled []Enrolled, site string) *hostView {
	out := &hostView{map[trust.ID]*control.Loop{}, map[trust.ID]trust.Position{}, map[trust.ID]time.Time{}, map[string]map[string]json.RawMessage{}, map[trust.ID]bool{}, map[string]time.Time{}, map[string]map[string]json.RawMessage{}, map[string]time.Time{}, map[trust.ID]*Objection{}}
	objections, _ := s.Seen.(Objections)
	for _, e := range enrolled {
		if objections != nil {
			out.objections[e.ID] = objections.Objection(e.ID, site)
		}
		if loop, ok := s.Seen.Loop(e.ID, site); ok {
			out.loops[e.ID] = &loop
		}
		out.held[e.ID] = s.Seen.Held(e.ID, site)
		out.away[e.ID], out.revoked[e.ID] = s.Seen.Away(e.ID), e.Revoked
		if known := s.factsOf(e.ID); e.Locked == "" && known.values != nil {
			out.facts[e.Name], out.since[e.Name] = known.values, known.since
		}
		if known := s.outputsOf(e.ID, site); e.Locked == "" && len(known.values) > 0 {
			out.outputs[e.Name], out.given[e.Name] = known.values, known.since
		}
	}
	return out
}

// isStale reports whether a host is to be evaluated anew: what it reads has changed, for as long as changes are gathered, and it was
// not evaluated a moment ago.
func (p *Prepared) isStale(told *hostView, now time.Time) bool {
	var changed time.Time
	isChanged := false
	for _, v := range p.Read {
		if v.In(told.facts, told.outputs) == v {
			continue
		}
		since := told.since[v.Host]
		if v.IsOutput {
			since = told.given[v.Host]
		}
		if !isChanged || since.Before(changed) {
			changed = since
		}
		isChanged = true
	}
	if !isChanged || len(p.Waits) > 0 { // nothing is there for the host as long as it waits
		return isChanged
	}
	isPast := func(t time.Time, long time.Duration) bool { return t.After(now) || !now.Before(t.Add(long)) }
	return isPast(changed, Gather) && isPast(p.At, Between)
}

// world gathers what is known, and takes new hosts into the newest deployment that is done.
func (s *Service) world(tx store.Tx, d *record, enrolled []Enrolled, told *hostView, full bool) (*World, error) {
	prepared, err := all[Prepared](tx, d.prepared(), d.Site, d.Revision)
	if err != nil {
		return nil, err
	}
	var plans map[trust.ID]*HostPlan
	if d.Consent != NoConsent { // nobody looks at them otherwise, and they may be large
		if plans, err = all[HostPlan](tx, plansTable, d.Site, d.Revision); err != nil {
			return nil, err
		}
	}
	pins, err := all[Pin](tx, pinsTable, d.Site, "")
	if err != nil {
		return nil, err
	}
	targets, err := all[targetRow](tx, targetsTable, d.Site, "")
	if err != nil {
		return nil, err
	}
	if err := s.addSigners(tx, d.Site, targets, told); err != nil {
		return nil, err
	}
	later, err := elsewhere(tx, d.Deployment)
	if err != nil {
		return nil, err
	}
	if err := s.takeNew(tx, d.Deployment, enrolled); err != nil {
		return nil, err
	}
	known := map[trust.ID]*Enrolled{}
	for i := range enrolled {
		known[enrolled[i].ID] = &enrolled[i]
	}
	clusters, err := s.clusters(tx, d.Deployment, enrolled, told, prepared, targets)
	if err != nil {
		return nil, err
	}
	now, isVoid := s.now(), s.isVoid()
	var lacks func(*Enrolled, *Look)
	if d.Signed {
		if lacks, err = s.lacks(tx, d.Deployment, told, now); err != nil {
			return nil, err
		}
	}
	return &World{Now: now, Clusters: clusters.changed, Full: full, Forbidden: s.mayAssign() != nil, Settles: s.settles, Look: func(id trust.ID) Look {
		l := Look{Away: told.away[id], Pinned: pins[id], Elsewhere: later[id], Loop: told.loops[id], Held: told.held[id], Plan: plans[id], Objection: told.objections[id]}
		if t := targets[id]; t != nil {
			l.Target = &t.Target
			l.Void = isVoid(t)
		}
		e := known[id]
		if e == nil {
			l.Locked = "it is not enrolled any more"
			return l
		}
		l.Locked, l.Silent, l.Cluster = e.Locked, told.facts[e.Name] == nil, clusters.blocked[e.Name]
		if lacks != nil {
			l.Prepared = prepared[id]
			lacks(e, &l)
			return l
		}
		if p := prepared[id]; p != nil && (p.Recipient == e.Sealing || p.Absent) && !p.isStale(told, now) && p.isMemberAs(clusters.joined, e.Name) {
			l.Prepared = p
		}
		return l
	}}, nil
}

// takeNew adds hosts that were enrolled after a deployment for all hosts was made, if it is the newest that is done.
func (s *Service) takeNew(tx store.Tx, d *Deployment, enrolled []Enrolled) error {
	if d.Phase != Done {
		return nil
	}
	newest, err := numbers(tx, `SELECT MAX(id) FROM deploy_deployments WHERE site = $1 AND phase = 'done'`, d.Site)
	if err != nil || len(newest) != 1 || newest[0] != d.ID {
		return err
	}
	r, err := revision(tx, d.Site, d.Number)
	if err != nil || r == nil {
		return err
	}
	selector, err := access.ParseSelector(d.Selector)
	if err != nil {
		return err
	}
	for i := range enrolled {
		e := &enrolled[i]
		isDeclared := slices.ContainsFunc(r.Hosts, func(h site.Host) bool { return h.Name == e.Name })
		if e.Locked == "" && isDeclared && selector.Matches(e.target()) && d.host(e.ID) == nil {
			d.Hosts = append(d.Hosts, &Host{ID: e.ID, Name: e.Name, State: rollout.Out})
		}
	}
	return nil
}

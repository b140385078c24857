package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// Outcome is what became of a deployment, host by host.
type Outcome struct {
	Phase Phase
	Why   Reason
	Hosts []HostOutcome // but those that a later deployment has, and that are no hosts any more; the gravest first
}

// HostOutcome is what became of a deployment on a host.
type HostOutcome struct {
	Name  string
	State rollout.State
	Why   Reason
	// Absent: the revision does not declare the host, and all that it has of the site goes.
	Absent bool
	// Components are those that it is to have at top level, with an empty name for what is in none; nil: that is not known.
	Components []string
	// Prunes: what it has and is not to have goes.
	Prunes bool
	// Report is that of the last run by which it was to become so, where that is not over or has failed; nil: there is none, or too many hosts have one.
	Report *states.Report
	// Others is how many more hosts stand like it, and are to have the same, of which nothing more is told.
	Others int
}

// maxReports is of how many hosts an outcome has reports: each is as long as what is wanted of the host.
const maxReports = 200

// Outcome tells what became of a deployment; nil: there is none of that number any more. Of all its hosts no more than indexes are read.
func (s *Service) Outcome(ctx context.Context, id int64) (out *Outcome, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	isHost := map[trust.ID]bool{} // neither one that was revoked, nor one that was forgotten since
	for _, e := range enrolled {
		isHost[e.ID] = !e.Revoked
	}
	var d *Deployment
	var told []*toldHost
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if d, err = s.brief(r, id, true); err != nil || d == nil {
			return err
		}
		told, err = toldHosts(r, d, isHost)
		return err
	})
	if err != nil || d == nil {
		return nil, err
	}
	out = &Outcome{Phase: d.Phase, Why: d.Why}
	reports := 0
	for _, h := range told {
		if h.mayReport && h.run != "" && s.Report != nil && reports < maxReports {
			report, _, err := s.Report(ctx, h.host, d.Site)
			if err != nil {
				return nil, err
			}
			if report != nil && report.Revision == h.run {
				h.Report = report
				reports++
			}
		}
		out.Hosts = append(out.Hosts, h.HostOutcome)
	}
	return out, nil
}

// toldHost is a host of which an outcome tells.
type toldHost struct {
	*member
	HostOutcome
	mayReport bool   // it has begun, and that is not over or has failed
	run       string // see Prepared
}

// toldHosts are those of which an outcome tells: so many of each state by themselves whose reports may say more, and of the others one for all that stand the same way.
func toldHosts(r store.Reader, d *Deployment, isHost map[trust.ID]bool) (list []*toldHost, err error) {
	later, err := elsewhere(r, d)
	if err != nil {
		return nil, err
	}
	shapes := map[trust.ID]string{} // see shapeOf; empty: it is not evaluated
	err = eachHostClass(r, d.prepared(), d.Site, d.evaluationDigest(), "", anyClass, func(c hostClass) error {
		shapes[c.host] = shapeOf(c.class)
		return nil
	})
	if err != nil {
		return nil, err
	}
	type kind struct {
		state rollout.State
		shape string
	}
	single, same := map[rollout.State]int{}, map[kind]*toldHost{}
	err = members(r, d.ID, -1, func(m *member) (bool, error) {
		hasEnded := d.Phase.IsOver() && m.turn == 0 // which is what there is to tell of it
		if !isHost[m.host] || m.state == rollout.Out && later[m.host] != 0 && !hasEnded {
			return true, nil
		}
		h := &toldHost{member: m, mayReport: m.turn > 0 && m.state != rollout.Ready}
		if h.mayReport && single[m.state] < maxReports {
			single[m.state]++
			list = append(list, h)
			return true, nil
		}
		of := kind{m.state, shapes[m.host]}
		if first := same[of]; first != nil {
			first.Others++
			return true, nil
		}
		same[of] = h
		list = append(list, h)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *toldHost) int { return urgency(a.state) - urgency(b.state) })
	for _, h := range list {
		if err := h.read(r, d); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// read reads what there is to tell of a host.
func (h *toldHost) read(r store.Reader, d *Deployment) error {
	kept, err := readMember(r, d.ID, h.host)
	if err != nil {
		return err
	}
	h.Name, h.State, h.Why = kept.Name, kept.Summary(), kept.Why
	p, err := one[Prepared](r, d.prepared(), d.Site, h.host, d.evaluationDigest())
	if p != nil {
		h.Absent, h.Components, h.Prunes, h.run = p.Absent, p.Components, p.Prunes, p.Run
	}
	return err
}

// urgency orders hosts by how much there is to tell of them.
func urgency(of rollout.State) int {
	return slices.Index([]rollout.State{rollout.Failed, rollout.Begun, rollout.Out, rollout.Pending, rollout.Ready}, of)
}

// SignedOf gives the newest deployment of a site, if it brings this revision as it was signed elsewhere; 0: it does not. A former one of the revision says nothing of what is wanted now.
func (s *Service) SignedOf(ctx context.Context, site string, number int64) (id int64, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		id = 0
		rev, err := revision(r, site, number)
		if err != nil || rev == nil {
			return err
		}
		var newest int64
		var body []byte
		found, err := store.One(r, `SELECT id, body FROM deploy_deployments WHERE site = $1 ORDER BY id DESC LIMIT 1`, []any{site}, &newest, &body)
		if err != nil || !found {
			return err
		}
		d := &Deployment{}
		if err := json.Unmarshal(body, d); err != nil {
			return fmt.Errorf("deployment %d is damaged: %w", newest, err)
		}
		if d.Signed && d.Revision == rev.Tree {
			id = newest
		}
		return nil
	})
	return id, err
}

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
	Hosts []HostOutcome // but those that a later deployment has, and that are no hosts any more
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
}

// maxReports is of how many hosts an outcome has reports: each is as long as what is wanted of the host.
const maxReports = 200

// Outcome tells what became of a deployment; nil: there is none of that number any more.
func (s *Service) Outcome(ctx context.Context, id int64) (*Outcome, error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	isHost := map[trust.ID]bool{} // neither one that was revoked, nor one that was forgotten since
	for _, e := range enrolled {
		isHost[e.ID] = !e.Revoked
	}
	var d *record
	var prepared map[trust.ID]*Prepared
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if d, err = load(r, id); err == nil && d != nil {
			prepared, err = all[Prepared](r, d.prepared(), d.Site, d.evaluationDigest())
		}
		return err
	})
	if err != nil || d == nil {
		return nil, err
	}
	out := &Outcome{Phase: d.Phase, Why: d.Why}
	hosts := slices.DeleteFunc(slices.Clone(d.Hosts), func(h *Host) bool { return !isHost[h.ID] || h.Why.Code == CodeElsewhere })
	slices.SortStableFunc(hosts, func(a, b *Host) int { return urgency(a) - urgency(b) })
	reports := 0
	for _, h := range hosts {
		o := HostOutcome{Name: h.Name, State: h.Summary(), Why: h.Why}
		p := prepared[h.ID]
		if p != nil {
			o.Absent, o.Components, o.Prunes = p.Absent, p.Components, p.Prunes
		}
		if p != nil && p.Run != "" && h.State != rollout.Ready && h.Turn > 0 && s.Report != nil && reports < maxReports {
			report, _, err := s.Report(ctx, h.ID, d.Site)
			if err != nil {
				return nil, err
			}
			if report != nil && report.Revision == p.Run {
				o.Report = report
				reports++
			}
		}
		out.Hosts = append(out.Hosts, o)
	}
	return out, nil
}

// urgency orders hosts by how much there is to tell of them.
func urgency(h *Host) int {
	return slices.Index([]rollout.State{rollout.Failed, rollout.Begun, rollout.Out, rollout.Pending, rollout.Ready}, h.State)
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

package deploy

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Clusters tells how the clusters of a site stand, by their names; without a site, those of all that the caller may read.
func (s *Service) Clusters(ctx context.Context, by *access.Caller, site string) (out []*cluster.Overview, err error) {
	return s.ClustersOf(ctx, by, site, "")
}

// ClustersOf lists those among them that are of a host, by its name, or wait for it; without one, all.
func (s *Service) ClustersOf(ctx context.Context, by *access.Caller, site, host string) (out []*cluster.Overview, err error) {
	if site != "" && !by.MaySite(access.Read, site) {
		return nil, by.Demand(access.Read, access.Target{}, site)
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	hosts := byName(enrolled)
	isOf := func(o *cluster.Overview) bool {
		return host == "" || slices.ContainsFunc(o.Peers, func(p cluster.PeerReport) bool { return p.Host == host })
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = []*cluster.Overview{}
		rows, err := clusterRows(r)
		for _, row := range rows {
			if row.Report == nil || !isOf(row.Report) || row.Site != site && (site != "" || !by.MaySite(access.Read, row.Site)) {
				continue
			}
			if o := overviewFor(by, row.Report, hosts); isOf(o) { // it may be one of those that the caller may not see
				out = append(out, o)
			}
		}
		return err
	})
	for _, o := range out {
		if err == nil {
			err = s.addParts(ctx, o, hosts)
		}
	}
	return out, err
}

// byName gives hosts by their names. A name that was revoked may be another host's by now.
func byName(enrolled []Enrolled) map[string]*Enrolled {
	out := make(map[string]*Enrolled, len(enrolled))
	for i := range enrolled {
		if e := &enrolled[i]; !e.Revoked {
			out[e.Name] = e
		}
	}
	return out
}

// addParts adds what members have by the cluster, as they have reported it last.
func (s *Service) addParts(ctx context.Context, o *cluster.Overview, hosts map[string]*Enrolled) error {
	if s.Report == nil {
		return nil
	}
	for i := range o.Peers {
		p := &o.Peers[i]
		e := hosts[p.Host]
		if e == nil {
			continue
		}
		report, _, err := s.Report(ctx, e.ID, o.Site)
		if err != nil {
			return err
		}
		if report != nil {
			p.AddParts(o.Cluster, report.Parts)
		}
	}
	return nil
}

// overviewFor gives what a caller may know of a cluster.
func overviewFor(by *access.Caller, r *cluster.Overview, hosts map[string]*Enrolled) *cluster.Overview {
	return r.For(func(host string) bool {
		to := access.Target{Name: host}
		if e := hosts[host]; e != nil {
			to = e.target()
		}
		return by.May(access.Read, to, r.Site)
	}, func(site string) bool { return by.MaySite(access.Read, site) })
}

// Undeploy takes a cluster away from its hosts, until the site is deployed again: what it has made goes. Who asks must be allowed to deploy
// to each of them.
func (s *Service) Undeploy(ctx context.Context, by *access.Caller, site, name, why string) (*cluster.Overview, error) {
	if !by.MaySite(access.Deploy, site) {
		return nil, by.Demand(access.Deploy, access.Target{}, site)
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	var out *cluster.Overview
	err = s.change(ctx, site, func(tx store.Tx) error {
		if _, err := raise(tx, allClusters); err != nil {
			return err
		}
		policy, err := policyOf(tx, site)
		if err == nil {
			err = policy.refuseAlone("take the cluster out of the site, and deploy that")
		}
		if err != nil {
			return err
		}
		rows, err := clusterRows(tx)
		if err != nil {
			return err
		}
		row := rowOf(rows, site, name)
		if row == nil || row.Report == nil {
			return notFound(fmt.Sprintf("the site %.100q has no cluster %.100q", site, name), "tenet undeploy SITE lists those that it has")
		}
		for _, id := range row.Members {
			i := slices.IndexFunc(enrolled, func(e Enrolled) bool { return e.ID == id })
			if i < 0 {
				continue
			}
			if err := by.Demand(access.Deploy, enrolled[i].target(), site); err != nil {
				return err
			}
		}
		newest, err := ruling(tx, site)
		if err != nil {
			return err
		}
		if newest == 0 {
			return &diag.HintError{Code: ErrPhase, Message: "the site is not deployed", Hint: "tenet deploy SITE"}
		}
		row.Undeployed, out = newest, overviewFor(by, row.Report, byName(enrolled))
		if err := row.save(tx); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "cluster.undeploy", Site: site, Reason: why, Detail: map[string]string{"cluster": name}})
	})
	if err != nil {
		return nil, err
	}
	s.Poke()
	return out, nil
}

// ruling is the deployment that says what the clusters of a site are to be: the newest that has begun; 0: there is none.
func ruling(r store.Reader, site string) (id int64, err error) {
	_, err = store.One(r, `SELECT CAST(COALESCE(MAX(id), 0) AS BIGINT) FROM deploy_deployments WHERE site = $1 AND phase IN ('rolling', 'paused', 'done')`, []any{site}, &id)
	return id, err
}

package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// ClusterFilter says which clusters are listed; what is empty says nothing.
type ClusterFilter struct {
	Site string
	Host string                       // that are of this host, by its name, or wait for it
	Name string                       // of the cluster
	Fits func(*cluster.Overview) bool // as the caller sees it, without parts
	// NoParts leaves out what members have by the cluster, and that some of it has failed.
	NoParts bool
	After   ClusterPlace
	Limit   int // 0: all
}

// ClusterPlace is a place in the list of clusters, behind one; zero: the begin.
type ClusterPlace struct {
	Site string `json:"site"`
	Name string `json:"name"`
}

// Clusters tells how clusters stand that the caller may read, by site and name.
func (s *Service) Clusters(ctx context.Context, by *access.Caller, f ClusterFilter) (out []*cluster.Overview, err error) {
	if f.Site != "" && !by.MaySite(access.Read, f.Site) {
		return nil, by.Demand(access.Read, access.Target{}, f.Site)
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	hosts := byName(enrolled)
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = []*cluster.Overview{}
		return eachCluster(r, &f, func(row *clusterRow) bool {
			if row.Report == nil || !f.isOf(row.Report) || !by.MaySite(access.Read, row.Site) {
				return true
			}
			// What a filter goes by may be a host that the caller may not see.
			if o := overviewFor(by, row.Report, hosts); f.isOf(o) && (f.Fits == nil || f.Fits(o)) {
				out = append(out, o)
			}
			return f.Limit <= 0 || len(out) < f.Limit
		})
	})
	if err == nil && !f.NoParts {
		err = s.addParts(ctx, out, hosts)
	}
	return out, err
}

// isOf reports whether a cluster is of the host that is asked for.
func (f *ClusterFilter) isOf(o *cluster.Overview) bool {
	return f.Host == "" || slices.ContainsFunc(o.Peers, func(p cluster.PeerReport) bool { return p.Host == f.Host })
}

// eachCluster reads clusters behind a place by site and name, for as long as more are wanted.
func eachCluster(r store.Reader, f *ClusterFilter, each func(*clusterRow) (more bool)) error {
	where, args := `(site > $1 OR site = $1 AND name > $2)`, []any{f.After.Site, f.After.Name}
	for _, c := range []struct{ column, value string }{{"site", f.Site}, {"name", f.Name}} {
		if c.value != "" {
			args = append(args, c.value)
			where += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	err := r.Query(`SELECT body FROM deploy_clusters WHERE `+where+` ORDER BY site, name`, args, func(row store.Row) error {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return err
		}
		c := &clusterRow{}
		if err := json.Unmarshal(body, c); err != nil {
			return fmt.Errorf("a cluster is damaged: %w", err)
		}
		if !each(c) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
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

// addParts adds what members have by clusters, as they have reported it last.
func (s *Service) addParts(ctx context.Context, list []*cluster.Overview, hosts map[string]*Enrolled) error {
	if s.Reports == nil {
		return nil
	}
	of := map[string][]trust.ID{} // members, by site
	eachMember := func(do func(o *cluster.Overview, p *cluster.PeerReport, id trust.ID)) {
		for _, o := range list {
			for i := range o.Peers {
				p := &o.Peers[i]
				if e := hosts[p.Host]; e != nil && (p.Membership == cluster.IsMember || p.Membership == cluster.Leaving) {
					do(o, p, e.ID)
				}
			}
		}
	}
	eachMember(func(o *cluster.Overview, _ *cluster.PeerReport, id trust.ID) { of[o.Site] = append(of[o.Site], id) })
	type placement struct {
		site string
		host trust.ID
	}
	parts := map[placement][]states.PartReport{}
	if err := s.Reports(ctx, of, func(site string, host trust.ID, report *states.Report) {
		parts[placement{site, host}] = slices.DeleteFunc(report.Parts, func(p states.PartReport) bool { return p.Cluster == "" }) // of many parts few are
	}); err != nil {
		return err
	}
	eachMember(func(o *cluster.Overview, p *cluster.PeerReport, id trust.ID) {
		p.AddParts(o.Cluster, parts[placement{o.Site, id}])
	})
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

package deploy

import (
	"context"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/server/store"
)

// membership is the cluster that a host has joined, and its members.
type membership struct {
	name    string
	members []string
}

// membershipsIn gives those of hosts, by their names.
func membershipsIn(joined map[string][]string) map[string]membership {
	out := map[string]membership{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(joined))) { // the first one counts
		for _, host := range joined[name] {
			out[host] = membership{name, joined[name]}
		}
	}
	return out
}

// isMemberAs reports whether a host was evaluated as the member that it is.
func (p *Prepared) isMemberAs(of map[string]membership, host string) bool {
	return p.Cluster == of[host].name && slices.Equal(p.Members, of[host].members)
}

// memberships are who is in which cluster of a revision.
type memberships struct {
	joined map[string][]string
	of     map[string]membership // by host
	// clustered are the hosts that a cluster has, or is to have: of these it is no mistake if nothing is wanted of them without it.
	clustered map[string]bool
}

// membershipsOf tells who is in which cluster of the revision of a deployment.
func (s *Service) membershipsOf(ctx context.Context, d *Deployment) (m memberships, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		m = memberships{joined: map[string][]string{}, clustered: map[string]bool{}}
		of, err := s.knownRevision(r, d.Site, d.Number)
		if err != nil || of == nil {
			return err
		}
		rows, err := clusterRows(r)
		m.joined = joinedIn(rows, of)
		m.of = membershipsIn(m.joined)
		for i := range of.Clusters {
			for _, name := range of.Clusters[i].Hosts {
				m.clustered[name] = true
			}
		}
		for _, row := range rows {
			for name := range row.Members {
				m.clustered[name] = m.clustered[name] || row.Site == d.Site
			}
		}
		return err
	})
	return m, err
}

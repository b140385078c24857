package deploy

import (
	"context"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// Wanted says of how many hosts a revision is wanted.
type Wanted struct {
	Revision int64 `json:"revision"`
	Hosts    int   `json:"hosts"`
}

// Wanted counts the hosts of a site that a caller may read by the revision that is wanted of them, the newest first. Revisions with the same files count as the newest of these.
func (s *Service) Wanted(ctx context.Context, by *access.Caller, site string) (out []Wanted, err error) {
	if !by.MaySite(access.Read, site) {
		return nil, noSite(site)
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		hosts, err := countTargets(r, site, readers(by, enrolled, site))
		if err != nil {
			return err
		}
		return r.Query(`SELECT number, tree FROM deploy_revisions WHERE site = $1 ORDER BY number DESC`, []any{site}, func(row store.Row) error {
			var w Wanted
			var tree string
			err := row.Scan(&w.Revision, &tree)
			w.Hosts = hosts[contents.Digest(tree)]
			delete(hosts, contents.Digest(tree))
			if w.Hosts > 0 {
				out = append(out, w)
			}
			return err
		})
	})
	return out, err
}

// countTargets counts those hosts of a site of which a tree is wanted.
func countTargets(r store.Reader, site string, may func(trust.ID) bool) (map[contents.Digest]int, error) {
	hosts := map[contents.Digest]int{}
	err := r.Query(`SELECT host, tree FROM deploy_targets WHERE site = $1`, []any{site}, func(row store.Row) error {
		var host, tree string
		err := row.Scan(&host, &tree)
		if may(trust.ID(host)) {
			hosts[contents.Digest(tree)]++
		}
		return err
	})
	return hosts, err
}

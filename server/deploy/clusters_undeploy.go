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

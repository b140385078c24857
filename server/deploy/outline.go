package deploy

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// OutlineMigration makes the table of what revisions make of hosts, for drawing. It came after other tables of a server, and stands behind them.
func OutlineMigration() store.Migration {
	return store.Migration{Name: "outlines for drawing", SQL: `
		CREATE TABLE deploy_outlines (
			site TEXT NOT NULL,
			host TEXT NOT NULL,
			tree TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, host, tree)
		) STRICT;`}
}

// outlineRow is what a revision makes of a host, without values.
type outlineRow struct {
	Identity trust.Digest `json:"identity"`
	Outline  []byte       `json:"outline"` // see evaluate.ReadOutline
}

// keepOutline keeps the outline of what was evaluated for a host. Where there is none the one before goes: it is of something else.
func keepOutline(tx store.Tx, d *Deployment, p *Prepared) error {
	if p.outline == nil {
		_, err := tx.Exec(`DELETE FROM deploy_outlines WHERE site = $1 AND host = $2 AND tree = $3`, d.Site, string(p.Host), string(d.Revision))
		return err
	}
	return outlinesTable.put(tx, d.Site, p.Host, d.Revision, outlineRow{p.Identity, p.outline})
}

// Graph is what is wanted of a host for a site, without values.
type Graph struct {
	Revision int64 // its number
	// IsTarget says that it is what is wanted now: else the facts or outputs that the site has read were others since.
	IsTarget bool
	*states.Outline
}

// Graph gives what is wanted of a host for a site, for drawing. Who asks has to be allowed to read it.
func (s *Service) Graph(ctx context.Context, host trust.ID, site string) (g *Graph, err error) {
	var kept *outlineRow
	var target targetRow
	err = s.Store.Read(ctx, func(r store.Reader) error {
		var tree string
		var body []byte
		kept, target = nil, targetRow{}
		found, err := store.One(r, `SELECT tree, body FROM deploy_targets WHERE site = $1 AND host = $2`, []any{site, string(host)}, &tree, &body)
		if err != nil || !found {
			return err
		}
		if err := json.Unmarshal(body, &target); err != nil {
			return fmt.Errorf("what is wanted of the host %s is damaged: %w", host.Short(), err)
		}
		body = nil
		if found, err = store.One(r, `SELECT body FROM deploy_outlines WHERE site = $1 AND host = $2 AND tree = $3`, []any{site, string(host), tree}, &body); err != nil || !found {
			return err
		}
		kept = &outlineRow{}
		return json.Unmarshal(body, kept)
	})
	switch {
	case err != nil:
		return nil, err
	case target.Revision == 0:
		return nil, notFound(fmt.Sprintf("nothing of the site %.100q is wanted of the host", site), "tenet deploy makes something wanted")
	case kept == nil && !target.Key.IsZero():
		return nil, notFound("what is wanted of the host was evaluated elsewhere, and the server cannot read it", "tenet graph prints it where the site is")
	case kept == nil:
		return nil, notFound("the graph of what is wanted of the host is not kept: it is too large, or a former version of the server has evaluated it", "tenet graph prints it; the next evaluation keeps it")
	}
	g = &Graph{Revision: target.Revision, IsTarget: kept.Identity == target.Identity}
	g.Outline, err = evaluate.ReadOutline(kept.Outline)
	return g, err
}

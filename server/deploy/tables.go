package deploy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// table is one of those that have a body for each host of a site.
type table string

const (
	preparedTable table = "deploy_prepared"
	signedTable   table = "deploy_signed" // the same, evaluated and signed elsewhere
	plansTable    table = "deploy_plans"
	pinsTable     table = "deploy_pins"
	targetsTable  table = "deploy_targets"
	outlinesTable table = "deploy_outlines"
)

// bodyOf is what is kept of a host, if that is not too much.
func bodyOf(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err == nil && len(body) > store.MaxValue {
		err = invalid(fmt.Sprintf("what is kept of the host takes %d MiB, and %d are allowed", len(body)>>20, store.MaxValue>>20), "declare less on one host")
	}
	return body, err
}

// put keeps the body of a host. Of what is prepared and planned there is one for each tree.
func (t table) put(tx store.Tx, site string, host trust.ID, tree contents.Digest, v any) error {
	body, err := bodyOf(v)
	if err != nil {
		return err
	}
	key := "site, host"
	if t == plansTable || t == outlinesTable {
		key += ", tree"
	}
	_, err = tx.Exec(`INSERT INTO `+string(t)+` (site, host, tree, body) VALUES ($1, $2, $3, $4) ON CONFLICT (`+key+`) DO UPDATE SET tree = $3, body = $4`,
		site, string(host), string(tree), body)
	return err
}

// all reads the bodies of a site, by host; of one tree, unless that is empty.
func all[T any](r store.Reader, t table, site string, tree contents.Digest) (map[trust.ID]*T, error) {
	out := map[trust.ID]*T{}
	return out, each(r, t, site, tree, func(host trust.ID, v *T) { out[host] = v })
}

// each calls a function for the body of each host of a site; of one tree, unless that is empty.
func each[T any](r store.Reader, t table, site string, tree contents.Digest, do func(trust.ID, *T)) error {
	sql, args := `SELECT host, body FROM `+string(t)+` WHERE site = $1 ORDER BY host`, []any{site}
	if tree != "" {
		sql, args = `SELECT host, body FROM `+string(t)+` WHERE site = $1 AND tree = $2 ORDER BY host`, append(args, string(tree))
	}
	return r.Query(sql, args, func(row store.Row) error {
		var host string
		var body []byte
		if err := row.Scan(&host, &body); err != nil {
			return err
		}
		v := new(T)
		if err := json.Unmarshal(body, v); err != nil {
			return fmt.Errorf("%s of %s is damaged: %w", t, host, err)
		}
		do(trust.ID(host), v)
		return nil
	})
}

// one reads the body of one host for a tree; nil: there is none.
func one[T any](r store.Reader, t table, site string, host trust.ID, tree contents.Digest) (*T, error) {
	var body []byte
	found, err := store.One(r, `SELECT body FROM `+string(t)+` WHERE site = $1 AND host = $2 AND tree = $3`, []any{site, string(host), string(tree)}, &body)
	if err != nil || !found {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("%s of %s is damaged: %w", t, host, err)
	}
	return v, nil
}

// ofHost gives the row of a host of which there is one for a site, whatever its tree is; nil: there is none.
func ofHost[T any](r store.Reader, t table, site string, host trust.ID) (*T, error) {
	var tree string
	found, err := store.One(r, `SELECT tree FROM `+string(t)+` WHERE site = $1 AND host = $2 LIMIT 1`, []any{site, string(host)}, &tree)
	if err != nil || !found {
		return nil, err
	}
	return one[T](r, t, site, host, contents.Digest(tree))
}

// numbers reads a column of numbers.
func numbers(r store.Reader, sql string, args ...any) (out []int64, err error) {
	err = r.Query(sql, args, func(row store.Row) error {
		var n int64
		err := row.Scan(&n)
		out = append(out, n)
		return err
	})
	return out, err
}

// siteDeployment is a deployment, and its site.
type siteDeployment struct {
	id   int64
	site string
}

// under lists the deployments that are to be looked at, by their numbers: of each site those that are not over, the newest that is done, and the newest of all.
func under(r store.Reader) (out []siteDeployment, err error) {
	err = r.Query(`SELECT id, site FROM deploy_deployments WHERE phase IN ('planned', 'rolling', 'paused')
		UNION SELECT MAX(id), site FROM deploy_deployments WHERE phase = 'done' GROUP BY site
		UNION SELECT MAX(id), site FROM deploy_deployments WHERE phase IN ('failed', 'aborted') GROUP BY site ORDER BY 1`, nil, func(row store.Row) error {
		var one siteDeployment
		err := row.Scan(&one.id, &one.site)
		out = append(out, one)
		return err
	})
	return out, err
}

// isUnder reports whether a deployment is looked at.
func isUnder(list []siteDeployment, id int64) bool {
	return slices.ContainsFunc(list, func(one siteDeployment) bool { return one.id == id })
}

// elsewhere gives the hosts that a later deployment has: one that goes on, or one in which they have begun.
func elsewhere(r store.Reader, d *Deployment) (map[trust.ID]int64, error) {
	out := map[trust.ID]int64{}
	err := r.Query(`SELECT h.host, MAX(h.deployment) FROM deploy_hosts h JOIN deploy_deployments d ON d.id = h.deployment
		WHERE d.site = $1 AND d.id > $2 AND (d.phase IN ('rolling', 'paused') OR h.turn > 0) GROUP BY h.host`, []any{d.Site, d.ID}, func(row store.Row) error {
		var host string
		var id int64
		err := row.Scan(&host, &id)
		out[trust.ID(host)] = id
		return err
	})
	return out, err
}

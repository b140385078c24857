package deploy

import (
	"context"
	"errors"

	"github.com/tenetcm/tenet/server/store"
)

// VersionMigration makes the table of versions: that of a site is another one whenever something has changed of what deployments are driven by, so that
// what was read of it before is known to be so still. It came after other tables of a server, and stands behind them.
func VersionMigration() store.Migration {
	return store.Migration{Name: "versions of what deployments are driven by", SQL: `
		CREATE TABLE deploy_versions (
			site    TEXT NOT NULL PRIMARY KEY,
			version BIGINT NOT NULL
		) STRICT;`}
}

// allClusters has the version of the clusters of all sites: no site has an empty name.
const allClusters = ""

// errMoved says that something has changed since it was read on which a transaction rests.
var errMoved = errors.New("something has changed meanwhile")

// versions reads those of all sites.
func versions(r store.Reader) (map[string]int64, error) {
	out := map[string]int64{}
	err := r.Query(`SELECT site, version FROM deploy_versions`, nil, func(row store.Row) error {
		var site string
		var version int64
		err := row.Scan(&site, &version)
		out[site] = version
		return err
	})
	return out, err
}

// versionOf reads the version of a site; 0: it has none yet.
func versionOf(r store.Reader, site string) (version int64, err error) {
	_, err = store.One(r, `SELECT version FROM deploy_versions WHERE site = $1`, []any{site}, &version)
	return version, err
}

// raise gives a site another version, in the transaction that changes something of it, and returns that.
func raise(tx store.Tx, site string) (int64, error) {
	version, err := versionOf(tx, site)
	if err == nil {
		version++
		_, err = tx.Exec(`INSERT INTO deploy_versions (site, version) VALUES ($1, $2) ON CONFLICT (site) DO UPDATE SET version = $2`, site, version)
	}
	return version, err
}

// raiseFrom is raise for what rests on a version: where that is another one by now the error is errMoved.
func raiseFrom(tx store.Tx, site string, version int64) error {
	now, err := versionOf(tx, site)
	if err == nil && now != version {
		err = errMoved
	}
	if err == nil {
		_, err = raise(tx, site)
	}
	return err
}

// change writes something of a site.
func (s *Service) change(ctx context.Context, site string, f func(store.Tx) error) error {
	return s.Store.Write(ctx, func(tx store.Tx) error {
		if _, err := raise(tx, site); err != nil {
			return err
		}
		return f(tx)
	})
}

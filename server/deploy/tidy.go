package deploy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

// KeepDeployments is how many deployments of a site are kept.
const KeepDeployments = 100

// forgetOld forgets the oldest deployments of a site: those that are over, or done and not the newest such.
func forgetOld(tx store.Tx, site string) error {
	old, err := numbers(tx, `SELECT id FROM deploy_deployments WHERE site = $1 AND phase IN ('done', 'failed', 'aborted', 'superseded')
		AND id < (SELECT COALESCE(MAX(id), 0) FROM deploy_deployments WHERE site = $1 AND phase = 'done') ORDER BY id DESC LIMIT 1000000 OFFSET $2`, site, int64(KeepDeployments))
	for _, id := range old {
		for _, sql := range []string{`DELETE FROM deploy_hosts WHERE deployment = $1`, `DELETE FROM deploy_shown WHERE deployment = $1`, `DELETE FROM deploy_deployments WHERE id = $1`} {
			if _, err := tx.Exec(sql, id); err != nil {
				return err
			}
		}
	}
	return err
}

// tidy removes from the folder what a process that was killed has left, and the files of revisions that are not kept any more.
func (s *Service) tidy(ctx context.Context) error {
	trees := map[string]bool{}
	if err := s.Store.Read(ctx, func(r store.Reader) error {
		return r.Query(`SELECT DISTINCT tree FROM deploy_revisions`, nil, func(row store.Row) error {
			var tree string
			err := row.Scan(&tree)
			trees["tree-"+tree] = true
			return err
		})
	}); err != nil {
		return err
	}
	s.files.Lock()
	defer s.files.Unlock()
	list, err := os.ReadDir(s.Dir)
	for _, e := range list {
		name := e.Name()
		isLeft := strings.HasPrefix(name, "draft-") || strings.HasPrefix(name, "tree-") && !trees[name]
		if strings.HasPrefix(name, "out-") || strings.HasPrefix(name, "upload-") { // some may be in use
			info, failed := e.Info()
			isLeft = failed == nil && time.Since(info.ModTime()) > time.Hour
		}
		if isLeft {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.Dir, name)))
		}
	}
	return err
}

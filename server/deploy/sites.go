package deploy

import (
	"context"
	"errors"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Site is a site of which there are revisions.
type Site struct {
	Name   string   `json:"name"`
	Newest Revision `json:"newest"`
	Done   int64    `json:"done,omitempty"`   // the newest deployment that is done
	Latest int64    `json:"latest,omitempty"` // the newest of all
}

// newestRevision gives the newest of a site; nil: there is none.
func (s *Service) newestRevision(r store.Reader, site string) (*Revision, error) {
	list, err := numbers(r, `SELECT number FROM deploy_revisions WHERE site = $1 ORDER BY number DESC LIMIT 1`, site)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return s.knownRevision(r, site, list[0])
}

// Sites lists those that a caller may see, by name, up to so many after one.
func (s *Service) Sites(ctx context.Context, by *access.Caller, after string, limit int) (out []Site, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		var names []string
		if err := r.Query(`SELECT DISTINCT site FROM deploy_revisions WHERE site > $1 ORDER BY site`, []any{after}, func(row store.Row) error {
			var name string
			err := row.Scan(&name)
			if by.MaySite(access.Read, name) {
				names = append(names, name)
			}
			return err
		}); err != nil {
			return err
		}
		for _, name := range names[:min(limit, len(names))] {
			one := Site{Name: name}
			newest, err := s.newestRevision(r, name)
			if err == nil && newest != nil {
				one.Newest = *newest
			}
			_, failed := store.One(r, `SELECT CAST(COALESCE(MAX(id), 0) AS BIGINT), CAST(COALESCE(MAX(CASE WHEN phase = 'done' THEN id ELSE 0 END), 0) AS BIGINT) FROM deploy_deployments WHERE site = $1`,
				[]any{name}, &one.Latest, &one.Done)
			if err = errors.Join(err, failed); err != nil {
				return err
			}
			out = append(out, one)
		}
		return nil
	})
	return out, err
}

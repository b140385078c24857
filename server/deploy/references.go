package deploy

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// References gives the contents that must stay: those of revisions, and of what is prepared for hosts.
func (s *Service) References(ctx context.Context) (map[contents.Digest]bool, error) {
	out := map[contents.Digest]bool{}
	var trees []contents.Digest
	err := s.Store.Read(ctx, func(r store.Reader) error {
		if err := r.Query(`SELECT DISTINCT tree FROM deploy_revisions`, nil, func(row store.Row) error {
			var tree string
			err := row.Scan(&tree)
			trees = append(trees, contents.Digest(tree))
			return err
		}); err != nil {
			return err
		}
		return r.Query(`SELECT body FROM deploy_prepared UNION ALL SELECT body FROM deploy_signed`, nil, func(row store.Row) error {
			var body []byte
			var p Prepared
			if err := row.Scan(&body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &p); err != nil {
				return err
			}
			out[contents.Digest(p.Bundle.SHA256.String())] = true
			for _, f := range p.Files {
				out[contents.Digest(f.SHA256.String())] = true
			}
			return nil
		})
	})
	for _, tree := range trees {
		out[tree] = true
		files, failed := s.tree(ctx, tree)
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		for _, f := range files {
			out[f.Digest] = true
		}
	}
	return out, err
}

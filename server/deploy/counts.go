package deploy

import (
	"context"

	"github.com/tenetcm/tenet/server/store"
)

// Counts says how many deployments that are known are in each phase.
func (s *Service) Counts(ctx context.Context) (counts map[string]float64, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		counts = map[string]float64{}
		for _, p := range []Phase{Planned, Rolling, Paused, Done, Failed, Aborted, Superseded} {
			counts[string(p)] = 0
		}
		return r.Query(`SELECT phase, COUNT(*) FROM deploy_deployments GROUP BY phase`, nil, func(row store.Row) error {
			var phase string
			var n int64
			err := row.Scan(&phase, &n)
			counts[phase] = float64(n)
			return err
		})
	})
	return counts, err
}

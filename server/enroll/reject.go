package enroll

import (
	"context"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// rejectsAtOnce is how many hosts are rejected by one write.
const rejectsAtOnce = 200

// RejectAll refuses the pending hosts that have asked by a token, and fit; an empty token is any, and nil fits all. Those for which the actor may not do so are
// left. It gives how many it has refused, also where it fails.
func (r *Registry) RejectAll(ctx context.Context, by By, token string, fits func(access.Target) bool) (n int, err error) {
	ids, err := r.readIDs(ctx, `SELECT id FROM enroll_hosts WHERE state = 'pending' AND (token = $1 OR CAST($1 AS TEXT) = '') ORDER BY asked_at`, token)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(ids, rejectsAtOnce) {
		var refused []*Host
		err := r.change(ctx, func(tx store.Tx) ([]*Host, error) {
			refused = nil
			for _, id := range some {
				h, err := readHost(tx, id)
				if err != nil {
					return nil, err
				}
				if h == nil || h.State != identity.Pending || fits != nil && !fits(h.Target()) || by.allow(h) != nil {
					continue
				}
				h.reject(by, r.now())
				if err := writeHost(tx, h); err != nil {
					return nil, err
				}
				if err := by.audit(tx, r.now(), "host.reject", h.ID, map[string]string{"name": h.Name, "token": h.Token}); err != nil {
					return nil, err
				}
				refused = append(refused, h)
			}
			return refused, nil
		})
		if err != nil {
			return n, err
		}
		n += len(refused)
	}
	return n, nil
}

// reject puts a host out that is pending.
func (h *Host) reject(by By, now time.Time) {
	h.end(now, or(cleanReason(by.Reason), "it was rejected"))
	h.DecidedAt, h.DecidedBy = &now, by.Actor
}

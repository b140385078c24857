package enroll

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// keepUnanswered is how long it is known that a host was forgotten that nobody had answered.
const keepUnanswered = 30 * 24 * time.Hour

// ForgetOld forgets the hosts that were revoked or rejected so long ago, and those that have asked so long ago and were not answered; 0: none of them.
func (r *Registry) ForgetOld(ctx context.Context, ended, pending time.Duration) error {
	now := r.now()
	// Before there was a column for it nobody has noted when.
	err := r.store.Write(ctx, func(tx store.Tx) error {
		if _, err := tx.Exec(`UPDATE enroll_hosts SET ended_at = $1 WHERE state = 'revoked' AND ended_at IS NULL`, now); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM enroll_forgotten WHERE ended = 0 AND at < $1 AND version < (SELECT MAX(version) FROM enroll_forgotten)`, now.Add(-keepUnanswered))
		return err
	})
	if err != nil {
		return err
	}
	// A host that has another identity, and has not said so by it, may still ask by the former one.
	const endedBefore = `SELECT id FROM enroll_hosts WHERE state = 'revoked' AND ended_at < $1
		AND NOT EXISTS (SELECT 1 FROM enroll_hosts s WHERE s.id = enroll_hosts.successor AND s.renewed_at <= enroll_hosts.ended_at) ORDER BY ended_at`
	const askedBefore = `SELECT id FROM enroll_hosts WHERE state = 'pending' AND asked_at < $1 ORDER BY asked_at`
	for _, old := range []struct {
		sql   string
		after time.Duration
		state State
		why   string
	}{
		{endedBefore, ended, identity.Revoked, "it was revoked or rejected long ago"},
		{askedBefore, pending, identity.Pending, "nobody has answered it"},
	} {
		if old.after == 0 {
			continue
		}
		if err := r.forgetThose(ctx, By{Actor: server, Reason: old.why}, old.state, old.sql, now.Add(-old.after)); err != nil {
			return err
		}
	}
	return nil
}

// forgetThose forgets the hosts that a query names, if they still are in a state.
func (r *Registry) forgetThose(ctx context.Context, by By, state State, sql string, before time.Time) error {
	ids, err := r.readIDs(ctx, sql, before)
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := r.forget(ctx, by, id, func(h *Host) error {
			if h.State != state {
				return fmt.Errorf("the host %s was answered while it was to be forgotten", h.Name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) readIDs(ctx context.Context, sql string, args ...any) (ids []trust.ID, err error) {
	err = r.store.Read(ctx, func(reader store.Reader) error {
		ids = nil
		return reader.Query(sql, args, func(row store.Row) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, trust.ID(id))
			return err
		})
	})
	return ids, err
}

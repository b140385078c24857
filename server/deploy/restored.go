package deploy

import (
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Restored ends or pauses what was under way when a backup was made, in a transaction of the caller's: approvals of what had not come to its end are
// void, nothing goes on by itself, and hosts that have something later keep it until somebody deploys again.
func Restored(tx store.Tx, now time.Time) error {
	ids, err := numbers(tx, `SELECT id FROM deploy_deployments WHERE phase IN ('planned', 'rolling', 'paused', 'done') ORDER BY id`)
	if err != nil {
		return err
	}
	const why = "the server was restored from a backup"
	for _, id := range ids {
		d, err := load(tx, id)
		if err != nil {
			return err
		}
		if _, err := raise(tx, d.Site); err != nil {
			return err
		}
		d.Restored = true
		switch {
		case d.Phase == Done: // its approval covers what was approved, for hosts that come late
		case d.Approved != nil, d.Phase == Planned && d.Consent == NoConsent:
			d.Approved = nil
			err = d.Abort(access.Server, why, now)
		case d.Phase == Rolling:
			err = d.Hold(access.Server, why, now)
		case d.Phase == Paused: // also one that would go on as soon as hosts return
			d.Phase = Rolling
			err = d.Hold(access.Server, why, now)
		}
		if err != nil {
			return err
		}
		if err := d.save(tx); err != nil {
			return err
		}
	}
	return nil
}

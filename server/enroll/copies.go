package enroll

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Reasons of hosts of which copies were noticed.
const (
	copyReason     = "two machines speak for this host: a copy of it was made, or it was put back to an earlier state"
	questionReason = "many hosts were put back to an earlier state at once, or the server was: a person decides"
)

// NoticeCopy says that two machines speak for a host, as where two connections of it are both alive.
func (r *Registry) NoticeCopy(ctx context.Context, id trust.ID) error {
	return r.change(ctx, func(tx store.Tx) ([]*Host, error) {
		h, err := readHost(tx, id)
		if err != nil || h == nil || !mayReport(h.State) {
			return nil, err
		}
		return r.noticeCopy(tx, h)
	})
}

// noticeCopy locks a host of which there is a copy: nobody knows which of the two is right. Where there are many such within a short time, somebody has
// put machines back from snapshots, or the server itself: then none is locked, and a person is asked.
func (r *Registry) noticeCopy(tx store.Tx, h *Host) ([]*Host, error) {
	now := r.now()
	first := h.CopiedAt == nil || now.Sub(*h.CopiedAt) > r.options.Window
	h.CopiedAt = &now
	// What is noticed again is no other host, and needs no other entry in the audit; those that a person has locked stay so.
	if h.Question || h.State == identity.Locked && !first {
		return []*Host{h}, writeHost(tx, h)
	}
	var others []*Host
	err := tx.Query(selectHosts+` WHERE copied_at > $1 AND id <> $2 AND state <> 'revoked'`, []any{now.Add(-r.options.Window), string(h.ID)}, func(row store.Row) error {
		o, err := scanHost(row)
		others = append(others, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(others)+1 > r.options.Many {
		return r.askAbout(tx, append(others, h))
	}
	if h.State == identity.Locked { // by a person
		return []*Host{h}, writeHost(tx, h)
	}
	by := By{Actor: server, Reason: copyReason}
	h.State, h.Reason, h.copied = identity.Locked, copyReason, true
	if err := writeHost(tx, h); err != nil {
		return nil, err
	}
	return []*Host{h}, by.audit(tx, now, "host.lock", h.ID, map[string]string{"name": h.Name})
}

// askAbout unlocks hosts that were locked since copies were noticed, and asks a person about all of them.
func (r *Registry) askAbout(tx store.Tx, hosts []*Host) ([]*Host, error) {
	by := By{Actor: server, Reason: questionReason}
	var changed []*Host
	for _, h := range hosts {
		if h.Question || h.State == identity.Locked && !h.copied { // asked already, or locked by a person
			continue
		}
		if h.copied {
			h.unlock()
		}
		h.Question, h.Reason = true, questionReason
		if err := writeHost(tx, h); err != nil {
			return nil, err
		}
		if err := by.audit(tx, r.now(), "host.question", h.ID, map[string]string{"name": h.Name}); err != nil {
			return nil, err
		}
		changed = append(changed, h)
	}
	return changed, nil
}

// Settle answers the question about hosts of which copies were noticed along with those of many others: accept says that they are the right ones, and that
// what each says next counts; else they are locked. It gives those that it has settled; a host about which there is no question is passed over.
func (r *Registry) Settle(ctx context.Context, by By, accept bool, ids ...trust.ID) (settled []*Host, err error) {
	err = r.change(ctx, func(tx store.Tx) ([]*Host, error) {
		settled = nil
		for _, id := range ids {
			h, err := readHost(tx, id)
			if err != nil {
				return nil, err
			}
			if h == nil {
				return nil, unknownHost(id)
			}
			if !h.Question {
				continue
			}
			if err := by.allow(h); err != nil {
				return nil, err
			}
			h.Question, h.Reason = false, ""
			if accept {
				h.anyValue, h.CopiedAt = true, nil
			} else {
				h.State, h.Reason, h.copied = identity.Locked, or(cleanReason(by.Reason), fmt.Sprintf("%s; %s has decided so", copyReason, by.Actor)), true
			}
			if err := writeHost(tx, h); err != nil {
				return nil, err
			}
			if err := by.audit(tx, r.now(), "host.settle", h.ID, map[string]string{"name": h.Name, "accept": strconv.FormatBool(accept)}); err != nil {
				return nil, err
			}
			settled = append(settled, h)
		}
		return settled, nil
	})
	return settled, err
}

// Restored says that the store was put back from a backup, in a transaction of the caller's, who calls Refresh after it: what hosts know is newer than
// what stands there, so that the next renewal of each counts. Tokens are void.
func (r *Registry) Restored(tx store.Tx) error { return Restored(tx, r.now()) }

// Restored is Registry.Restored for a store that no registry is open for.
func Restored(tx store.Tx, now time.Time) error {
	next, err := nextVersion(tx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE enroll_hosts SET any_value = 1, version = CAST($1 AS BIGINT) WHERE state IN ('approved', 'active', 'locked')`, next); err != nil {
		return err
	}
	return voidTokens(tx, now)
}

package enroll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// ForgetMigration has hosts be forgotten. It came after other tables of a server, and stands behind them.
//
// Of a host that was revoked or rejected the digest of its key stays, with the name: the key is refused for good. Of one whose request nobody has answered it
// stays for a while, so that other servers learn of it, and a person does when it asks again.
func ForgetMigration() store.Migration {
	return store.Migration{Name: "hosts that are forgotten", SQL: `
ALTER TABLE enroll_hosts ADD COLUMN ended_at BIGINT;
CREATE INDEX enroll_hosts_ended ON enroll_hosts (ended_at) WHERE state = 'revoked';
CREATE INDEX enroll_hosts_pending ON enroll_hosts (asked_at) WHERE state = 'pending';
CREATE TABLE enroll_forgotten (
	id      TEXT NOT NULL PRIMARY KEY,
	name    TEXT NOT NULL,
	ended   BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	version BIGINT NOT NULL
) STRICT;
CREATE INDEX enroll_forgotten_version ON enroll_forgotten (version);
`}
}

// Forgetting is what others do when a host is forgotten; what is nil nobody does.
type Forgetting struct {
	// Before removes what there may be much of, in writes of its own.
	Before func(context.Context, trust.ID) error
	// Within removes all else, in the transaction in which the host goes.
	Within func(store.Tx, trust.ID) error
	// After removes what is in memory, after the commit.
	After func(context.Context, trust.ID) error
}

// forgotten is a host that was.
type forgotten struct {
	ID      trust.ID
	Name    string
	Ended   bool // it was revoked or rejected; else nobody has answered it
	At      time.Time
	version int64
}

const selectForgotten = `SELECT id, name, ended, at, version FROM enroll_forgotten`

func scanForgotten(row store.Row) (g forgotten, err error) {
	var id string
	err = row.Scan(&id, &g.Name, &g.Ended, &g.At, &g.version)
	g.ID = trust.ID(id)
	return g, err
}

// readForgotten gives what is left of a host; nil: nothing.
func readForgotten(r store.Reader, id trust.ID) (g *forgotten, err error) {
	err = r.Query(selectForgotten+` WHERE id = $1`, []any{string(id)}, func(row store.Row) error {
		one, err := scanForgotten(row)
		g = &one
		return err
	})
	return g, err
}

// forgottenSince gives the hosts that were forgotten after a version, and the newest version.
func forgottenSince(r store.Reader, version int64) (list []forgotten, newest int64, err error) {
	newest = version
	err = r.Query(selectForgotten+` WHERE version > $1`, []any{version}, func(row store.Row) error {
		g, err := scanForgotten(row)
		list, newest = append(list, g), max(newest, g.version)
		return err
	})
	return list, newest, err
}

// nextVersion is that of the next change of any host.
func nextVersion(tx store.Tx) (next int64, err error) {
	for _, table := range []string{"enroll_hosts", "enroll_forgotten"} {
		var n int64
		if _, err := store.One(tx, `SELECT COALESCE(MAX(version), 0) + 1 FROM `+table, nil, &n); err != nil {
			return 0, err
		}
		next = max(next, n)
	}
	return next, nil
}

// wasKnown tells whether an identity is, or was, that of a host.
func wasKnown(r store.Reader, id trust.ID) (bool, error) {
	h, err := readHost(r, id)
	if err != nil || h != nil {
		return h != nil, err
	}
	g, err := readForgotten(r, id)
	return g != nil && g.Ended, err
}

// Forget forgets a host that was revoked or rejected, and all that is kept of it, but for the audit. Its key is not taken in again.
func (r *Registry) Forget(ctx context.Context, by By, id trust.ID) (*Host, error) {
	return r.forget(ctx, by, id, func(h *Host) error {
		switch h.State {
		case identity.Revoked:
			return nil
		case identity.Pending:
			return &diag.HintError{Code: CodeState, Message: fmt.Sprintf("the host %s is pending, and only one that was revoked or rejected is forgotten", h.Name), Hint: "tenet host reject " + string(id) + ", or wait: it is forgotten by itself if nobody answers it"}
		}
		return &diag.HintError{Code: CodeState, Message: fmt.Sprintf("the host %s is %s, and only one that was revoked or rejected is forgotten", h.Name, h.State), Hint: "tenet host revoke " + h.Name}
	})
}

func (r *Registry) forget(ctx context.Context, by By, id trust.ID, check func(*Host) error) (h *Host, err error) {
	may := func(reader store.Reader) error {
		if h, err = readHost(reader, id); err != nil {
			return err
		}
		if h == nil {
			return unknownHost(id)
		}
		return errors.Join(by.allow(h), check(h))
	}
	if err := r.store.Read(ctx, may); err != nil {
		return nil, err
	}
	others := r.options.Forget
	if others.Before != nil {
		if err := others.Before(ctx, id); err != nil {
			return nil, err
		}
	}
	var gone forgotten
	err = r.store.Write(ctx, func(tx store.Tx) error {
		if err := may(tx); err != nil {
			return err
		}
		if others.Within != nil {
			if err := others.Within(tx, id); err != nil {
				return err
			}
		}
		gone = forgotten{ID: id, Name: h.Name, Ended: h.State == identity.Revoked, At: r.now()}
		return r.writeForgotten(tx, by, h, &gone)
	})
	if err != nil {
		return nil, err
	}
	r.drop(gone)
	if r.options.Changed != nil {
		r.options.Changed(id)
	}
	if others.After != nil {
		err = others.After(ctx, id)
	}
	return h, err
}

// writeForgotten puts what is left of a host in its place.
func (r *Registry) writeForgotten(tx store.Tx, by By, h *Host, g *forgotten) (err error) {
	if g.version, err = nextVersion(tx); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM enroll_hosts WHERE id = $1`, string(h.ID)); err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO enroll_forgotten (id, name, ended, at, version) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, ended = excluded.ended, at = excluded.at, version = excluded.version`,
		string(g.ID), g.Name, g.Ended, g.At, g.version); err != nil {
		return err
	}
	return by.audit(tx, g.At, "host.forget", h.ID, map[string]string{"name": h.Name, "state": string(h.State), "why": h.Reason})
}

// drop takes a host that was forgotten out of memory.
func (r *Registry) drop(g forgotten) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.known[g.ID]; b != nil && b.version < g.version {
		delete(r.known, g.ID)
		r.ordered = nil
	}
}

// endedBefore answers for a host that was revoked or rejected, and forgotten, as it was answered before that; nil: there was none.
func (r *Registry) endedBefore(ctx context.Context, id trust.ID) (*Host, error) {
	var g *forgotten
	err := r.store.Read(ctx, func(reader store.Reader) (err error) {
		g, err = readForgotten(reader, id)
		return err
	})
	if err != nil || g == nil || !g.Ended {
		return nil, err
	}
	return &Host{ID: id, Name: g.Name, State: identity.Revoked, Reason: fmt.Sprintf("the host %s with this key was revoked or rejected, and forgotten on %s: "+
		"to join as another host, have it make new keys by tenet agent leave", g.Name, g.At.Format(time.DateOnly))}, nil
}

// noteFormer tells people of a host that asks that it has done so before, in vain.
func (h *Host) noteFormer(tx store.Tx) error {
	g, err := readForgotten(tx, h.ID)
	if err != nil || g == nil {
		return err
	}
	h.Reason += fmt.Sprintf("; it has asked before, as %s, and was forgotten on %s, since nobody had answered it", g.Name, g.At.Format(time.DateOnly))
	_, err = tx.Exec(`DELETE FROM enroll_forgotten WHERE id = $1`, string(h.ID))
	return err
}

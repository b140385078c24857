package enroll

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Migrations makes the tables of hosts and tokens.
func Migrations() []store.Migration {
	return []store.Migration{{Name: "hosts and tokens", SQL: `
CREATE TABLE enroll_tokens (
	id TEXT PRIMARY KEY, note TEXT NOT NULL, made_at BIGINT NOT NULL, made_by TEXT NOT NULL, expires_at BIGINT NOT NULL,
	uses BIGINT NOT NULL, used BIGINT NOT NULL, auto BIGINT NOT NULL, names TEXT NOT NULL, labels TEXT NOT NULL, revoked_at BIGINT
) STRICT;
CREATE TABLE enroll_hosts (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, keys BYTES NOT NULL,
	token TEXT NOT NULL, source TEXT NOT NULL, asked_at BIGINT NOT NULL, decided_at BIGINT, decided_by TEXT NOT NULL, renewed_at BIGINT,
	value BYTES NOT NULL, former BYTES NOT NULL, any_value BIGINT NOT NULL, copied_at BIGINT, copied BIGINT NOT NULL, question BIGINT NOT NULL,
	successor TEXT NOT NULL, version BIGINT NOT NULL
) STRICT;
CREATE INDEX enroll_hosts_version ON enroll_hosts (version);
CREATE INDEX enroll_hosts_copied ON enroll_hosts (copied_at);
CREATE UNIQUE INDEX enroll_hosts_held ON enroll_hosts (lower(name)) WHERE state IN ('approved', 'active', 'locked');
`}}
}

// Host is one that has asked to be taken in, and what has become of it.
type Host struct {
	ID        trust.ID          `json:"id" doc:"The digest of its identity key."`
	Name      string            `json:"name" doc:"As it was approved; of one that is pending: as it wants to be called."`
	Labels    map[string]string `json:"labels,omitempty"`
	State     State             `json:"state" enum:"pending,approved,active,locked,revoked" doc:"Approved: not seen since. A locked one gets nothing new, and reports."`
	Reason    string            `json:"reason,omitempty" doc:"Why it is pending, locked or revoked."`
	Keys      *trust.HostKeys   `json:"keys"`
	Token     string            `json:"token" doc:"By which it has asked."`
	Source    string            `json:"source" doc:"The address from which it has asked."`
	AskedAt   time.Time         `json:"asked_at"`
	DecidedAt *time.Time        `json:"decided_at,omitempty"`
	DecidedBy string            `json:"decided_by,omitempty"`
	RenewedAt *time.Time        `json:"renewed_at,omitempty"`
	CopiedAt  *time.Time        `json:"copied_at,omitempty" doc:"When a copy of it was noticed."`
	// Question says that a copy was noticed along with those of many other hosts, as after a restored snapshot, and that a person is to decide: see Settle.
	Question  bool     `json:"question,omitempty" doc:"A person is to decide, since copies of many hosts were noticed at once."`
	Successor trust.ID `json:"successor,omitempty" doc:"The identity that the host has now."`
	// EndedAt is when it was revoked or rejected: some time after that it is forgotten.
	EndedAt *time.Time `json:"ended_at,omitempty" doc:"When it was revoked or rejected: some time after that it is forgotten."`
	// Replaces is the host that has the name of one that is pending, with what differs.
	Replaces *Replaced `json:"replaces,omitempty" doc:"Of one that is pending: the host that has its name, with what differs."`

	certificate   *trust.Signed // of Keys
	value, former []byte        // of renewals: what the host knows; what it knew before
	anyValue      bool          // the next renewal counts, whatever it knows
	copied        bool          // it is locked since a copy was noticed, not by a person
	version       int64         // grows with each change of any host
}

// Target is the host as grants and selectors see it.
func (h *Host) Target() access.Target { return access.Target{Name: h.Name, Labels: h.Labels} }

// Certificate is what the host's identity has signed of its keys.
func (h *Host) Certificate() *trust.Signed { return h.certificate }

func (h *Host) brief() *brief {
	return &brief{Brief: newBrief(h), Connection: h.Keys.Connection, Identity: h.Keys.Identity, version: h.version}
}

const selectHosts = `SELECT id, name, labels, state, reason, keys, token, source, asked_at, decided_at, decided_by, renewed_at,
	value, former, any_value, copied_at, copied, question, successor, ended_at, version FROM enroll_hosts`

func scanHost(row store.Row) (*Host, error) {
	h := &Host{}
	var id, labels, state, successor string
	var keys []byte
	if err := row.Scan(&id, &h.Name, &labels, &state, &h.Reason, &keys, &h.Token, &h.Source, &h.AskedAt, &h.DecidedAt, &h.DecidedBy, &h.RenewedAt,
		&h.value, &h.former, &h.anyValue, &h.CopiedAt, &h.copied, &h.Question, &successor, &h.EndedAt, &h.version); err != nil {
		return nil, err
	}
	h.ID, h.State, h.Successor = trust.ID(id), State(state), trust.ID(successor)
	if err := json.Unmarshal([]byte(labels), &h.Labels); err != nil {
		return nil, err
	}
	h.certificate, h.Keys = &trust.Signed{}, &trust.HostKeys{}
	if err := json.Unmarshal(keys, h.certificate); err != nil {
		return nil, err
	}
	// Its signature was verified when it was stored.
	return h, json.Unmarshal(h.certificate.Content, h.Keys)
}

// readHost gives a host; nil: there is none.
func readHost(r store.Reader, id trust.ID) (h *Host, err error) {
	err = r.Query(selectHosts+` WHERE id = $1`, []any{string(id)}, func(row store.Row) (err error) {
		h, err = scanHost(row)
		return err
	})
	return h, err
}

// readHolder gives the host that has a name, in whatever case it is written; nil: none.
func readHolder(r store.Reader, name string) (h *Host, err error) {
	err = r.Query(selectHosts+` WHERE lower(name) = $1 AND state IN ('approved', 'active', 'locked')`, []any{strings.ToLower(name)}, func(row store.Row) (err error) {
		h, err = scanHost(row)
		return err
	})
	return h, err
}

// writeHost keeps a host as it is.
func writeHost(tx store.Tx, h *Host) error {
	labels, err := json.Marshal(h.Labels)
	if err != nil {
		return err
	}
	keys, err := json.Marshal(h.certificate)
	if err != nil {
		return err
	}
	if h.version, err = nextVersion(tx); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO enroll_hosts (id, name, labels, state, reason, keys, token, source, asked_at, decided_at, decided_by, renewed_at,
			value, former, any_value, copied_at, copied, question, successor, ended_at, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, labels = excluded.labels, state = excluded.state, reason = excluded.reason, keys = excluded.keys,
			token = excluded.token, source = excluded.source, asked_at = excluded.asked_at, decided_at = excluded.decided_at, decided_by = excluded.decided_by,
			renewed_at = excluded.renewed_at, value = excluded.value, former = excluded.former, any_value = excluded.any_value, copied_at = excluded.copied_at,
			copied = excluded.copied, question = excluded.question, successor = excluded.successor, ended_at = excluded.ended_at, version = excluded.version`,
		string(h.ID), h.Name, string(labels), string(h.State), h.Reason, keys, h.Token, h.Source, h.AskedAt, h.DecidedAt, h.DecidedBy, h.RenewedAt,
		h.value, append([]byte{}, h.former...), h.anyValue, h.CopiedAt, h.copied, h.Question, string(h.Successor), h.EndedAt, h.version)
	return err
}

package sessions

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Objection is why a host has not taken up what it was given, as it has told.
type Objection struct {
	control.Objection
	Since time.Time `json:"since"` // since when it has told so, by the server's clock: the host's may be what is wrong
}

// String says it for people.
func (o *Objection) String() string {
	text := "the host refuses it: "
	if o.Code == control.ObjectionStorage {
		text = "the host cannot keep it: "
	}
	if o.Site == "" { // it is about all of them
		text = "the host takes up nothing: "
	}
	return text + o.Why
}

// ObjectionsMigration makes the table of what hosts have against what they were given. It came after other tables of a server, and stands behind them.
func ObjectionsMigration() store.Migration {
	return store.Migration{Name: "objections of hosts", SQL: `
CREATE TABLE sessions_objections (
	host       TEXT NOT NULL PRIMARY KEY,
	objections BYTES NOT NULL
) STRICT;
`}
}

// isLike tells whether two lists say the same, whatever the words: the time stands in them, and need not be kept again and again.
func isLike(was, now []Objection) bool {
	return slices.EqualFunc(was, now, func(a, b Objection) bool { return !a.IsNew([]control.Objection{b.Objection}) })
}

// objections gives those of a Hello. What a host has told before, it has told since then.
func (s *Sessions) objections(h *host, m *control.Hello) []Objection {
	var list []Objection
	for _, o := range m.Objections() {
		next := Objection{Objection: o, Since: s.Clock()}
		for _, was := range h.objections {
			if !o.IsNew([]control.Objection{was.Objection}) {
				next.Since = was.Since
			}
		}
		list = append(list, next)
	}
	return list
}

// objection is what a host has against a target: to that itself, or else to all; nil: nothing.
func (h *host) objection(site string, at trust.Position) *Objection {
	for _, o := range h.objections {
		if o.Site == site && o.Position == at {
			return &o
		}
	}
	if trouble := h.trouble(); len(trouble) > 0 {
		return &trouble[0]
	}
	return nil
}

// trouble lists what keeps a host from taking up or telling anything.
func (h *host) trouble() []Objection {
	var list []Objection
	for _, o := range h.objections {
		if o.Site == "" {
			list = append(list, o)
		}
	}
	return list
}

// save writes what is kept of a host beside its targets.
func (h *host) save(tx store.Tx) error {
	if len(h.objections) == 0 {
		if _, err := tx.Exec(`DELETE FROM sessions_objections WHERE host = $1`, string(h.core.ID)); err != nil {
			return err
		}
		return saveHost(tx, &h.core, h.boot)
	}
	data, err := json.Marshal(h.objections)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO sessions_objections (host, objections) VALUES ($1, $2) ON CONFLICT (host) DO UPDATE SET objections = excluded.objections`, string(h.core.ID), data); err != nil {
		return err
	}
	return saveHost(tx, &h.core, h.boot)
}

func loadObjections(r store.Reader, get func(string) *host) error {
	return r.Query(`SELECT host, objections FROM sessions_objections`, nil, func(row store.Row) error {
		var id string
		var data []byte
		if err := row.Scan(&id, &data); err != nil {
			return err
		}
		h := get(id)
		if err := json.Unmarshal(data, &h.objections); err != nil {
			return fmt.Errorf("what the host %s has against what it was given: %w", id, err)
		}
		return nil
	})
}

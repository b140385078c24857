package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// maxOutputs is how many outputs of a site a host may give.
const maxOutputs = 256

// checkOutputs refuses what no host of this program gives.
func (t *batchContent) checkOutputs(ctx context.Context, s *Sessions, o *control.Outputs) error {
	if o.Signed != nil {
		key, err := s.Hosts.Identity(ctx, t.host)
		if err != nil {
			return err
		}
		r, err := trust.Open[control.OutputsReport](o.Signed, trust.KindOutputs, key)
		if err != nil {
			return err
		}
		if r.Host != t.host || r.Site != o.Site {
			return errors.New("its outputs are signed for another host or site")
		}
		// What is signed is what counts: whoever evaluates elsewhere sees the same as the server.
		o.Values = r.Values
	}
	if len(o.Values) > maxOutputs {
		return fmt.Errorf("it gives %d outputs, and %d are taken", len(o.Values), maxOutputs)
	}
	for name, value := range o.Values {
		if name == "" || len(name) > maxName || len(value) > states.MaxOutput || !json.Valid(value) {
			return fmt.Errorf("its output %.80q has no name, is no JSON or has more than %d bytes", name, states.MaxOutput)
		}
	}
	if !t.mayName(o.Site) {
		return errors.New("it names no site that is known of the host")
	}
	return nil
}

// saveOutputs keeps what is new of what a host gives.
func (t *batchContent) saveOutputs(tx store.Tx, o *control.Outputs) error {
	var known int64
	if _, err := store.One(tx, `SELECT COUNT(*) FROM sessions_outputs WHERE host = $1 AND site = $2`, []any{string(t.host), o.Site}, &known); err != nil {
		return err
	}
	if known > 4*maxOutputs { // of many revisions: what counts is told again
		if _, err := tx.Exec(`DELETE FROM sessions_outputs WHERE host = $1 AND site = $2`, string(t.host), o.Site); err != nil {
			return err
		}
	}
	if err := t.saveSignedOutputs(tx, o); err != nil {
		return err
	}
	for name, value := range o.Values {
		if _, err := tx.Exec(`INSERT INTO sessions_outputs (host, site, name, at, value) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (host, site, name) DO UPDATE SET at = excluded.at, value = excluded.value WHERE sessions_outputs.value <> excluded.value`,
			string(t.host), o.Site, name, t.at, []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

// saveSignedOutputs keeps the newest that a host has signed.
func (t *batchContent) saveSignedOutputs(tx store.Tx, o *control.Outputs) error {
	if o.Signed == nil {
		return nil
	}
	var r control.OutputsReport // which was verified when it came
	if err := json.Unmarshal(o.Signed.Content, &r); err != nil {
		return err
	}
	data, err := json.Marshal(o.Signed)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO sessions_signed_outputs (host, site, number, signed) VALUES ($1, $2, $3, $4)
		ON CONFLICT (host, site) DO UPDATE SET number = excluded.number, signed = excluded.signed WHERE excluded.number > sessions_signed_outputs.number`,
		string(t.host), o.Site, int64(min(r.Number, 1<<62)), data)
	return err
}

// SignedOutputs gives the newest outputs for others of a site as the host has signed them; nil: it has given none.
func (s *Sessions) SignedOutputs(ctx context.Context, id trust.ID, site string) (signed *trust.Signed, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		var data []byte
		found, err := store.One(r, `SELECT signed FROM sessions_signed_outputs WHERE host = $1 AND site = $2`, []any{string(id), site}, &data)
		if err != nil || !found {
			return err
		}
		signed = &trust.Signed{}
		return json.Unmarshal(data, signed)
	})
	return signed, err
}

// Outputs gives what a host gives to others of a site, by name, and when the last of it has changed.
func (s *Sessions) Outputs(ctx context.Context, id trust.ID, site string) (values map[string]json.RawMessage, changed time.Time, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		values, changed = map[string]json.RawMessage{}, time.Time{}
		return r.Query(`SELECT name, at, value FROM sessions_outputs WHERE host = $1 AND site = $2 ORDER BY name`, []any{string(id), site}, func(row store.Row) error {
			var name string
			var at time.Time
			var value []byte
			err := row.Scan(&name, &at, &value)
			if values[name] = value; at.After(changed) {
				changed = at
			}
			return err
		})
	})
	return values, changed, err
}

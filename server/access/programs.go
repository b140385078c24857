package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// ProgramRecord is the token of a program as people see it.
type ProgramRecord struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"` // PERSON/PROGRAM
	Grants []Grant    `json:"grants"`
	Made   time.Time  `json:"made"`
	Used   *time.Time `json:"used,omitempty"` // to within a minute
	Ends   time.Time  `json:"ends"`
}

// longestProgram is how long a token for programs is valid at most.
const longestProgram = 366 * 24 * time.Hour

// AddProgram makes a token for a program of the caller's, who may do all that it may. Its secret
// is shown once.
func (d *Directory) AddProgram(ctx context.Context, by *Caller, name string, grants []Grant, ends time.Time, reason string) (secret string, record ProgramRecord, err error) {
	now := d.now()
	switch {
	case by.Kind != Person:
		return "", record, &diag.HintError{Code: CodeForbidden, Message: "programs make no tokens", Hint: "make it as a person: tenet login URL"}
	case !isName(name):
		return "", record, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("%.60q is no name for a program", name), Hint: "take letters, digits, and - _ . @ between them"}
	case len(grants) == 0:
		return "", record, &diag.HintError{Code: CodeInvalid, Message: "the token has no grants", Hint: "name what the program may do"}
	case !ends.After(now) || ends.Sub(now) > longestProgram:
		return "", record, &diag.HintError{Code: CodeInvalid, Message: "a token is valid for a time, up to a year", Hint: "give a day in the next 365 days"}
	}
	for _, g := range grants {
		if err := g.Check(); err != nil {
			return "", record, err
		}
	}
	secret, digest, id := newSecret(programPrefix)
	record = ProgramRecord{ID: id, Name: by.Name + "/" + name, Grants: grants, Made: now, Ends: ends.UTC().Truncate(time.Microsecond)}
	detail := map[string]string{"program": record.Name, "id": id, "grants": listGrants(grants), "ends": record.Ends.Format(time.RFC3339)}
	err = d.act(ctx, Entry{Actor: by.Name, Action: "program.add", Reason: reason, Detail: detail}, func(tx store.Tx) error {
		p, err := needPerson(tx, by.Name)
		if err != nil {
			return err
		}
		held, err := effectiveGrants(tx, &p)
		if err != nil {
			return err
		}
		if more := beyond(held, grants); len(more) > 0 {
			return escalation(more)
		}
		var other string
		if found, err := store.One(tx, `SELECT id FROM access_programs WHERE name = $1`, []any{record.Name}, &other); err != nil || found {
			return errors.Join(err, &diag.HintError{Code: CodeExists, Message: fmt.Sprintf("there is a program %s", record.Name), Hint: "remove it first, or take another name"})
		}
		_, err = tx.Exec(`INSERT INTO access_programs (digest, id, name, person, grants, made, expiry) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			digest, id, record.Name, by.Name, writeList(grants), record.Made, record.Ends)
		return err
	})
	if err != nil {
		return "", ProgramRecord{}, err
	}
	return secret, record, nil
}

// byProgram gives a program what its maker still may do of what it was given.
func (d *Directory) byProgram(ctx context.Context, digest []byte, use time.Time) (*Caller, error) {
	var c *Caller
	var used *time.Time
	now := d.now()
	err := d.store.Read(ctx, func(r store.Reader) error {
		c = &Caller{Kind: Program}
		var owner, text string
		var expiry time.Time
		found, err := store.One(r, `SELECT id, name, person, grants, used, expiry FROM access_programs WHERE digest = $1`, []any{digest}, &c.ID, &c.Name, &owner, &text, &used, &expiry)
		if err != nil {
			return err
		}
		if !found || !now.Before(expiry) {
			return unknown()
		}
		p, found, err := findPerson(r, owner)
		if err != nil || !found {
			return errors.Join(err, unknown())
		}
		held, err := effectiveGrants(r, &p)
		if err := errors.Join(err, readList(text, &c.Grants)); err != nil {
			return err
		}
		c.Grants = slices.DeleteFunc(c.Grants, func(g Grant) bool { return len(beyond(held, []Grant{g})) > 0 })
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !use.IsZero() && (used == nil || use.Sub(*used) > touch) {
		err = d.touch(ctx, `UPDATE access_programs SET used = $1 WHERE digest = $2`, use, digest)
	}
	return c, err
}

// Programs lists the tokens of a person's programs; "": of everybody's.
func (d *Directory) Programs(ctx context.Context, name string) (out []ProgramRecord, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		out = nil
		return r.Query(`SELECT id, name, grants, made, used, expiry FROM access_programs WHERE person = $1 OR CAST($1 AS TEXT) = '' ORDER BY name`, []any{name}, func(row store.Row) error {
			var p ProgramRecord
			var grants string
			if err := row.Scan(&p.ID, &p.Name, &grants, &p.Made, &p.Used, &p.Ends); err != nil {
				return err
			}
			out = append(out, p)
			return readList(grants, &out[len(out)-1].Grants)
		})
	})
	return out, err
}

// RemoveProgram ends a token: one of one's own, as a program that of oneself, or as an administrator anybody's.
func (d *Directory) RemoveProgram(ctx context.Context, by *Caller, id, reason string) error {
	return d.act(ctx, Entry{Actor: by.Name, Action: "program.remove", Reason: reason, Detail: map[string]string{"id": id}}, func(tx store.Tx) error {
		var owner string
		found, err := store.One(tx, `SELECT person FROM access_programs WHERE id = $1`, []any{id}, &owner)
		if err != nil {
			return err
		}
		own := by.Kind == Person && owner == by.Name || by.Kind == Program && id == by.ID
		if !found || !own && !by.MayEverywhere(Admin) {
			return notFound("program", id)
		}
		_, err = tx.Exec(`DELETE FROM access_programs WHERE id = $1`, id)
		return err
	})
}

package access

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// Login is a session that has begun.
type Login struct {
	Secret string    // shown once: only its digest is kept
	ID     string    // by which people name the session
	Person string    // who has logged in
	Ends   time.Time // whatever is done with it
}

// SessionRecord is a session as people see it.
type SessionRecord struct {
	ID     string    `json:"id"`
	Person string    `json:"person"`
	Origin string    `json:"origin"` // the address from which it was begun
	Made   time.Time `json:"made"`
	Used   time.Time `json:"used"` // to within a minute
	Ends   time.Time `json:"ends"`
}

// touch is how much time passes between two notes that a session was used.
const touch = time.Minute

// clockSlack is by how much a clock may be put back without ending sessions.
const clockSlack = time.Hour

// longest is until when a session can go on. One that ends later was begun by a clock that was wrong, and would outlive what is said of sessions.
func (d *Directory) longest(now time.Time) time.Time { return now.Add(d.o.Absolute + clockSlack) }

// LogIn begins a session by a name and a password. Whether there is somebody of that name does not
// show, neither in the answer nor in how long it takes.
func (d *Directory) LogIn(ctx context.Context, name, password, origin string) (*Login, error) {
	if err := d.attempts.begin(name, origin, d.now()); err != nil {
		return nil, err
	}
	var p person
	known := ""
	err := d.store.Read(ctx, func(r store.Reader) (err error) {
		var found bool
		if p, found, err = findPerson(r, name); found {
			known = name
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.removed {
		p.hash = ""
	}
	fits, outdated, err := d.passwords.compare(ctx, password, p.hash)
	if err != nil {
		return nil, err
	}
	if !fits {
		if err := d.refuse(ctx, name, known, origin, "password"); err != nil {
			return nil, err
		}
		return nil, &diag.HintError{Code: CodeUnknown, Message: "the name or the password is wrong", Hint: "try again, or have somebody who administers the server set another password"}
	}
	d.attempts.success(name, origin)
	hash := p.hash
	if outdated {
		if hash, err = d.passwords.hash(ctx, password); err != nil {
			return nil, err
		}
	}
	return d.begin(ctx, name, origin, "password", func(now *person) error {
		if now.hash != p.hash {
			return unknown() // the password was changed meanwhile
		}
		now.hash = hash
		return nil
	})
}

func unknown() error {
	return &diag.HintError{Code: CodeUnknown, Message: "nobody is logged in by this", Hint: "log in: tenet login URL"}
}

// beginSession is the act of logging in.
const beginSession = "session.begin"

// begin keeps a new session, whatever there was before: an id that somebody else knows is never taken on.
func (d *Directory) begin(ctx context.Context, name, origin, way string, change func(*person) error) (*Login, error) {
	secret, digest, id := newSecret(sessionPrefix)
	now := d.now()
	l := &Login{Secret: secret, ID: id, Person: name, Ends: now.Add(d.o.Absolute)}
	err := d.act(ctx, Entry{Actor: name, Action: beginSession, Detail: map[string]string{"session": id, "origin": origin, "way": way}}, func(tx store.Tx) error {
		p, err := needPerson(tx, name)
		if err != nil {
			return err
		}
		if err := change(&p); err != nil {
			return err
		}
		p.Login = &now
		if err := p.save(tx); err != nil {
			return err
		}
		// Those that are over are of no use to anybody.
		if _, err := tx.Exec(`DELETE FROM access_sessions WHERE expiry < $1 OR used < $2 OR expiry > $3`, now, now.Add(-d.o.Idle), d.longest(now)); err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO access_sessions (digest, id, person, origin, made, used, expiry) VALUES ($1, $2, $3, $4, $5, $5, $6)`, digest, id, name, origin, now, l.Ends)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Authenticate gives who has shown the secret of a session or of a program, with what they may do now.
func (d *Directory) Authenticate(ctx context.Context, secret string) (*Caller, error) {
	return d.recognize(ctx, secret, d.now())
}

// Recognize is Authenticate for what goes on by itself, such as a page that is left open: it does not count as a use, so that a session ends
// by its time nonetheless.
func (d *Directory) Recognize(ctx context.Context, secret string) (*Caller, error) {
	return d.recognize(ctx, secret, time.Time{})
}

// recognize notes the use where that is at some time.
func (d *Directory) recognize(ctx context.Context, secret string, use time.Time) (*Caller, error) {
	switch {
	case isSecret(secret, sessionPrefix):
		return d.bySession(ctx, digestOf(secret), use)
	case isSecret(secret, programPrefix):
		return d.byProgram(ctx, digestOf(secret), use)
	}
	return nil, unknown()
}

func (d *Directory) bySession(ctx context.Context, digest []byte, use time.Time) (*Caller, error) {
	var c *Caller
	var used, expiry time.Time
	now := d.now()
	err := d.store.Read(ctx, func(r store.Reader) error {
		c = &Caller{Kind: Person}
		found, err := store.One(r, `SELECT id, person, used, expiry FROM access_sessions WHERE digest = $1`, []any{digest}, &c.ID, &c.Name, &used, &expiry)
		if err != nil {
			return err
		}
		if !found || !now.Before(expiry) || now.Sub(used) > d.o.Idle || expiry.After(d.longest(now)) {
			return unknown()
		}
		p, found, err := findPerson(r, c.Name)
		if err == nil && !found {
			err = unknown()
		}
		if err == nil {
			c.Grants, err = effectiveGrants(r, &p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if use.Sub(used) > touch {
		err = d.touch(ctx, `UPDATE access_sessions SET used = $1 WHERE digest = $2`, use, digest)
	}
	return c, err
}

// touch notes a use; a server that stands by cannot, and answers nonetheless.
func (d *Directory) touch(ctx context.Context, sql string, now time.Time, digest []byte) error {
	err := d.store.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec(sql, now, digest)
		return err
	})
	if _, isDeposed := errors.AsType[*store.DeposedError](err); isDeposed || errors.Is(err, store.ErrStandby) {
		return nil
	}
	return err
}

// Sessions lists the sessions of a person that have not ended; "": of everybody.
func (d *Directory) Sessions(ctx context.Context, name string) (out []SessionRecord, err error) {
	now := d.now()
	err = d.store.Read(ctx, func(r store.Reader) error {
		out = nil
		return r.Query(`SELECT id, person, origin, made, used, expiry FROM access_sessions WHERE (person = $1 OR CAST($1 AS TEXT) = '') AND expiry > $2 AND used >= $3 AND expiry <= $4 ORDER BY made, id`,
			[]any{name, now, now.Add(-d.o.Idle), d.longest(now)}, func(row store.Row) error {
				var s SessionRecord
				err := row.Scan(&s.ID, &s.Person, &s.Origin, &s.Made, &s.Used, &s.Ends)
				out = append(out, s)
				return err
			})
	})
	return out, err
}

// EndSession ends a session: one's own, or as an administrator anybody's.
func (d *Directory) EndSession(ctx context.Context, by *Caller, id, reason string) error {
	return d.act(ctx, Entry{Actor: by.Name, Action: "session.end", Reason: reason, Detail: map[string]string{"session": id}}, func(tx store.Tx) error {
		var owner string
		found, err := store.One(tx, `SELECT person FROM access_sessions WHERE id = $1`, []any{id}, &owner)
		if err != nil {
			return err
		}
		// What one may not end is for them as if it were not there.
		if !found || (owner != by.Name || by.Kind != Person) && !by.MayEverywhere(Admin) {
			return notFound("session", id)
		}
		_, err = tx.Exec(`DELETE FROM access_sessions WHERE id = $1`, id)
		return err
	})
}

func endSessions(tx store.Tx, name string) error {
	_, err := tx.Exec(`DELETE FROM access_sessions WHERE person = $1`, name)
	return err
}

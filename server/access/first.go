package access

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/server/store"
)

// FirstPerson is the name of who administers a new server.
const FirstPerson = "admin"

// MakeFirst makes the first person of a server that has none, who may do everything, and writes a
// password into a file that only its owner can read. The file is there before the person is: if
// the server is killed between, the next start replaces the password in it. Only the active server
// calls this.
func (d *Directory) MakeFirst(ctx context.Context, file string) (made bool, err error) {
	hasAny := func(r store.Reader) (found bool, err error) {
		var n int
		_, err = store.One(r, `SELECT COUNT(*) FROM access_people`, nil, &n)
		return n > 0, err
	}
	var found bool
	if err := d.store.Read(ctx, func(r store.Reader) (err error) {
		found, err = hasAny(r)
		return err
	}); err != nil || found {
		return false, err
	}
	hash, err := d.writePassword(ctx, file)
	if err != nil {
		return false, err
	}
	err = d.act(ctx, Entry{Actor: Server, Action: "person.add", Reason: "the server is new", Detail: map[string]string{"person": FirstPerson}}, func(tx store.Tx) error {
		found, err := hasAny(tx)
		if err == nil && found {
			err = fmt.Errorf("somebody else has made the first person meanwhile: the password in %s is of no use", file)
		}
		if err != nil {
			return err
		}
		p := person{PersonRecord: PersonRecord{Name: FirstPerson, Grants: AllGrants(), Made: d.now()}, hash: hash}
		return p.save(tx)
	})
	return err == nil, err
}

// writePassword makes a password, and writes it into a file; it gives what is kept of it.
func (d *Directory) writePassword(ctx context.Context, file string) (hash string, err error) {
	password := newPassword()
	if hash, err = d.passwords.hash(ctx, password); err != nil {
		return "", err
	}
	// The password alone, so that the file can be given to who logs in.
	return hash, atomicfile.Replace(file, atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data([]byte(password+"\n")))
}

// ResetPassword gives a person a new password, in a file that only its owner can read, and logs
// them out everywhere: for who can use the server's machine and nobody can log in any more. It is
// the file's password only once there is no error.
func (d *Directory) ResetPassword(ctx context.Context, name, file, reason string) error {
	hash, err := d.writePassword(ctx, file)
	if err != nil {
		return err
	}
	return d.act(ctx, Entry{Actor: Server, Action: "person.password", Reason: reason, Detail: map[string]string{"person": name}}, func(tx store.Tx) error {
		p, err := needPerson(tx, name)
		if err != nil {
			return err
		}
		p.hash = hash
		if err := endSessions(tx, name); err != nil {
			return err
		}
		return p.save(tx)
	})
}

// Void ends all sessions and all tokens of programs, as after a restore: what was taken back since
// the backup must not be there again.
func Void(tx store.Tx, now time.Time, reason string) error {
	for _, table := range []string{"access_sessions", "access_programs"} {
		if _, err := tx.Exec("DELETE FROM " + table); err != nil {
			return err
		}
	}
	return Audit(tx, Entry{At: now, Actor: Server, Action: "session.void", Reason: reason})
}

// SetOwnPassword changes the caller's password. It takes the former one, and ends all other sessions.
func (d *Directory) SetOwnPassword(ctx context.Context, by *Caller, former, password, origin string) error {
	if by.Kind != Person {
		return forbidden("programs have no password")
	}
	if err := d.attempts.begin(by.Name, origin, d.now()); err != nil {
		return err
	}
	var p person
	if err := d.store.Read(ctx, func(r store.Reader) (err error) {
		p, err = needPerson(r, by.Name)
		return err
	}); err != nil {
		return err
	}
	fits, _, err := d.passwords.compare(ctx, former, p.hash)
	if err != nil {
		return err
	}
	if !fits {
		return forbidden("the former password is wrong")
	}
	d.attempts.success(by.Name, origin)
	hash, err := d.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return d.act(ctx, Entry{Actor: by.Name, Action: "person.password"}, func(tx store.Tx) error {
		now, err := needPerson(tx, by.Name)
		if err != nil {
			return err
		}
		if now.hash != p.hash {
			return forbidden("the former password is wrong")
		}
		now.hash = hash
		if _, err := tx.Exec(`DELETE FROM access_sessions WHERE person = $1 AND id <> $2`, by.Name, by.ID); err != nil {
			return err
		}
		return now.save(tx)
	})
}

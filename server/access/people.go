package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// PersonRecord is a person as others see them.
type PersonRecord struct {
	Name     string     `json:"name"`
	Roles    []string   `json:"roles"`
	Grants   []Grant    `json:"grants"`            // those of their own, besides the roles'
	Groups   []string   `json:"groups"`            // as their provider of identity has told at the last login
	Issuer   string     `json:"issuer,omitempty"`  // of the identity by which they log in
	Subject  string     `json:"subject,omitempty"` // their name there
	Password bool       `json:"password"`          // whether they have one
	Made     time.Time  `json:"made"`
	Login    *time.Time `json:"login,omitempty"` // the last one
}

// person is what is kept.
type person struct {
	PersonRecord
	hash    string
	removed bool
}

const personColumns = `name, password, issuer, subject, membership, roles, grants, made, login, removed`

func scanPerson(row store.Row) (p person, err error) {
	var groups, roles, grants string
	if err := row.Scan(&p.Name, &p.hash, &p.Issuer, &p.Subject, &groups, &roles, &grants, &p.Made, &p.Login, &p.removed); err != nil {
		return p, err
	}
	p.PersonRecord.Password = p.hash != ""
	return p, errors.Join(readList(groups, &p.Groups), readList(roles, &p.Roles), readList(grants, &p.Grants))
}

func readList[T any](text string, into *[]T) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("what is kept of people is damaged: %w", err)
	}
	return nil
}

func writeList[T any](list []T) string {
	if list == nil {
		list = []T{}
	}
	text, err := plainjson.Marshal(list)
	if err != nil {
		panic("access: a list is no JSON: " + err.Error())
	}
	return string(text)
}

// findPerson reads one who was not removed.
func findPerson(r store.Reader, name string) (p person, found bool, err error) {
	p, found, err = findAnyone(r, name)
	return p, found && !p.removed, err
}

func findAnyone(r store.Reader, name string) (p person, found bool, err error) {
	if !isName(name) {
		return p, false, nil
	}
	err = r.Query(`SELECT `+personColumns+` FROM access_people WHERE name = $1`, []any{name}, func(row store.Row) (err error) {
		found = true
		p, err = scanPerson(row)
		return err
	})
	return p, found, err
}

func needPerson(r store.Reader, name string) (person, error) {
	p, found, err := findPerson(r, name)
	if err == nil && !found {
		err = notFound("person", name)
	}
	return p, err
}

func notFound(what, name string) error {
	return &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no %s %.100q", what, name), Hint: "the list has all of them"}
}

func (p *person) save(tx store.Tx) error {
	_, err := tx.Exec(`INSERT INTO access_people (`+personColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (name) DO UPDATE SET password = excluded.password, issuer = excluded.issuer, subject = excluded.subject, membership = excluded.membership,
		roles = excluded.roles, grants = excluded.grants, login = excluded.login, removed = excluded.removed`,
		p.Name, p.hash, p.Issuer, p.Subject, writeList(p.Groups), writeList(p.Roles), writeList(p.Grants), p.Made, p.Login, p.removed)
	return err
}

// People lists the people after a name, in order.
func (d *Directory) People(ctx context.Context, after string, limit int) (out []PersonRecord, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		out = nil
		return r.Query(`SELECT `+personColumns+` FROM access_people WHERE removed = 0 AND name > $1 ORDER BY name LIMIT $2`, []any{after, limit}, func(row store.Row) error {
			p, err := scanPerson(row)
			out = append(out, p.PersonRecord)
			return err
		})
	})
	return out, err
}

// Person gives one person, with all that they may do.
func (d *Directory) Person(ctx context.Context, name string) (out PersonRecord, grants []SourcedGrant, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		p, err := needPerson(r, name)
		if err != nil {
			return err
		}
		out = p.PersonRecord
		grants, err = effective(r, &p)
		return err
	})
	return out, grants, err
}

// PersonChange says what a person is to be. Nil leaves things as they are.
type PersonChange struct {
	Password *string
	Roles    *[]string
	Grants   *[]Grant
	Issuer   *string
	Subject  *string
	Reason   string
}

// AddPerson makes a person. Names of those who were removed are not given again: the audit names them.
func (d *Directory) AddPerson(ctx context.Context, by *Caller, name string, c PersonChange) error {
	if err := checkPersonName(name); err != nil {
		return err
	}
	return d.putPerson(ctx, by, "person.add", name, c)
}

// Server is the actor of what the server does by itself. No person has this name.
const Server = "server"

func checkPersonName(name string) error {
	if isName(name) && !strings.EqualFold(name, Server) {
		return nil
	}
	return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("%.60q is no name for a person", name), Hint: "take letters, digits, and - _ . @ between them"}
}

// needFree refuses a name that somebody has or had, also in other letters: people would take one for the other.
func needFree(tx store.Tx, name string) error {
	var other string
	found, err := store.One(tx, `SELECT name FROM access_people WHERE LOWER(name) = $1`, []any{strings.ToLower(name)}, &other)
	if err == nil && found {
		err = &diag.HintError{Code: CodeExists, Message: fmt.Sprintf("there is or was somebody with the name %s", other), Hint: "take another name: the audit tells people apart by theirs"}
	}
	return err
}

// ChangePerson changes a person. Who gets another password is logged out everywhere.
func (d *Directory) ChangePerson(ctx context.Context, by *Caller, name string, c PersonChange) error {
	return d.putPerson(ctx, by, "person.change", name, c)
}

func (d *Directory) putPerson(ctx context.Context, by *Caller, action, name string, c PersonChange) error {
	if err := by.DemandEverywhere(Admin); err != nil {
		return err
	}
	hash := ""
	if c.Password != nil && *c.Password != "" {
		var err error
		if hash, err = d.passwords.hash(ctx, *c.Password); err != nil {
			return err
		}
	}
	return d.act(ctx, Entry{Actor: by.Name, Action: action, Reason: c.Reason, Detail: c.detail(name)}, func(tx store.Tx) error {
		p, found, err := findAnyone(tx, name)
		switch {
		case err != nil:
			return err
		case action == "person.add":
			if err := needFree(tx, name); err != nil {
				return err
			}
			p = person{PersonRecord: PersonRecord{Name: name, Made: d.now()}}
		case !found || p.removed:
			return notFound("person", name)
		}
		return c.apply(tx, by, p, hash)
	})
}

// detail is what the audit says of a change.
func (c *PersonChange) detail(name string) map[string]string {
	out := map[string]string{"person": name}
	if c.Password != nil {
		out["password"] = "set"
	}
	if c.Roles != nil {
		out["roles"] = strings.Join(*c.Roles, ", ")
	}
	if c.Grants != nil {
		out["grants"] = listGrants(*c.Grants)
	}
	if c.Subject != nil {
		out["subject"] = *c.Subject
	}
	return out
}

func listGrants(grants []Grant) string {
	var out []string
	for _, g := range grants {
		out = append(out, g.String())
	}
	return strings.Join(out, "; ")
}

// apply changes a person. Who does it gives nothing that they do not have, neither by grants and
// roles nor by a way to log in as somebody who has it.
func (c *PersonChange) apply(tx store.Tx, by *Caller, p person, hash string) error {
	before, err := effectiveGrants(tx, &p)
	if err != nil {
		return err
	}
	if c.Roles != nil {
		p.Roles = slices.Compact(slices.Sorted(slices.Values(*c.Roles)))
	}
	if c.Grants != nil {
		p.Grants = *c.Grants
	}
	for _, g := range p.Grants {
		if err := g.Check(); err != nil {
			return err
		}
	}
	for _, role := range p.Roles {
		if _, err := needRole(tx, role); err != nil {
			return err
		}
	}
	after, err := effectiveGrants(tx, &p)
	if err != nil {
		return err
	}
	held := slices.Concat(by.Grants, before)
	if isLogin := c.Password != nil || c.Issuer != nil || c.Subject != nil; isLogin {
		held = by.Grants
	}
	if more := beyond(held, after); len(more) > 0 {
		return escalation(more)
	}
	if c.Password != nil {
		p.hash = hash
		if err := endSessions(tx, p.Name); err != nil {
			return err
		}
	}
	if err := c.applyIdentity(tx, &p); err != nil {
		return err
	}
	if err := p.save(tx); err != nil {
		return err
	}
	return needAdmin(tx)
}

func (c *PersonChange) applyIdentity(tx store.Tx, p *person) error {
	if c.Issuer == nil && c.Subject == nil {
		return nil
	}
	if c.Issuer != nil {
		p.Issuer = *c.Issuer
	}
	if c.Subject != nil {
		p.Subject = *c.Subject
	}
	p.Groups = nil
	if p.Subject == "" {
		return nil
	}
	other, found, err := findSubject(tx, p.Issuer, p.Subject)
	if err == nil && found && other.Name != p.Name {
		err = &diag.HintError{Code: CodeExists, Message: fmt.Sprintf("the identity is that of %s", other.Name), Hint: "take it from them first"}
	}
	return err
}

func escalation(more []Grant) error {
	return &diag.HintError{Code: CodeForbidden, Message: "nobody can give what they do not have: " + listGrants(more), Hint: "have it done by somebody who has these grants"}
}

// RemovePerson ends whatever a person can do. Their name stays in the audit.
func (d *Directory) RemovePerson(ctx context.Context, by *Caller, name, reason string) error {
	if err := by.DemandEverywhere(Admin); err != nil {
		return err
	}
	return d.act(ctx, Entry{Actor: by.Name, Action: "person.remove", Reason: reason, Detail: map[string]string{"person": name}}, func(tx store.Tx) error {
		p, err := needPerson(tx, name)
		if err != nil {
			return err
		}
		p = person{PersonRecord: PersonRecord{Name: name, Made: p.Made}, removed: true}
		if err := p.save(tx); err != nil {
			return err
		}
		if err := endSessions(tx, name); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM access_programs WHERE person = $1`, name); err != nil {
			return err
		}
		return needAdmin(tx)
	})
}

// findSubject reads the person with an identity elsewhere.
func findSubject(r store.Reader, issuer, subject string) (p person, found bool, err error) {
	err = r.Query(`SELECT `+personColumns+` FROM access_people WHERE removed = 0 AND issuer = $1 AND subject = $2`, []any{issuer, subject}, func(row store.Row) (err error) {
		found = true
		p, err = scanPerson(row)
		return err
	})
	return p, found, err
}

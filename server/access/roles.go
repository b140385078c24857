package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// Role is a list of grants with a name. People have it by theirs, or by being in one of its
// groups of a provider of identity.
type Role struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	Grants []Grant  `json:"grants"`
}

// SourcedGrant is a grant, and by what somebody has it.
type SourcedGrant struct {
	Grant
	Source string `json:"source"` // "own", or "role NAME"; of a token of a program, "program"
}

func readRoles(r store.Reader) (out []Role, err error) {
	err = r.Query(`SELECT name, membership, grants FROM access_roles ORDER BY name`, nil, func(row store.Row) error {
		var role Role
		var groups, grants string
		if err := row.Scan(&role.Name, &groups, &grants); err != nil {
			return err
		}
		out = append(out, role)
		last := &out[len(out)-1]
		return errors.Join(readList(groups, &last.Groups), readList(grants, &last.Grants))
	})
	return out, err
}

func needRole(r store.Reader, name string) (Role, error) {
	all, err := readRoles(r)
	if err != nil {
		return Role{}, err
	}
	k := slices.IndexFunc(all, func(role Role) bool { return role.Name == name })
	if k < 0 {
		return Role{}, notFound("role", name)
	}
	return all[k], nil
}

// effective gives what a person may do, and why.
func effective(r store.Reader, p *person) ([]SourcedGrant, error) {
	roles, err := readRoles(r)
	return sources(p, roles), err
}

func sources(p *person, roles []Role) (out []SourcedGrant) {
	for _, g := range p.Grants {
		out = append(out, SourcedGrant{g, "own"})
	}
	for _, role := range roles {
		isMember := slices.Contains(p.Roles, role.Name) || slices.ContainsFunc(role.Groups, func(group string) bool { return slices.Contains(p.Groups, group) })
		if !isMember {
			continue
		}
		for _, g := range role.Grants {
			out = append(out, SourcedGrant{g, "role " + role.Name})
		}
	}
	return out
}

func effectiveGrants(r store.Reader, p *person) ([]Grant, error) {
	all, err := effective(r, p)
	return plain(all), err
}

func plain(grants []SourcedGrant) (out []Grant) {
	for _, g := range grants {
		out = append(out, g.Grant)
	}
	return out
}

// needAdmin refuses what would leave nobody who administers the server.
func needAdmin(tx store.Tx) error {
	roles, err := readRoles(tx)
	if err != nil {
		return err
	}
	found := false
	err = tx.Query(`SELECT `+personColumns+` FROM access_people WHERE removed = 0`, nil, func(row store.Row) error {
		p, err := scanPerson(row)
		c := Caller{Grants: plain(sources(&p, roles))}
		found = found || (p.hash != "" || p.Subject != "") && c.MayEverywhere(Admin)
		return err
	})
	if err == nil && !found {
		err = &diag.HintError{Code: CodeLastAdmin, Message: "nobody would be left who may administer the server", Hint: "give somebody else the grant admin on * of all sites first"}
	}
	return err
}

// Roles lists the roles.
func (d *Directory) Roles(ctx context.Context) (out []Role, err error) {
	err = d.store.Read(ctx, func(r store.Reader) (err error) {
		out, err = readRoles(r)
		return err
	})
	return out, err
}

// PutRole makes or replaces a role.
func (d *Directory) PutRole(ctx context.Context, by *Caller, role Role, reason string) error {
	if err := by.DemandEverywhere(Admin); err != nil {
		return err
	}
	if !isName(role.Name) {
		return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("%.60q is no name for a role", role.Name), Hint: "take letters, digits, and - _ . @ between them"}
	}
	for _, g := range role.Grants {
		if err := g.Check(); err != nil {
			return err
		}
	}
	detail := map[string]string{"role": role.Name, "grants": listGrants(role.Grants), "groups": strings.Join(role.Groups, ", ")}
	return d.act(ctx, Entry{Actor: by.Name, Action: "role.put", Reason: reason, Detail: detail}, func(tx store.Tx) error {
		all, err := readRoles(tx)
		if err != nil {
			return err
		}
		held := slices.Clone(by.Grants)
		for _, old := range all {
			hasNewGroup := slices.ContainsFunc(role.Groups, func(group string) bool { return !slices.Contains(old.Groups, group) })
			if old.Name == role.Name && !hasNewGroup {
				held = append(held, old.Grants...)
			}
		}
		if more := beyond(held, role.Grants); len(more) > 0 {
			return escalation(more)
		}
		if _, err := tx.Exec(`INSERT INTO access_roles (name, membership, grants) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET membership = excluded.membership, grants = excluded.grants`, role.Name, writeList(role.Groups), writeList(role.Grants)); err != nil {
			return err
		}
		return needAdmin(tx)
	})
}

// RemoveRole removes a role from everybody who has it.
func (d *Directory) RemoveRole(ctx context.Context, by *Caller, name, reason string) error {
	if err := by.DemandEverywhere(Admin); err != nil {
		return err
	}
	return d.act(ctx, Entry{Actor: by.Name, Action: "role.remove", Reason: reason, Detail: map[string]string{"role": name}}, func(tx store.Tx) error {
		if _, err := needRole(tx, name); err != nil {
			return err
		}
		var having []person
		if err := tx.Query(`SELECT `+personColumns+` FROM access_people WHERE removed = 0`, nil, func(row store.Row) error {
			p, err := scanPerson(row)
			if slices.Contains(p.Roles, name) {
				having = append(having, p)
			}
			return err
		}); err != nil {
			return err
		}
		for _, p := range having {
			p.Roles = slices.DeleteFunc(p.Roles, func(role string) bool { return role == name })
			if err := p.save(tx); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`DELETE FROM access_roles WHERE name = $1`, name); err != nil {
			return err
		}
		return needAdmin(tx)
	})
}

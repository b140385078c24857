package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
	"golang.org/x/oauth2"
)

// The most groups of a person that count, and how long their names and a subject may be.
const (
	maxGroups  = 1000
	maxSubject = 1000
)

// identify finds out who has logged in at the provider, and gives the name of that person here.
func (p *Provider) identify(ctx context.Context, code string, a *attempt, origin string) (string, error) {
	config, found, err := p.config(ctx)
	if err != nil {
		return "", err
	}
	ctx = oidc.ClientContext(ctx, p.o.Client)
	tokens, err := config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 {
			return "", restart("the provider of identity has refused this login")
		}
		return "", p.unavailable(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	// By the server's clock, which tests set.
	verifier := found.VerifierContext(ctx, &oidc.Config{ClientID: p.o.ClientID, Now: p.people.o.Clock})
	token, err := verifier.Verify(ctx, raw)
	if err != nil || subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1 {
		return "", restart("what the provider of identity says of you cannot be verified")
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil || token.Subject == "" || len(token.Subject) > maxSubject {
		return "", restart("what the provider of identity says of you is not understood")
	}
	name, _ := claims[p.o.NameClaim].(string)
	person, err := p.people.identified(ctx, p.o.Issuer, token.Subject, name, groupsOf(claims[p.o.GroupsClaim]))
	if diag.CodeOf(err) != "" { // whom the provider knows, and we do not
		err = errors.Join(err, p.people.refuse(ctx, token.Subject, "", origin, "identity"))
	}
	return person, err
}

// groupsOf reads a list of groups, or one.
func groupsOf(claim any) (groups []string) {
	switch claim := claim.(type) {
	case string:
		groups = []string{claim}
	case []any:
		for _, one := range claim {
			if group, ok := one.(string); ok {
				groups = append(groups, group)
			}
		}
	}
	groups = slices.DeleteFunc(groups, func(group string) bool {
		return group == "" || len(group) > maxSubject || strings.ContainsRune(group, 0)
	})
	return groups[:min(len(groups), maxGroups)]
}

// identified notes who has come by an identity, with the groups of today. Somebody who is not
// known becomes a person where a role is for one of their groups.
func (d *Directory) identified(ctx context.Context, issuer, subject, name string, groups []string) (string, error) {
	known, changed := "", false
	err := d.store.Write(ctx, func(tx store.Tx) error {
		p, found, err := findSubject(tx, issuer, subject)
		if err != nil {
			return err
		}
		if !found {
			if p, err = d.newcomer(tx, issuer, subject, name, groups); err != nil {
				return err
			}
		}
		known = p.Name
		if changed = !found || !slices.Equal(p.Groups, groups); !changed {
			return nil
		}
		p.Groups = groups
		if err := p.save(tx); err != nil {
			return err
		}
		action := "person.groups"
		if !found {
			action = "person.add"
		}
		return Audit(tx, Entry{At: d.now(), Actor: Server, Action: action, Reason: "as their provider of identity says",
			Detail: map[string]string{"person": p.Name, "issuer": issuer, "subject": subject, "groups": strings.Join(groups, ", ")}})
	})
	if err == nil && changed {
		d.changed.tell()
	}
	return known, err
}

func (d *Directory) newcomer(tx store.Tx, issuer, subject, name string, groups []string) (person, error) {
	roles, err := readRoles(tx)
	if err != nil {
		return person{}, err
	}
	p := person{PersonRecord: PersonRecord{Name: name, Issuer: issuer, Subject: subject, Groups: groups, Made: d.now()}}
	if len(sources(&p, roles)) == 0 {
		return p, &diag.HintError{Code: CodeForbidden, Message: "you are not known here, and none of your groups has a role", Hint: "somebody who administers the server can add you, or give a role to one of your groups"}
	}
	if checkPersonName(name) != nil {
		return p, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("the name %.60q that your provider of identity gives you is none here", name), Hint: "somebody who administers the server can add you with another name, and the subject of your identity"}
	}
	// The name alone proves nothing: who has it here may be somebody else.
	if err := needFree(tx, name); diag.CodeOf(err) == CodeExists {
		return p, &diag.HintError{Code: CodeExists, Message: err.Error(), Err: err, Hint: "if it is you, have somebody who administers the server note the subject of your identity"}
	} else if err != nil {
		return p, err
	}
	return p, nil
}

package api

import (
	"context"
	"net/http"

	"github.com/tenetcm/tenet/server/access"
)

// Person is a person, and with one alone all that they may do.
type Person struct {
	access.PersonRecord
	May []access.SourcedGrant `json:"may,omitempty" doc:"All that they may do, and by what."`
}

type nameInput struct {
	Name string `path:"name" maxLength:"200"`
	Reasoned
}

// PersonBody is what a person is to be.
type PersonBody struct {
	Password *string         `json:"password,omitempty" maxLength:"1024" doc:"Empty: none, so that they log in by a provider of identity alone."`
	Roles    *[]string       `json:"roles,omitempty" maxItems:"100"`
	Grants   *[]access.Grant `json:"grants,omitempty" maxItems:"1000" doc:"Those of their own, besides the roles'."`
	Issuer   *string         `json:"issuer,omitempty" maxLength:"1000" doc:"Of the identity by which they log in."`
	Subject  *string         `json:"subject,omitempty" maxLength:"1000" doc:"Their name there."`
	Reason   string          `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
}

func (b PersonBody) change() access.PersonChange {
	return access.PersonChange{Password: b.Password, Roles: b.Roles, Grants: b.Grants, Issuer: b.Issuer, Subject: b.Subject, Reason: b.Reason}
}

type personOutput struct{ Body Person }

func (a *API) registerPeople() {
	codes := []string{access.CodeForbidden, access.CodeInvalid, access.CodeNotFound, access.CodeLastAdmin}
	Register(a, Operation{ID: "list-people", Method: http.MethodGet, Path: "/v1/people", Tag: "people", Scope: Everywhere, Verb: access.Admin,
		Summary: "List people.", Description: "By name, those who were removed not among them.", Codes: []string{access.CodeForbidden, codeCursor}},
		func(ctx context.Context, c *access.Caller, in *Page) (*ListOutput[Person], error) {
			var after string
			if _, err := a.ReadCursor(c, "list-people", in.Cursor, &after); err != nil {
				return nil, err
			}
			records, err := a.o.People.People(ctx, after, in.Limit+1)
			if err != nil {
				return nil, err
			}
			var people []Person
			for _, r := range records {
				people = append(people, Person{PersonRecord: r})
			}
			return NewPage(a, c, "list-people", in.Limit, people, func(p Person) any { return p.Name })
		})
	Register(a, Operation{ID: "show-person", Method: http.MethodGet, Path: "/v1/people/{name}", Tag: "people", Scope: Everywhere, Verb: access.Admin,
		Summary: "Show a person, and what they may do.", Description: "Each grant says by what they have it: their own, or a role.", Codes: codes[:3]},
		func(ctx context.Context, _ *access.Caller, in *struct {
			Name string `path:"name" maxLength:"200"`
		}) (*personOutput, error) {
			return a.person(ctx, in.Name)
		})
	Register(a, Operation{ID: "add-person", Method: http.MethodPost, Path: "/v1/people", Tag: "people", Scope: Everywhere, Verb: access.Admin, Status: http.StatusCreated,
		Summary: "Add a person.", Description: "Nobody gives what they do not have. The name of somebody who was removed is not given again.", Codes: append(codes, access.CodeExists)},
		func(ctx context.Context, c *access.Caller, in *struct {
			Body struct {
				Name string `json:"name" maxLength:"100" doc:"Letters, digits, and - _ . @ between them."`
				PersonBody
			}
		}) (*personOutput, error) {
			if err := a.o.People.AddPerson(ctx, c, in.Body.Name, in.Body.change()); err != nil {
				return nil, err
			}
			return a.person(ctx, in.Body.Name)
		})
	Register(a, Operation{ID: "change-person", Method: http.MethodPatch, Path: "/v1/people/{name}", Tag: "people", Scope: Everywhere, Verb: access.Admin,
		Summary: "Change a person.", Description: "What is not named stays. Nobody gives what they do not have, be it by a password; who gets another password is logged out.", Codes: codes},
		func(ctx context.Context, c *access.Caller, in *struct {
			Name string `path:"name" maxLength:"200"`
			Body PersonBody
		}) (*personOutput, error) {
			if err := a.o.People.ChangePerson(ctx, c, in.Name, in.Body.change()); err != nil {
				return nil, err
			}
			return a.person(ctx, in.Name)
		})
	Register(a, Operation{ID: "remove-person", Method: http.MethodDelete, Path: "/v1/people/{name}", Tag: "people", Scope: Everywhere, Verb: access.Admin, Status: http.StatusNoContent,
		Summary: "Remove a person.", Description: "Ends their sessions and the tokens of their programs.", Codes: codes},
		func(ctx context.Context, c *access.Caller, in *nameInput) (*struct{}, error) {
			return nil, a.o.People.RemovePerson(ctx, c, in.Name, in.Reason)
		})
}

func (a *API) person(ctx context.Context, name string) (*personOutput, error) {
	record, may, err := a.o.People.Person(ctx, name)
	return &personOutput{Person{record, may}}, err
}

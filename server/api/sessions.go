package api

import (
	"context"
	"net/http"

	"github.com/tenetcm/tenet/server/access"
)

// Session is who calls, and what they may do.
type Session struct {
	Name   string         `json:"name" doc:"The person, or PERSON/PROGRAM."`
	Kind   access.Kind    `json:"kind" enum:"person,program"`
	ID     string         `json:"id" doc:"Of the session or the token."`
	Grants []access.Grant `json:"grants" nullable:"false"`
}

type sessionOutput struct{ Body Session }

type goneOutput struct {
	SetCookie string `header:"Set-Cookie"`
}

// Reasoned is what all inputs have that change something and have no body.
type Reasoned struct {
	Reason string `query:"reason" maxLength:"1000" doc:"Why, for the audit."`
}

type idInput struct {
	ID string `path:"id" maxLength:"100"`
	Reasoned
}

func (a *API) registerSessions() {
	Register(a, Operation{ID: "show-session", Method: http.MethodGet, Path: "/v1/session", Tag: "login", Scope: Self,
		Summary: "Tell who calls, and what they may do.", Description: "A program has the grants of its token as far as its maker still has them.", Codes: []string{access.CodeUnknown}},
		func(_ context.Context, c *access.Caller, _ *struct{}) (*sessionOutput, error) {
			s := Session{Name: c.Name, Kind: c.Kind, ID: c.ID, Grants: c.Grants}
			if s.Grants == nil {
				s.Grants = []access.Grant{}
			}
			return &sessionOutput{s}, nil
		})
	Register(a, Operation{ID: "logout", Method: http.MethodDelete, Path: "/v1/session", Tag: "login", Scope: Self, Status: http.StatusNoContent,
		Summary: "Log out.", Description: "Ends the session by which the request came. A program has none to end.", Codes: []string{access.CodeUnknown, access.CodeNotFound}},
		func(ctx context.Context, c *access.Caller, _ *struct{}) (*goneOutput, error) {
			if err := a.o.People.EndSession(ctx, c, c.ID, ""); err != nil {
				return nil, err
			}
			return &goneOutput{setCookie("", a.o.Clock())}, nil
		})
	Register(a, Operation{ID: "list-own-sessions", Method: http.MethodGet, Path: "/v1/session/all", Tag: "login", Scope: Self,
		Summary: "List one's own sessions.", Description: "Those that have not ended.", Codes: []string{access.CodeUnknown}},
		func(ctx context.Context, c *access.Caller, _ *struct{}) (*ListOutput[access.SessionRecord], error) {
			if c.Kind != access.Person {
				return nil, newProblem(access.CodeForbidden, "programs have no sessions", "ask as a person: tenet login URL")
			}
			return a.listSessions(ctx, c.Name)
		})
	Register(a, Operation{ID: "end-own-session", Method: http.MethodDelete, Path: "/v1/session/all/{id}", Tag: "login", Scope: Self, Status: http.StatusNoContent,
		Summary: "End one of one's own sessions.", Description: "For who has lost a machine on which they were logged in.", Codes: []string{access.CodeNotFound}},
		func(ctx context.Context, c *access.Caller, in *idInput) (*struct{}, error) {
			return nil, a.o.People.EndSession(ctx, c, in.ID, in.Reason)
		})
	Register(a, Operation{ID: "list-sessions", Method: http.MethodGet, Path: "/v1/sessions", Tag: "people", Scope: Everywhere, Verb: access.Admin,
		Summary: "List everybody's sessions.", Description: "Those that have not ended.", Codes: []string{access.CodeForbidden}},
		func(ctx context.Context, _ *access.Caller, in *struct {
			Person string `query:"person" maxLength:"200" doc:"Those of one person."`
		}) (*ListOutput[access.SessionRecord], error) {
			return a.listSessions(ctx, in.Person)
		})
	Register(a, Operation{ID: "end-session", Method: http.MethodDelete, Path: "/v1/sessions/{id}", Tag: "people", Scope: Everywhere, Verb: access.Admin, Status: http.StatusNoContent,
		Summary: "End anybody's session.", Description: "Whoever uses it has to log in again.", Codes: []string{access.CodeForbidden, access.CodeNotFound}},
		func(ctx context.Context, c *access.Caller, in *idInput) (*struct{}, error) {
			return nil, a.o.People.EndSession(ctx, c, in.ID, in.Reason)
		})
	a.registerPassword()
}

func (a *API) listSessions(ctx context.Context, person string) (*ListOutput[access.SessionRecord], error) {
	all, err := a.o.People.Sessions(ctx, person)
	if all == nil {
		all = []access.SessionRecord{}
	}
	return &ListOutput[access.SessionRecord]{List[access.SessionRecord]{Items: all}}, err
}

func (a *API) registerPassword() {
	Register(a, Operation{ID: "set-own-password", Method: http.MethodPut, Path: "/v1/session/password", Tag: "login", Scope: Self, Status: http.StatusNoContent, MaxBody: 16 << 10,
		Summary: "Set one's own password.", Description: "It takes the former one, and ends all other sessions.", Codes: []string{access.CodeForbidden, access.CodeInvalid, access.CodeTooMany}},
		func(ctx context.Context, c *access.Caller, in *struct {
			Body struct {
				Former   string `json:"former" maxLength:"1024"`
				Password string `json:"password" maxLength:"1024"`
			}
		}) (*struct{}, error) {
			return nil, a.o.People.SetOwnPassword(ctx, c, in.Body.Former, in.Body.Password, originOf(ctx))
		})
}

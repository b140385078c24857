package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/tenetcm/tenet/server/access"
)

type roleBody struct {
	Groups []string       `json:"groups,omitempty" maxItems:"100" doc:"Who is in one of these groups of a provider of identity has the role."`
	Grants []access.Grant `json:"grants" maxItems:"1000" nullable:"false"`
	Reason string         `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
}

func (a *API) registerRoles() {
	Register(a, Operation{ID: "list-roles", Method: http.MethodGet, Path: "/v1/roles", Tag: "people", Scope: Everywhere, Verb: access.Admin,
		Summary: "List roles.", Description: "With the grants of each. A role is a list of grants with a name.", Codes: []string{access.CodeForbidden}},
		func(ctx context.Context, _ *access.Caller, _ *struct{}) (*ListOutput[access.Role], error) {
			all, err := a.o.People.Roles(ctx)
			if all == nil {
				all = []access.Role{}
			}
			return &ListOutput[access.Role]{List[access.Role]{Items: all}}, err
		})
	Register(a, Operation{ID: "put-role", Method: http.MethodPut, Path: "/v1/roles/{name}", Tag: "people", Scope: Everywhere, Verb: access.Admin, Status: http.StatusNoContent,
		Summary: "Make or replace a role.", Description: "It counts at once for all who have it. Nobody gives what they do not have.", Codes: []string{access.CodeForbidden, access.CodeInvalid, access.CodeLastAdmin}},
		func(ctx context.Context, c *access.Caller, in *struct {
			Name string `path:"name" maxLength:"200"`
			Body roleBody
		}) (*struct{}, error) {
			return nil, a.o.People.PutRole(ctx, c, access.Role{Name: in.Name, Groups: in.Body.Groups, Grants: in.Body.Grants}, in.Body.Reason)
		})
	Register(a, Operation{ID: "remove-role", Method: http.MethodDelete, Path: "/v1/roles/{name}", Tag: "people", Scope: Everywhere, Verb: access.Admin, Status: http.StatusNoContent,
		Summary: "Remove a role.", Description: "From everybody who has it.", Codes: []string{access.CodeForbidden, access.CodeNotFound, access.CodeLastAdmin}},
		func(ctx context.Context, c *access.Caller, in *nameInput) (*struct{}, error) {
			return nil, a.o.People.RemoveRole(ctx, c, in.Name, in.Reason)
		})
	Register(a, Operation{ID: "list-grants", Method: http.MethodGet, Path: "/v1/grants", Tag: "people", Scope: Self,
		Summary: "Tell what somebody may do.", Description: "Of oneself, or as an administrator of anybody: each grant, and by what they have it.", Codes: []string{access.CodeForbidden, access.CodeNotFound}},
		func(ctx context.Context, c *access.Caller, in *struct {
			Person string `query:"person" maxLength:"200" doc:"Whose; empty: one's own."`
		}) (*ListOutput[access.SourcedGrant], error) {
			may, err := a.grantsOf(ctx, c, cmp.Or(in.Person, access.PersonOf(c.Name)))
			return &ListOutput[access.SourcedGrant]{List[access.SourcedGrant]{Items: may}}, err
		})
}

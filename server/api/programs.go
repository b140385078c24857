package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/tenetcm/tenet/server/access"
)

// ProgramStart is a token for a program that was made.
type ProgramStart struct {
	access.ProgramRecord
	Secret string `json:"secret" doc:"To be shown as Authorization: Bearer. It is told here only."`
}

type programOutput struct{ Body ProgramStart }

func (a *API) registerPrograms() {
	Register(a, Operation{ID: "list-programs", Method: http.MethodGet, Path: "/v1/programs", Tag: "programs", Scope: Self,
		Summary: "List tokens for programs.", Description: "One's own, or as an administrator everybody's, by name. A program sees its own.", Codes: []string{access.CodeForbidden}},
		func(ctx context.Context, c *access.Caller, in *struct {
			All bool `query:"all" doc:"Everybody's."`
		}) (*ListOutput[access.ProgramRecord], error) {
			name := access.PersonOf(c.Name)
			if in.All {
				if err := c.DemandEverywhere(access.Admin); err != nil {
					return nil, err
				}
				name = ""
			}
			all, err := a.o.People.Programs(ctx, name)
			if c.Kind == access.Program && !in.All { // it learns nothing of others
				all = slices.DeleteFunc(all, func(p access.ProgramRecord) bool { return p.ID != c.ID })
			}
			if all == nil {
				all = []access.ProgramRecord{}
			}
			return &ListOutput[access.ProgramRecord]{List[access.ProgramRecord]{Items: all}}, err
		})
	Register(a, Operation{ID: "add-program", Method: http.MethodPost, Path: "/v1/programs", Tag: "programs", Scope: Self, Status: http.StatusCreated,
		Summary: "Make a token for a program.", Description: "With grants among those of its maker, for up to a year. It never has more than its maker has at that time. Programs make none.",
		Codes: []string{access.CodeForbidden, access.CodeInvalid, access.CodeExists}},
		func(ctx context.Context, c *access.Caller, in *struct {
			Body struct {
				Name   string         `json:"name" maxLength:"100" doc:"Letters, digits, and - _ . @ between them."`
				Grants []access.Grant `json:"grants" minItems:"1" maxItems:"1000" nullable:"false"`
				Ends   time.Time      `json:"ends" doc:"When it ends, in a year at most."`
				Reason string         `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
			}
		}) (*programOutput, error) {
			secret, record, err := a.o.People.AddProgram(ctx, c, in.Body.Name, in.Body.Grants, in.Body.Ends, in.Body.Reason)
			return &programOutput{ProgramStart{record, secret}}, err
		})
	Register(a, Operation{ID: "remove-program", Method: http.MethodDelete, Path: "/v1/programs/{id}", Tag: "programs", Scope: Self, Status: http.StatusNoContent,
		Summary: "End the token of a program.", Description: "One's own, or as an administrator anybody's.", Codes: []string{access.CodeNotFound}},
		func(ctx context.Context, c *access.Caller, in *idInput) (*struct{}, error) {
			return nil, a.o.People.RemoveProgram(ctx, c, in.ID, in.Reason)
		})
}

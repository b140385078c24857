package api

import (
	"context"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
)

// TokenStart is a token for hosts that was made.
type TokenStart struct {
	enroll.Token
	Secret string `json:"secret" doc:"With which a host joins. It is told here only."`
}

type tokenOutput struct{ Body TokenStart }

type tokenInput struct {
	Body struct {
		Note    string            `json:"note,omitempty" maxLength:"1000" doc:"What it is for."`
		Seconds int64             `json:"seconds,omitempty" minimum:"0" maximum:"31536000" doc:"How long it is good; 0: an hour."`
		Uses    int64             `json:"uses,omitempty" minimum:"0" maximum:"100000" doc:"For how many hosts; 0: for one."`
		Auto    bool              `json:"auto,omitempty" doc:"Approve the host at once. Only for one use, and by who may enrol all hosts."`
		Names   string            `json:"names,omitempty" maxLength:"4096" doc:"A selector of the names that hosts may ask for; none: any."`
		Labels  map[string]string `json:"labels,omitempty" doc:"The labels that hosts may claim, each with a pattern of its values."`
		Reason  string            `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

func (a *API) registerTokens() {
	codes := []string{access.CodeForbidden, access.CodeInvalid}
	Register(a, Operation{ID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Tag: "tokens", Scope: Somewhere, Verb: access.Enroll,
		Summary: "List tokens for hosts.", Description: "The newest first, without their secrets: one's own, or for who may enrol all hosts everybody's.", Codes: codes[:1]},
		func(ctx context.Context, c *access.Caller, _ *struct{}) (*ListOutput[*enroll.Token], error) {
			tokens, err := a.tokens(ctx, c)
			return &ListOutput[*enroll.Token]{List[*enroll.Token]{Items: tokens}}, err
		})
	Register(a, Operation{ID: "add-token", Method: http.MethodPost, Path: "/v1/tokens", Tag: "tokens", Scope: Somewhere, Verb: access.Enroll, Status: http.StatusCreated,
		Summary: "Make a token for hosts.", Description: "With it hosts ask to be taken in. Those that it does not approve are pending until somebody does who may enrol them.", Codes: codes},
		func(ctx context.Context, c *access.Caller, in *tokenInput) (*tokenOutput, error) {
			if err := a.demandHosts(); err != nil {
				return nil, err
			}
			if in.Body.Auto { // whichever name and labels its host has: nobody is asked about them
				if err := c.DemandEverywhere(access.Enroll); err != nil {
					return nil, err
				}
			}
			secret, token, err := a.o.Hosts.NewToken(ctx, enroll.By{Actor: c.Name, Reason: in.Body.Reason}, enroll.NewToken{Note: in.Body.Note,
				Valid: time.Duration(in.Body.Seconds) * time.Second, Uses: in.Body.Uses, Auto: in.Body.Auto, Names: in.Body.Names, Labels: in.Body.Labels})
			if err != nil {
				return nil, err
			}
			a.tokensChanged()
			return &tokenOutput{TokenStart{*token, secret}}, nil
		})
	Register(a, Operation{ID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Tag: "tokens", Scope: Somewhere, Verb: access.Enroll, Status: http.StatusNoContent,
		Summary: "Revoke a token for hosts.", Description: "One's own, or for who may enrol all hosts anybody's. Hosts that have come by it stay.", Codes: []string{access.CodeNotFound, access.CodeForbidden}},
		func(ctx context.Context, c *access.Caller, in *idInput) (*struct{}, error) {
			tokens, err := a.tokens(ctx, c)
			if err != nil {
				return nil, err
			}
			for _, t := range tokens {
				if t.ID == in.ID {
					err := a.o.Hosts.RevokeToken(ctx, enroll.By{Actor: c.Name, Reason: in.Reason}, in.ID)
					a.tokensChanged()
					return nil, err
				}
			}
			return nil, enroll.UnknownToken(in.ID)
		})
}

// tokensChanged tells who may enrol all hosts to look at tokens again.
func (a *API) tokensChanged() {
	a.o.Feed.Publish(Event{At: a.o.Clock(), Type: "token.changed", Verb: access.Enroll})
}

// tokens lists those that the caller may see.
func (a *API) tokens(ctx context.Context, c *access.Caller) ([]*enroll.Token, error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	all, err := a.o.Hosts.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	shown := []*enroll.Token{}
	for _, t := range all {
		if c.MayEverywhere(access.Enroll) || access.PersonOf(t.MadeBy) == access.PersonOf(c.Name) {
			shown = append(shown, t)
		}
	}
	return shown, nil
}

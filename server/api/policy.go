package api

import (
	"context"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// SitePolicy is what every deployment of a site has to have, whoever asks for it.
type SitePolicy struct {
	Site      string     `json:"site"`
	Approvals bool       `json:"approvals" doc:"Another person approves its plan. Nobody rolls hosts back or takes a cluster away alone."`
	Signed    bool       `json:"signed" doc:"An operator has signed it."`
	By        string     `json:"by,omitempty" doc:"Who has set it."`
	At        *time.Time `json:"at,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Demanded  Demands    `json:"demanded" doc:"What is demanded in all: by the policy of the site, and by that of all sites."`
}

// Demands is what policies demand.
type Demands struct {
	Approvals bool `json:"approvals"`
	Signed    bool `json:"signed"`
}

type policyInput struct {
	SiteName
	Body struct {
		Approvals bool   `json:"approvals,omitempty" doc:"Another person has to approve the plan of every deployment, whatever it was asked for with."`
		Signed    bool   `json:"signed,omitempty" doc:"An operator has to sign every deployment."`
		Reason    string `json:"reason" minLength:"1" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type policyOutput struct{ Body SitePolicy }

// registerPolicies is for who says how sites are deployed.
func (a *API) registerPolicies() {
	op := func(id, method, summary, description string, scope Scope, verb access.Verb, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: "/v1/sites/{site}/policy", Tag: "sites", Summary: summary, Description: description, Scope: scope, Verb: verb, Codes: append(codes, access.CodeForbidden)}
	}
	Register(a, op("show-policy", http.MethodGet, "Show the policy of a site.", "What was set for it, and what is demanded of its deployments in all. The site * stands for all of them.", Somewhere, access.Read),
		func(ctx context.Context, c *access.Caller, in *SiteName) (*policyOutput, error) {
			return a.policy(ctx, c, in.Site)
		})
	Register(a, op("set-policy", http.MethodPut, "Set the policy of a site.", "It holds for deployments that have not begun, too; of others no further host gets anything that they do not have. The site * stands for all of them, and for those that come later.", Everywhere, access.Admin, deploy.ErrNotFound, deploy.ErrInvalid),
		func(ctx context.Context, c *access.Caller, in *policyInput) (*policyOutput, error) {
			s, err := a.deployments()
			if err != nil {
				return nil, err
			}
			if _, err := s.SetPolicy(ctx, c, deploy.Policy{Site: in.Site, Approvals: in.Body.Approvals, Signed: in.Body.Signed, Why: in.Body.Reason}); err != nil {
				return nil, err
			}
			return a.policy(ctx, c, in.Site)
		})
}

// policy answers with that of a site.
func (a *API) policy(ctx context.Context, c *access.Caller, site string) (*policyOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	own, whole, err := s.Policy(ctx, c, site)
	if err != nil {
		return nil, err
	}
	out := SitePolicy{Site: site, Approvals: own.Approvals, Signed: own.Signed, By: own.By, Reason: own.Why, Demanded: Demands{whole.Approvals, whole.Signed}}
	if !own.At.IsZero() {
		out.At = &own.At
	}
	return &policyOutput{out}, nil
}

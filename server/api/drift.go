package api

import (
	"context"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/states"
)

// driftLimit is how long a host may take to look at itself.
const driftLimit = time.Minute

// HostDrift is what differs on a host from what is wanted of it for a site.
type HostDrift struct {
	At   time.Time      `json:"at" doc:"When it has looked."`
	Rows []states.Event `json:"rows" nullable:"false" doc:"What it would do, as in a plan: secrets are masked there."`
}

type driftOutput struct{ Body HostDrift }

type driftInput struct {
	HostName
	Site string `path:"site" maxLength:"200" doc:"The name of the site."`
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

// registerDrift has a host say what differs.
func (a *API) registerDrift() {
	Register(a, Operation{ID: "ask-host-drift", Method: http.MethodPost, Path: "/v1/hosts/{id}/sites/{site}/drift", Tag: "hosts", Scope: Somewhere, Verb: access.Plan, Limit: driftLimit + 10*time.Second,
		Summary: "Ask a host what differs from what is wanted.", Description: "It plans what is wanted of it for the site now, on its shadow, in the caller's name, and changes nothing. Answers once it has.",
		Codes: []string{access.CodeNotFound, access.CodeForbidden, sessions.CodeAway, access.CodeTooMany}}, a.hostDrift)
}

func (a *API) hostDrift(ctx context.Context, c *access.Caller, in *driftInput) (*driftOutput, error) {
	h, err := a.readableHost(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	if err := c.Demand(access.Plan, h.Target(), in.Site); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, driftLimit, errNoAnswer(driftLimit))
	defer cancel()
	p := &passing{api: a, ctx: ctx, cancel: cancel, caller: c, secret: secretOf(ctx), host: h, within: in.Site, reason: in.Body.Reason, look: make(chan struct{}, 1), verbs: map[access.Verb]bool{access.Plan: true}}
	if err := a.connections.join(p); err != nil {
		return nil, err
	}
	defer a.connections.leave(p)
	rows, err := a.o.Sessions.PlanTarget(ctx, h.ID, in.Site, p.sign, c.Name)
	if err != nil {
		return nil, err
	}
	return &driftOutput{HostDrift{a.o.Clock().UTC(), append([]states.Event{}, rows...)}}, nil
}

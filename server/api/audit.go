package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

type auditInput struct {
	Page
	Actor  string `query:"actor" maxLength:"200" doc:"What one has done: a person, or PERSON/PROGRAM."`
	Action string `query:"action" maxLength:"100" doc:"Such as host.approve."`
	Host   string `query:"host" maxLength:"300" doc:"What concerns a host: its id, or the name that it has now."`
	Site   string `query:"site" maxLength:"300" doc:"What concerns a site."`
}

func (in *auditInput) list() string {
	return strings.Join([]string{"list-audit", in.Actor, in.Action, in.Host, in.Site}, "\x00")
}

type headOutput struct{ Body access.Head }

// AuditRecord is an entry of the audit.
type AuditRecord struct {
	access.Record
	HostName string `json:"host_name,omitempty" doc:"The name that the host has now."`
}

func (a *API) registerAudit() {
	Register(a, Operation{ID: "list-audit", Method: http.MethodGet, Path: "/v1/audit", Tag: "audit", Scope: Everywhere, Verb: access.Admin,
		Summary: "List what was done.", Description: "The newest first: who has changed something, when, and with which reason.", Codes: []string{access.CodeForbidden, codeCursor}},
		func(ctx context.Context, c *access.Caller, in *auditInput) (*ListOutput[AuditRecord], error) {
			var before int64
			if _, err := a.ReadCursor(c, in.list(), in.Cursor, &before); err != nil {
				return nil, err
			}
			host, err := a.auditHost(ctx, in.Host)
			if err != nil {
				return nil, err
			}
			var all []access.Record
			err = a.o.People.Store().Read(ctx, func(r store.Reader) (err error) {
				all, err = access.ListAudit(r, access.AuditFilter{Before: before, Actor: in.Actor, Action: in.Action, Host: host, Site: in.Site, Limit: in.Limit + 1})
				return err
			})
			if err != nil {
				return nil, err
			}
			named, err := a.withHostNames(ctx, all)
			if err != nil {
				return nil, err
			}
			return NewPage(a, c, in.list(), in.Limit, named, func(r AuditRecord) any { return r.N })
		})
	Register(a, Operation{ID: "show-audit-head", Method: http.MethodGet, Path: "/v1/audit/head", Tag: "audit", Scope: Everywhere, Verb: access.Admin,
		Summary: "Give the newest entry's number and digest.", Description: "Kept elsewhere, it shows later that nothing before it was changed.", Codes: []string{access.CodeForbidden}},
		func(ctx context.Context, _ *access.Caller, _ *struct{}) (*headOutput, error) {
			head, err := access.ReadHead(ctx, a.o.People.Store())
			return &headOutput{head}, err
		})
	Register(a, Operation{ID: "verify-audit", Method: http.MethodPost, Path: "/v1/audit/verify", Tag: "audit", Scope: Everywhere, Verb: access.Admin, Limit: 10 * time.Minute,
		Summary: "Verify the audit.", Description: "Walks the whole chain, and names the first entry at which it is broken. Heads that were kept elsewhere have to be in it.", Codes: []string{access.CodeForbidden, access.CodeBroken}},
		func(ctx context.Context, _ *access.Caller, in *struct {
			Body struct {
				Heads []access.Head `json:"heads,omitempty" maxItems:"1000" doc:"That were kept elsewhere."`
			}
		}) (*headOutput, error) {
			head, err := access.Verify(ctx, a.o.People.Store(), in.Body.Heads...)
			return &headOutput{head}, err
		})
}

// auditHost gives the id of the host that is called so; what is no host's name stays as it is.
func (a *API) auditHost(ctx context.Context, name string) (string, error) {
	if name == "" || a.o.Hosts == nil {
		return name, nil
	}
	h, err := a.find(ctx, name)
	switch {
	case diag.CodeOf(err) == enroll.CodeNotFound:
		return name, nil
	case err != nil:
		return "", err
	}
	return string(h.ID), nil
}

// withHostNames adds the names of hosts. A host that is unknown by now has none.
func (a *API) withHostNames(ctx context.Context, all []access.Record) ([]AuditRecord, error) {
	out, names := make([]AuditRecord, len(all)), map[string]string{}
	for i, r := range all {
		out[i].Record = r
		if r.Host == "" || a.o.Hosts == nil {
			continue
		}
		name, known := names[r.Host]
		if !known {
			h, err := a.find(ctx, r.Host)
			switch {
			case err == nil:
				name = h.Name
			case diag.CodeOf(err) != enroll.CodeNotFound:
				return nil, err
			}
			names[r.Host] = name
		}
		out[i].HostName = name
	}
	return out, nil
}

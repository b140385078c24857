package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// auditPage is what was done, by whom, and why.
type auditPage struct {
	Filter  url.Values
	Rows    []auditRow
	Next    string
	Head    access.Head
	Command string
}

// auditRow is one entry.
type auditRow struct {
	api.AuditRecord
	Details []pair
}

type pair struct{ Name, Value string }

func (p *Pages) registerAudit() {
	p.show("/audit", p.audit)
	p.act("/audit/verify", p.verifyAudit)
}

func (p *Pages) audit(v *view) (*page, error) {
	a := &auditPage{Filter: v.filter("actor", "action", "host", "site")}
	query := maps.Clone(a.Filter)
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.List[api.AuditRecord]](v, "/v1/audit", query)
	if err != nil {
		return nil, err
	}
	if a.Head, err = get[access.Head](v, "/v1/audit/head", nil); err != nil {
		return nil, err
	}
	for _, r := range list.Items {
		row := auditRow{AuditRecord: r}
		for _, name := range slices.Sorted(maps.Keys(r.Detail)) {
			row.Details = append(row.Details, pair{name, r.Detail[name]})
		}
		a.Rows = append(a.Rows, row)
	}
	if list.Next != "" {
		query.Set("cursor", list.Next)
		a.Next = "/audit?" + query.Encode()
	}
	argv := []string{"tenet", "audit", "list"}
	for _, name := range []string{"actor", "action", "host", "site"} {
		if value := a.Filter.Get(name); value != "" {
			argv = append(argv, "--"+name, value)
		}
	}
	a.Command = commandLine(argv...)
	return &page{Template: "audit", Title: "Audit", Section: "audit", Data: a}, nil
}

func (p *Pages) verifyAudit(v *view) (*act, error) {
	return &act{Title: "Verify the audit", Button: "Verify it", Back: "/audit", Command: []string{"tenet", "audit", "verify"},
		Effects: []string{"The whole chain is walked: that no entry was changed or removed. It changes nothing."},
		Do: func(url.Values) (string, error) {
			var head access.Head
			if err := v.send(http.MethodPost, "/v1/audit/verify", struct{}{}, &head); err != nil {
				return "", err
			}
			return "The audit is whole: " + commas(head.N) + " entries, the digest of the last one is " + head.Digest + ".", nil
		}}, nil
}

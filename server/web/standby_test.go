package web

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestStandby checks that a server that stands by offers nothing that it would refuse, and shows all that there is to be read.
func TestStandby(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	for _, answers := range []map[string]any{serverAnswers(), siteAnswers(), {"/v1/sources": list(api.Source{Name: "main", Site: "shop"})}} {
		for path, answer := range answers {
			f.answers[path] = answer
		}
	}
	f.answers["/v1/people"], f.answers["/v1/people/eve"] = list(api.Person{PersonRecord: access.PersonRecord{Name: "eve"}}), api.Person{PersonRecord: access.PersonRecord{Name: "eve"}}
	f.answers["/v1/roles"], f.answers["/v1/programs"] = list(access.Role{Name: "operators"}), list(access.ProgramRecord{ID: "p1", Name: "robot"})
	f.answers["/v1/sessions"], f.answers["/v1/session/all"], f.answers["/v1/grants"] = list(access.SessionRecord{ID: "s2"}), list(access.SessionRecord{ID: "s2"}), list()
	f.answers["/v1/tokens"] = list(map[string]any{"id": "t1", "uses": 1, "expires_at": noon().AddDate(0, 0, 1)})
	f.answers["/v1/audit"], f.answers["/v1/audit/head"] = list(), access.Head{}
	for _, path := range []string{"/", "/hosts", "/hosts/web7", "/hosts/web7?tab=keys", "/hosts/web7?tab=drift", "/sites/shop", "/sites/shop/revisions/3", "/sources", "/clusters", "/enrolment", "/people", "/people/eve", "/audit", "/server", "/account"} {
		p.o.Standby = false
		offers := func(text string) bool {
			return strings.Contains(text, "data-dialog") || strings.Contains(text, "data-act") || strings.Contains(text, `<form class="filters" method="get" action="/sites/shop/deploy"`) || strings.Count(text, `method="post"`) > 1
		}
		if body := has(t, p, path, `href="/people"`, `href="/enrolment"`); !offers(body) && path != "/" && path != "/clusters" {
			t.Errorf("%s offers nothing:\n%s", path, body)
		}
		p.o.Standby = true
		if body := has(t, p, path, `href="/people"`, `href="/enrolment"`, "This server stands by"); offers(body) {
			t.Errorf("%s of a server that stands by offers something:\n%s", path, body)
		}
	}
}

package api_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// Many are rejected at once, and forgotten, by who may enrol them: others are neither touched nor told of.
func TestHostsAreRejectedAndForgotten(t *testing.T) {
	w := startHosts(t)
	token := w.token()
	web, db := w.join(token, "web1"), w.join(token, "db1")
	path := "/v1/hosts/" + string(web)
	w.wantProblem(w.ask("POST", "/v1/hosts/reject", w.bob, `{}`), 400, access.CodeInvalid)
	w.wantProblem(w.ask("POST", "/v1/hosts/reject", w.carol, `{"select":"*"}`), 403, access.CodeForbidden)
	w.wantProblem(w.ask("POST", path+"/forget", w.bob, `{}`), 409, enroll.CodeState)
	if r := w.ask("POST", "/v1/hosts/reject", w.bob, `{"select":"*","reason":"a flood"}`); r.status != 200 || strings.TrimSpace(r.text) != `{"rejected":1}` {
		t.Error(r)
	}
	if names, _ := w.names(w.alice, "?state=pending"); strings.Join(names, " ") != "db1" {
		t.Errorf("pending are %v", names)
	}
	w.wantProblem(w.ask("POST", path+"/forget", w.carol, `{}`), 403, access.CodeForbidden)
	if r := w.ask("POST", path+"/forget", w.bob, `{"reason":"sold"}`); r.status != 200 || !strings.Contains(r.text, `"ended_at"`) {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", path, w.alice, ""), 404, access.CodeNotFound)
	if names, _ := w.names(w.alice, ""); strings.Join(names, " ") != "db1" {
		t.Errorf("there are %v", names)
	}
	w.wantProblem(w.ask("POST", "/v1/hosts/"+string(db)+"/forget", w.bob, `{}`), 404, access.CodeNotFound)
	must(t, w.store.Read(t.Context(), func(r store.Reader) error {
		list, err := access.ListAudit(r, access.AuditFilter{Action: "host.forget"})
		if len(list) != 1 || list[0].Actor != "bob" || list[0].Reason != "sold" || list[0].Detail["why"] != "a flood" {
			t.Errorf("the audit has %v", list)
		}
		return err
	}))
}

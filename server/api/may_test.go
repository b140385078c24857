package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
)

// What somebody may do is told by verbs, for a host and a site: to themselves, and to administrators of anybody.
func TestRights(t *testing.T) {
	w := startFleet(t)
	w.host("web1", map[string]string{"role": "web"})
	w.host("db1", nil)
	all, err := access.ParseSelector("*")
	must(t, err)
	web, err := access.ParseSelector("role=web")
	must(t, err)
	w.add("dora", access.Grant{Verb: access.Read, Hosts: all, Site: "*"}, access.Grant{Verb: access.Deploy, Hosts: web, Site: "shop"}, access.Grant{Verb: access.Exec, Hosts: web, Site: "*"})
	rights := func(verb, host, site string) (list []string) {
		t.Helper()
		got, err := w.client(w.alice).Rights(t.Context(), "dora", verb, host, site)
		must(t, err)
		for _, r := range got {
			if r.May != (len(r.Grants) > 0) {
				t.Errorf("%+v", r)
			}
			if r.May {
				list = append(list, fmt.Sprintf("%s %v %s", r.Verb, r.Everywhere, r.Grants[0].Hosts))
			}
		}
		return list
	}
	for _, test := range []struct {
		verb, host, site string
		want             []string
	}{
		{"", "", "", []string{"read true *", "deploy false role=web", "exec false role=web"}},
		{"", "db1", "", []string{"read true *"}},
		{"", "web1", "base", []string{"read true *", "exec false role=web"}},
		{"deploy", "web1", "shop", []string{"deploy false role=web"}},
		{"admin", "", "", nil},
	} {
		if got := rights(test.verb, test.host, test.site); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q", test, got)
		}
	}
	if r := w.ask("GET", "/v1/people/carol/may?verb=read", w.carol, ""); r.status != 200 {
		t.Error(r)
	}
	// A program has rights of its own.
	secret := w.ask("POST", "/v1/programs", w.alice, `{"name":"ci","grants":[{"verb":"read","hosts":"role=web","site":"shop"}],"ends":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	var made struct{ Secret string }
	must(t, json.Unmarshal([]byte(secret.text), &made))
	for _, path := range []string{"/v1/people/alice/may", "/v1/grants", "/v1/grants?person=alice"} {
		if got := w.ask("GET", path, made.Secret, ""); got.status != 200 || strings.Contains(got.text, "exec\",\"may\":true") || strings.Contains(got.text, `"hosts":"*"`) || !strings.Contains(got.text, `"source":"program"`) {
			t.Errorf("%s of a program: %d %s", path, got.status, got.text)
		}
	}
	w.wantProblem(w.ask("GET", "/v1/people/dora/may", w.carol, ""), 403, access.CodeForbidden)
	w.wantProblem(w.ask("GET", "/v1/people/none/may", w.carol, ""), 403, access.CodeForbidden)
	w.wantProblem(w.ask("GET", "/v1/people/carol/may?host=db1", w.carol, ""), 404, access.CodeNotFound)
	w.wantProblem(w.ask("GET", "/v1/people/carol/may?verb=fly", w.carol, ""), 422, access.CodeInvalid)
}

package web

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// TestGravestOfUpdate checks that of an update of many hosts those are shown that have failed, whatever their names are.
func TestGravestOfUpdate(t *testing.T) {
	members, order := []any{}, []string{"ready", "pending", "out", "begun", "failed"}
	for _, state := range order {
		for i := range 20 {
			members = append(members, map[string]any{"id": strings.Repeat("a", 52), "name": fmt.Sprint(state, i), "state": state})
		}
	}
	answers := serverAnswers()
	answers["/v1/updates/0"] = map[string]any{"number": 2, "version": "1.4.0", "by": "bob", "at": noon(), "hosts": "*", "phase": "rolling", "members": members}
	p, _ := newTest(t, access.AllGrants(), answers)
	var shown []string
	for _, found := range regexp.MustCompile(`href="/hosts/(failed|begun|out|pending|ready)\d`).FindAllStringSubmatch(has(t, p, "/server", "The gravest 50 of 100 are shown"), -1) {
		shown = append(shown, found[1])
	}
	if len(shown) != maxShown || !slices.IsSortedFunc(shown, func(a, b string) int { return slices.Index(order, b) - slices.Index(order, a) }) {
		t.Errorf("the hosts that are shown are %q", shown)
	}
}

// TestLiveSite checks that the page of a deployment is renewed by what is told of its own site.
func TestLiveSite(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": waiting("bob", 4)})
	has(t, p, "/deployments/7", `data-live="deployment.changed"`, `data-live-site="shop"`)
}

// TestDeployToMany checks that a selector which names more hosts than are looked at is not taken to name these alone.
func TestDeployToMany(t *testing.T) {
	hosts := list(map[string]any{"id": hostID, "name": "web1", "state": "active"}, map[string]any{"id": hostID, "name": "other1", "state": "active"})
	p, f := newTest(t, access.AllGrants(), siteAnswers())
	f.answers["/v1/hosts"] = hosts
	const at, few, many = "/sites/shop/deploy?hosts=*1", "1 host is brought to revision 3, where enrolled and not pinned: web1.", "Of 4,000 hosts that *1 names, those that the site declares are brought to the revision: web1."
	if body := has(t, p, at, few); strings.Contains(body, "Of 4,000") {
		t.Errorf("of few it says:\n%s", body)
	}
	hosts["next"], hosts["total"] = "c1", 4000
	if body := has(t, p, at, many); strings.Contains(body, few) {
		t.Errorf("of many it says:\n%s", body)
	}
}

// TestSpentTokens checks that no token counts as valid by which nobody joins any more.
func TestSpentTokens(t *testing.T) {
	token := func(id string, used int, more map[string]any) map[string]any {
		one := map[string]any{"id": id, "uses": 2, "used": used, "expires_at": noon().AddDate(0, 0, 1)}
		for name, value := range more {
			one[name] = value
		}
		return one
	}
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/tokens": list(token("good", 1, nil), token("spent", 2, nil), token("revoked", 0, map[string]any{"revoked_at": noon()}), token("expired", 0, map[string]any{"expires_at": noon()}))})
	body := has(t, p, "/enrolment", `id="token-good"`)
	for _, id := range []string{"spent", "revoked", "expired"} {
		if strings.Contains(body, "token-"+id) || strings.Contains(body, "tokens/"+id) {
			t.Errorf("the token that is %s is shown as valid", id)
		}
	}
}

// TestEndProgram checks that the token of a program is ended by its own page of each list, and leads back there.
func TestEndProgram(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/programs/p1": map[string]any{}})
	for at, back := range map[string]string{"/account/programs/p1/end": "/account", "/programs/p1/end": "/people"} {
		f.done = nil
		w := request(p, "POST", at, map[string][]string{"token": {tokenOf(t, has(t, p, at, "tenet program remove p1"))}})
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != back || len(f.done) != 1 || f.done[0] != "DELETE /v1/programs/p1 " {
			t.Errorf("%s: %d to %q, and the API was asked %q", at, w.Code, w.Header().Get("Location"), f.done)
		}
	}
	if reader, _ := newTest(t, nil, nil); request(reader, "GET", "/programs/p1/end", nil).Code != http.StatusForbidden {
		t.Error("who may nothing ends the tokens of others")
	}
}

package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestSelection checks that something is done with each host that was selected, and that those are named for which it came to nothing.
func TestSelection(t *testing.T) {
	for _, name := range []string{"lock", "ping", "hold"} {
		p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/hosts/web1/" + name: map[string]any{}, "/v1/hosts/web3/" + name: map[string]any{},
			"/v1/hosts/web2/" + name: &api.Problem{Status: http.StatusConflict, Detail: "it is <b>away</b>"}})
		target := "/selected/" + name + "?select=web3,web1,web2,web1"
		shown := request(p, "GET", target, nil).Body.String()
		if !strings.Contains(shown, "3 hosts") || !strings.Contains(shown, "web1, web2, web3.") || len(f.done) > 0 {
			t.Errorf("%s does not say what it will do, or has done %q:\n%s", name, f.done, shown)
		}
		w := request(p, "POST", target, url.Values{"token": {tokenOf(t, shown)}, "reason": {"because"}})
		if body := w.Body.String(); w.Code != http.StatusConflict || !strings.Contains(body, "done for 2 of 3 hosts") || !strings.Contains(body, "<code>web2</code>: it is &lt;b&gt;away") {
			t.Errorf("%s: %d\n%s", name, w.Code, body)
		}
		slices.Sort(f.done)
		if len(f.done) != 3 || !strings.HasPrefix(f.done[1], "POST /v1/hosts/web2/"+name) || name != "ping" && !strings.Contains(f.done[0], `"reason":"because"`) {
			t.Errorf("%s: the API was asked %q", name, f.done)
		}
	}
}

// TestSelectionLimits checks that nothing is done with no host, nor with more than can be looked at.
func TestSelectionLimits(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), nil)
	for _, names := range []string{"", ",,", strings.Repeat("a,", maxSelected) + manyNames()} {
		if w := request(p, "GET", "/selected/lock?select="+url.QueryEscape(names), nil); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%.20q: %d", names, w.Code)
		}
	}
}

// manyNames are more hosts than are taken at once.
func manyNames() string {
	var names []string
	for n := range maxSelected + 1 {
		names = append(names, "web"+digits(int64(n)))
	}
	return strings.Join(names, ",")
}

// TestRevokedRows checks that the row of a host that was revoked leads to that one, and not to another that has its name now.
func TestRevokedRows(t *testing.T) {
	former, present := strings.Repeat("q", 51)+"a", strings.Repeat("a", 52)
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/hosts": list(map[string]any{"id": former, "name": "web1", "state": "revoked"}, map[string]any{"id": present, "name": "web1", "state": "active"})})
	body := request(p, "GET", "/hosts", nil).Body.String()
	for _, wanted := range []string{`href="/hosts/` + former + `"`, `value="` + former + `"`, `href="/hosts/web1"`, `value="web1"`} {
		if strings.Count(body, wanted) != 1 {
			t.Errorf("the list has not one %s:\n%s", wanted, body)
		}
	}
}

// TestPlanSelected checks that planning makes a deployment that waits, of a site that one may deploy.
func TestPlanSelected(t *testing.T) {
	hosts, err := access.ParseSelector("*")
	if err != nil {
		t.Fatal(err)
	}
	p, f := newTest(t, []access.Grant{{Verb: access.Read, Hosts: hosts, Site: access.All}, {Verb: access.Deploy, Hosts: hosts, Site: "shop"}},
		map[string]any{"/v1/sites": list(api.Site{Name: "bank"}, api.Site{Name: "shop", Newest: api.Revision{Number: 7}}), "/v1/deployments": map[string]any{"id": 1200}})
	shown := request(p, "GET", "/selected/plan?select=web1,web2", nil).Body.String()
	if !strings.Contains(shown, `value="shop"`) || strings.Contains(shown, `value="bank"`) {
		t.Errorf("the sites are not those that one may deploy:\n%s", shown)
	}
	w := request(p, "POST", "/selected/plan?select=web1,web2", url.Values{"token": {tokenOf(t, shown)}, "site": {"shop"}, "consent": {"start"}})
	if at := w.Header().Get("Location"); at != "/deployments/1200" || len(f.done) != 1 || f.done[0] != `POST /v1/deployments {"consent":"start","hosts":"web1,web2","message":"","site":"shop"}` {
		t.Errorf("to %q, the API was asked %q", at, f.done)
	}
}

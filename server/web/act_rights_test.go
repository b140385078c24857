package web

import (
	"net/http"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// TestActsOfOthers checks that nobody gets a form for what they may not do.
func TestActsOfOthers(t *testing.T) {
	hosts, err := access.ParseSelector("web*")
	if err != nil {
		t.Fatal(err)
	}
	reader, f := newTest(t, []access.Grant{{Verb: access.Read, Hosts: hosts, Site: "shop"}}, nil)
	for _, path := range []string{"/new-person", "/new-role", "/people/ada/remove", "/audit/verify", "/server/resume", "/enrolment/tokens/new", "/hosts/web1/revoke", "/hosts/web1/hold", "/sites/shop/deploy", "/sources/add", "/deployments/7/approve", "/deployments/7/abort", "/selected/plan?select=web1"} {
		if w := request(reader, "GET", path, nil); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := request(reader, "GET", "/account/password", nil); w.Code != http.StatusOK {
		t.Errorf("one's own password: %d", w.Code)
	}
	deployer, _ := newTest(t, []access.Grant{{Verb: access.Deploy, Hosts: hosts, Site: "shop"}}, nil)
	for path, status := range map[string]int{"/sources/main/look": http.StatusOK, "/sources/main/remove": http.StatusForbidden} {
		if w := request(deployer, "GET", path, nil); w.Code != status {
			t.Errorf("who deploys one site is answered %d at %s", w.Code, path)
		}
	}
	if len(f.done) > 0 {
		t.Errorf("the API was asked %q", f.done)
	}
}

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
	if len(f.done) > 0 {
		t.Errorf("the API was asked %q", f.done)
	}
}

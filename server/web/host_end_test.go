package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/enroll"
)

// TestForgetHost checks that a host that was revoked can be forgotten, and no other, and that this leads to the list: the host has no page any more.
func TestForgetHost(t *testing.T) {
	at := "/v1/hosts/" + hostID
	answers := map[string]any{at: enroll.Host{ID: hostID, Name: "web7", State: "revoked"}, at + "/status": api.HostStatus{ID: hostID, Name: "web7"}, at + "/forget": enroll.Host{ID: hostID, Name: "web7", State: "revoked"},
		"/v1/hosts/web7": enroll.Host{ID: hostID, Name: "web7", State: "active"}}
	p, f := newTest(t, access.AllGrants(), answers)
	path := "/hosts/" + hostID + "/forget"
	has(t, p, "/hosts/"+hostID+"?tab=keys", path)
	token := tokenOf(t, has(t, p, path, "go for good", "tenet host forget "+hostID))
	w := request(p, "POST", path, url.Values{"token": {token}, "reason": {"sold"}})
	if w.Header().Get("Location") != "/hosts" {
		t.Errorf("it leads to %q: %d", w.Header().Get("Location"), w.Code)
	}
	if sent := strings.Join(f.done, "\n"); !strings.Contains(sent, at+"/forget") || !strings.Contains(sent, "sold") {
		t.Errorf("the API is asked for %s", sent)
	}
}

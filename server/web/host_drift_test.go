package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// TestHostDrift checks that a host is asked what differs when somebody says so who may, and not by looking at the page.
func TestHostDrift(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	const path, operation = "/hosts/web7/sites/shop/drift", "/v1/hosts/" + hostID + "/sites/shop/drift"
	f.answers[operation] = api.HostDrift{At: noon(), Rows: []states.Event{{Type: states.EventPart, Address: "file.motd", Invocation: "file.motd", Action: states.Update, Changes: []states.Change{{Attribute: "content", From: "x", To: hostile, Diff: "@@ -1 +1 @@\n-" + hostile + "\n+new\n"}}}}}
	shown := has(t, p, "/hosts/web7?tab=drift", `action="`+path+`"`, "Ask what differs", "tenet host drift web7 shop")
	if w := request(p, "GET", path, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/hosts/web7?site=shop&tab=drift" {
		t.Errorf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	if w := request(p, "POST", path, url.Values{"token": {"foreign"}}); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", w.Code)
	}
	if len(f.done) > 0 || strings.Contains(shown, "file.motd") || strings.Contains(shown, "data-live=") {
		t.Errorf("the host was asked %q by looking:\n%s", f.done, shown)
	}
	w := request(p, "POST", path, url.Values{"token": {tokenOf(t, shown)}})
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "file.motd") || !strings.Contains(body, "It has changed nothing") || !strings.Contains(body, "Ask again") || strings.Contains(body, "<img") || strings.Contains(body, "data-live=") {
		t.Errorf("%d\n%s", w.Code, body)
	}
	if len(f.done) != 1 || f.done[0] != "POST "+operation+" {}" {
		t.Errorf("the API was asked %q", f.done)
	}
	f.answers[operation] = &api.Problem{Status: http.StatusServiceUnavailable, Detail: "the agent of web7 is away"}
	if w := request(p, "POST", path, url.Values{"token": {tokenOf(t, shown)}}); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the agent of web7 is away") || strings.Contains(w.Body.String(), "Nothing differs") {
		t.Errorf("a host that is away: %d\n%s", w.Code, w.Body)
	}
	reads := access.AllGrants()[:1]
	reads[0].Verb = access.Read
	p, _ = newHost(t, reads)
	if body := has(t, p, "/hosts/web7?tab=drift"); strings.Contains(body, "/drift\"") {
		t.Error("who only reads is offered to ask")
	}
}

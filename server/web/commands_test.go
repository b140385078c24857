package web

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestCommands checks that the command beside something does the same by what was chosen, and that there is none where no command does.
func TestCommands(t *testing.T) {
	answers := serverAnswers()
	answers["/v1/releases"] = list(api.Release{Version: "1.5.0"}, api.Release{Version: "1.4.0"})
	for path, answer := range siteAnswers() {
		answers[path] = answer
	}
	p, f := newTest(t, access.AllGrants(), answers)
	f.answers["/v1/sites/shop/policy"], f.answers["/v1/sites/shop/unpin"] = api.SitePolicy{Site: "shop", Approvals: true}, list(pinOf("web1", "2"))
	f.answers["/v1/hosts"] = list(map[string]any{"id": hostID, "name": "web1", "state": "active"})
	f.answers["/v1/runs"] = list(map[string]any{"host": hostID, "name": "web1", "run": "0008"})
	for path, wanted := range map[string]string{
		"/server/updates/new?version=1.4.0": "tenet update 1.4.0 --batch 1,10%,100%", "/server/updates/new": "tenet update 1.5.0 --batch 1,10%,100%",
		"/sites/shop/deploy?revision=2": "tenet deploy shop --revision 2 --deadline 60m", "/sites/shop/deploy?revision=2&hosts=web1": "tenet deploy shop --revision 2 --hosts web1 --deadline 60m", "/selected/plan?select=web1": "",
		"/sites/shop/policy": "tenet server policy set shop --approve --reason TEXT", "/sites/shop/unpin?hosts=*": "tenet unpin shop '*'",
		"/runs": "tenet events --server", "/runs?outcome=failed": "", "/runs?site=shop": "",
		"/deployments?site=shop": "tenet deployments list --site shop", "/deployments?site=shop&phase=done": "",
		"/hosts?phase=help": "tenet host list --phase help", "/hosts?question=true&phase=help": "",
	} {
		w := request(p, "GET", path, nil)
		_, shown, _ := strings.Cut(w.Body.String(), `<div class="command"><code tabindex="0">`)
		shown, _, _ = strings.Cut(shown, "</code>")
		if html.UnescapeString(shown) != wanted || w.Code != http.StatusOK {
			t.Errorf("%s: %d, with the command %q, wanted %q", path, w.Code, shown, wanted)
		}
	}
}

// TestWaitOfPlan checks that it is told what the deployment waits for that was planned.
func TestWaitOfPlan(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/sites": list(api.Site{Name: "shop"}), "/v1/deployments": map[string]any{"id": 1200}})
	for consent, wanted := range map[string]string{"start": "waits for a start", "approve": "waits for an approval"} {
		f.done = nil
		token := tokenOf(t, request(p, "GET", "/selected/plan?select=web1,web2", nil).Body.String())
		w := request(p, "POST", "/selected/plan?select=web1,web2", url.Values{"token": {token}, "site": {"shop"}, "consent": {consent}})
		if len(f.done) != 1 || !strings.Contains(f.done[0], `"consent":"`+consent+`"`) {
			t.Fatalf("the API was asked %q", f.done)
		}
		c := noticeOf(w)
		if c == nil {
			t.Fatalf("%s: %d without a notice", consent, w.Code)
		}
		if text := request(p, "GET", "/account", nil, "Cookie", api.SessionCookie+"=secret; "+c.Name+"="+c.Value).Body.String(); !strings.Contains(text, wanted) {
			t.Errorf("%s: %q is not told", consent, wanted)
		}
	}
}

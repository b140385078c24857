package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// serverAnswers are those of an API of a server that was restored and updates its agents.
func serverAnswers() map[string]any {
	id, free := strings.Repeat("a", 52), 0.07
	return map[string]any{
		"/v1/server": map[string]any{"version": "1.4", "term": 12, "recovering": true, "broker": map[string]any{"kind": "cluster", "connected": false, "reason": "refused"}, "limits": map[string]any{"free": free, "least": 0.1, "revisions": 3, "run_days": 30},
			"unknown": []any{map[string]any{"id": id, "name": "web3", "sites": []string{"shop"}}}},
		"/v1/releases": list(map[string]any{"version": "1.4.0", "by": "bob", "at": noon(), "programs": []any{}, "lacking": []any{map[string]any{"name": "tenet-agent", "os": "linux", "arch": "arm64", "sha256": strings.Repeat("0", 64)}}}),
		"/v1/updates/0": map[string]any{"number": 2, "version": "1.4.0", "by": "bob", "at": noon(), "hosts": "*", "phase": "rolling", "reason": "web2 has failed", "turn": 1, "turns": 3,
			"members": []any{map[string]any{"id": id, "name": "web1", "state": "ready", "running": "1.4.0"}, map[string]any{"id": id, "name": "web2", "state": "failed", "running": "1.3.0", "reason": "<i>no room</i>"}}},
		"/v1/trust": map[string]any{"generation": 1, "number": 4, "issued": noon(), "recovery": testKey(), "authorities": []any{map[string]any{"digest": strings.Repeat("0", 64), "name": "CA 2", "ends": noon().Add(time.Hour)}},
			"keys": []any{map[string]any{"key": testKey(), "name": "olga", "verbs": []string{"release"}}}, "expiring": []any{map[string]any{"what": "the certificate in x.pem", "at": noon(), "hint": "renew it"}}},
	}
}

// testKey is a public key as it is written.
func testKey() string { return "tenet-key:B0RQzhvHN3LnWTWLpHU7CGE_s4ecv8ik_L-xCzS3d4g" }

// TestServerPage checks what is told of the server, and that acts say what they do and do it.
func TestServerPage(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), serverAnswers())
	body := request(p, "GET", "/server", nil).Body.String()
	for _, wanted := range []string{"It was restored, and delivers nothing", `href="/hosts/web3"`, "a cluster of NATS", "refused", "7 % of the store is free", "full</span>", "below 10 %", "Update 2 to 1.4.0", "web2 has failed", "&lt;i&gt;no room", "tenet-agent linux/arm64",
		"the certificate in x.pem ends", "CA 2", "olga", `href="/server/trust/keys/remove?key=` + url.QueryEscape(testKey())} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	f.answers["/v1/updates/2"] = f.answers["/v1/updates/0"]
	for _, c := range []struct{ at, api, says string }{
		{"/server/resume", "/v1/server/resume", "1 host has something later that the server does not know: that stays until something is deployed there: web3."},
		{"/server/updates/2/abort", "/v1/updates/2/abort", "1 host runs the release: that stays: web1."},
		{"/server/updates/2/continue", "/v1/updates/2/continue", "No host begins batch by batch."},
		{"/server/releases/1.4.0/remove", "/v1/releases/1.4.0/remove", "The server forgets its programs."},
		{"/server/trust/rotate/authority", "/v1/trust/rotate", "tenet trust rotate ca"},
		{"/server/trust/retire", "/v1/trust/retire", "trusted no more"},
		{"/server/trust/keys/remove?key=" + url.QueryEscape(testKey()), "/v1/trust/keys/remove", "Until now that is: release."},
	} {
		f.done, f.answers[c.api] = nil, map[string]any{}
		shown := request(p, "GET", c.at, nil).Body.String()
		if !strings.Contains(shown, c.says) {
			t.Errorf("%s does not say %q:\n%s", c.at, c.says, shown)
		}
		w := request(p, "POST", c.at, url.Values{"token": {tokenOf(t, shown)}, "reason": {"why"}})
		if w.Code != http.StatusSeeOther || len(f.done) != 1 || !strings.HasPrefix(f.done[0], "POST "+c.api+" ") || !strings.Contains(f.done[0], `"reason":"why"`) {
			t.Errorf("%s: %d, and the API was asked %q", c.at, w.Code, f.done)
		}
	}
	f.done, f.answers["/v1/updates"] = nil, map[string]any{}
	form := url.Values{"token": {tokenOf(t, request(p, "GET", "/server/updates/new", nil).Body.String())}, "version": {"1.4.0"}, "batch": {"1, 10%"}, "pause": {"2"}, "deadline": {"60"}}
	if w := request(p, "POST", "/server/updates/new", form); w.Code != http.StatusSeeOther || len(f.done) != 1 || !strings.Contains(f.done[0], `"batch":["1","10%"],"deadline":3600,`) || !strings.Contains(f.done[0], `"pause":120`) {
		t.Errorf("an update: %d, and the API was asked %q", w.Code, f.done)
	}
}

// TestServerLacks checks that a server without releases, updates and keys has its page, and that who only reads has no acts.
func TestServerLacks(t *testing.T) {
	lacking := &api.Problem{Status: http.StatusNotImplemented, Detail: "this server has none"}
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/releases": lacking, "/v1/updates/0": lacking, "/v1/trust": lacking})
	if w := request(p, "GET", "/server", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "No update of agents was begun yet") {
		t.Errorf("%d\n%s", w.Code, w.Body.String())
	}
	f.answers["/v1/server"] = &api.Problem{Status: http.StatusForbidden, Detail: "this takes the grant admin"}
	if w := request(p, "GET", "/server", nil); w.Code != http.StatusForbidden {
		t.Errorf("who may not: %d", w.Code)
	}
}

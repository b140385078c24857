package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// The overview names what waits for a person: a deployment, however many came later, and what does not get on by itself.
func TestOverviewNamesWhatWaits(t *testing.T) {
	away := noon().Add(-time.Hour)
	done := waiting("bob", 4)
	done["id"], done["phase"] = 99, "done"
	p, f := newTest(t, access.AllGrants(), map[string]any{
		"/v1/status": api.FleetStatus{Full: true, Broker: "no server answers"},
		"/v1/deployments?limit=30&phase=planned%2Crolling%2Cpaused":          list(waiting("bob", 4)),
		"/v1/deployments?limit=6&phase=done%2Cfailed%2Caborted%2Csuperseded": list(done),
		"/v1/sources":  list(api.Source{Name: "wrong", Problem: &api.SourceProblem{}}, api.Source{Name: "gone", Away: &away}, api.Source{Name: "resting", Away: &away, Closed: "a downtime"}, api.Source{Name: "good"}),
		"/v1/clusters": list(api.Cluster{Cluster: "bench", Site: "lab", State: cluster.Waiting}, api.Cluster{Cluster: "calm", Site: "lab", State: cluster.Deployed}),
	})
	shown := request(p, "GET", "/", nil)
	text := shown.Body.String()
	for _, wanted := range []string{"Deployment 7 of shop is planned", "/deployments/7", "/deployments/99", "has no room", "no server answers", "source wrong does not count", "source gone cannot be asked", "cluster bench of lab waits", `href="/server"`} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the overview lacks %q", wanted)
		}
	}
	for _, unwanted := range []string{"source good", "source resting", "cluster calm", "Nobody is needed", "Nothing is being deployed"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the overview has %q", unwanted)
		}
	}
	if shown.Code != http.StatusOK || t.Failed() {
		t.Log(shown.Code, text)
	}
	f.answers["/v1/session"] = api.Session{Name: "rita", Kind: access.Person, ID: "s1", Grants: []access.Grant{{Verb: access.Read, Hosts: access.AllGrants()[0].Hosts, Site: access.All}}}
	if text := request(p, "GET", "/", nil).Body.String(); strings.Contains(text, `<a href="/server">`) || !strings.Contains(text, "Tell who administers the server") {
		t.Error("who only reads is sent to the page of the server")
	}
}

// TestOlderFailures checks that no run counts as never failed where only the newest ones were looked at.
func TestOlderFailures(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), nil)
	const none, some = "No run has failed", "None of the newest runs has failed"
	if body := request(p, "GET", "/", nil).Body.String(); !strings.Contains(body, none) || strings.Contains(body, some) {
		t.Errorf("where all were looked at:\n%s", body)
	}
	f.answers["/v1/runs"] = map[string]any{"items": []any{}, "next": "c&1"}
	if body := request(p, "GET", "/", nil).Body.String(); strings.Contains(body, none) || !strings.Contains(body, some) || !strings.Contains(body, `href="/runs?cursor=c%261&amp;outcome=failed"`) {
		t.Errorf("where there are older ones:\n%s", body)
	}
	f.answers["/v1/hosts/web7"] = map[string]any{"id": hostID, "name": "web7", "state": "active"}
	if body := request(p, "GET", "/hosts/web7?tab=runs&outcome=failed", nil).Body.String(); strings.Contains(body, "No run fits") || !strings.Contains(body, "None of the newest runs fits") {
		t.Errorf("at the page of a host:\n%s", body)
	}
}

// TestBars checks that a bar is as wide as its counts, and that a count which is very small is seen.
func TestBars(t *testing.T) {
	a := axis{Total: 100_000, Counts: []share{{Class: "good", Count: 74_999}, {Class: "none"}, {Class: "warn", Count: 25_000}, {Class: "bad", Count: 1}}}
	bar, x := a.Bar(), 0
	for _, part := range bar {
		if part.X != x || part.Width <= 0 {
			t.Errorf("%+v does not follow what ends at %d", part, x)
		}
		x += part.Width
	}
	if len(bar) != 3 || bar[0].Width < 730 || bar[0].Width > 755 || bar[1].Width < 240 || bar[1].Width > 255 || bar[2].Width < 6 || x > 1000 {
		t.Errorf("the bar is %+v", bar)
	}
}

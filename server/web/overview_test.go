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

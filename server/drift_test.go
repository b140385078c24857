package server

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
)

// A host says what differs from what is wanted, to whom may plan the site for it: in their name, which is kept. It changes nothing.
func TestHostDrift(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	drift := func(c *client.Client) (*client.HostDrift, error) {
		return c.AskDrift(t.Context(), "web1", "shop", "a look")
	}
	d := p.deployOpen(`file "/etc/app.conf" { content = "wanted\n" }`, client.DeployRequest{})
	p.awaitPhase(d.ID, "it is done", isDone)
	planner, reader := p.person("pia", "read@web*", "plan@web*:shop"), p.person("rita", "read@web*")
	told, err := drift(planner)
	must(t, err)
	for _, ev := range told.Rows {
		if len(ev.Changes) > 0 {
			t.Errorf("nothing differs, and it says %+v", ev)
		}
	}
	p.mu.Lock()
	m := p.machines["web1"]
	p.mu.Unlock()
	must(t, simulated.WriteFile(t.Context(), m, "/etc/app.conf", "somebody was here\n", host.Meta{}))
	told, err = drift(planner)
	must(t, err)
	differs := ""
	for _, ev := range told.Rows {
		for _, c := range ev.Changes {
			differs += ev.Address + " " + c.Diff
		}
	}
	if !strings.Contains(differs, "file[\"/etc/app.conf\"]") || !strings.Contains(differs, "-somebody was here") || !strings.Contains(differs, "+wanted") || told.At.IsZero() {
		t.Errorf("it says that this differs: %q", differs)
	}
	if again, err := drift(planner); err != nil || len(again.Rows) != len(told.Rows) {
		t.Errorf("what differed is not so any more (%v)", err)
	}
	asked := []string{}
	for e, err := range p.person("auda", "admin@*").Audit(t.Context(), client.AuditFilter{Action: "host.request"}) {
		must(t, err)
		asked = append(asked, e.Actor+" "+e.Detail["operation"]+" "+e.Detail["name"]+" "+e.Site+": "+e.Reason)
	}
	if len(asked) != 3 || asked[0] != "pia plan web1 shop: a look" {
		t.Errorf("the audit has %q", asked)
	}
	if _, err := drift(reader); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("who may read alone: %v", err)
	}
	if _, err := drift(p.person("nora", "plan@db*", "read@db*")); diag.CodeOf(err) != access.CodeNotFound {
		t.Errorf("who may not read the host: %v", err)
	}
}

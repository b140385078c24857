package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/states"
)

const graphSite = `
state "conf" {
  file "/etc/app.conf" { content = "a" }
  notify = [state.reload]
}
state "reload" {
  lazy = true
  file "/etc/reloaded" { content = "b" }
}
state "after" {
  require = [state.conf]
  file "/etc/after" { content = "c" }
}
`

// What is wanted of a host is shown as a graph without values, and only to whom may read the host for that site.
func TestHostGraph(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	_, err := p.ops.HostGraph(t.Context(), "web1", "shop", client.GraphFilter{})
	if diag.CodeOf(err) != access.CodeNotFound {
		t.Errorf("nothing is wanted yet: %v", err)
	}
	d := p.deployOpen(graphSite, client.DeployRequest{})
	p.awaitPhase(d.ID, "it is done", isDone)
	g, err := p.ops.HostGraph(t.Context(), "web1", "shop", client.GraphFilter{})
	must(t, err)
	text, err := json.Marshal(g)
	must(t, err)
	if strings.Contains(string(text), plaintext) || strings.Contains(string(text), "content") || g.Revision != d.Revision || !g.Target || g.Nodes != len(g.Shown) || !strings.HasPrefix(g.StateRun, "sha256:") {
		t.Errorf("the graph is %s", text)
	}
	find := func(g *client.HostGraph, address string) *states.OutlineNode {
		i := slices.IndexFunc(g.Shown, func(n states.OutlineNode) bool { return states.WithoutWave(n.Address) == address })
		if i < 0 {
			return nil
		}
		return &g.Shown[i]
	}
	if n := find(g, "state.reload"); n == nil || n.Kind != states.OutlineHandler || len(n.Parts) != 1 || n.Parts[0].Key != "/etc/reloaded" || n.Parts[0].Type != "file" {
		t.Errorf("the handler is %+v in %s", n, text)
	}
	for _, want := range []states.OutlineArrow{{From: "state.conf", To: "state.reload", Kind: "notifies"}, {From: "state.conf", To: "state.after", Kind: "requires"}} {
		if !slices.Contains(g.Arrows, want) {
			t.Errorf("%+v lacks in %+v", want, g.Arrows)
		}
	}
	around, err := p.ops.HostGraph(t.Context(), "web1", "shop", client.GraphFilter{Around: "state.after", Depth: 3})
	must(t, err)
	if find(around, "state.after") == nil || find(around, "state.conf") == nil || around.Nodes != g.Nodes || len(around.Shown) >= g.Nodes {
		t.Errorf("around state.after are %+v", around.Shown)
	}
	found, err := p.ops.HostGraph(t.Context(), "web1", "shop", client.GraphFilter{Contains: "APP.conf"})
	must(t, err)
	if len(found.Shown) != 1 || found.Shown[0].Address != "state.conf" || len(found.Arrows) != 0 {
		t.Errorf("found are %+v", found)
	}
	for _, grant := range []string{"read@db*", "read@none"} {
		other := p.person("x"+grant[5:7], grant)
		if _, err := other.HostGraph(t.Context(), "web1", "shop", client.GraphFilter{}); diag.CodeOf(err) != access.CodeNotFound {
			t.Errorf("%s: %v", grant, err)
		}
	}
}

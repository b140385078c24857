package web

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/tenetcm/tenet/internal/ui/drawing"
	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// graphPage is what is wanted of a host as a graph, with what a run has made of it.
type graphPage struct {
	Host, Site, Run string
	Graph           api.HostGraph
	Drawing         drawing.Drawing
	IsOther         bool // the run was for something else than what is drawn
	IsPart          bool // not all parts of the run were looked at
}

// Tabs lists the parts of the page of the run.
func (g *graphPage) Tabs() []navigation { return runTabsOf(g.Host, g.Site, g.Run, "graph") }

// maxMarkedLines is how many parts of a run are looked at for the drawing, a thousand at a time.
const maxMarkedLines = 4000

func (p *Pages) registerHostGraph() { p.show("/hosts/{name}/graph", p.hostGraph) }

func (p *Pages) hostGraph(v *view) (*page, error) {
	g := &graphPage{Host: v.r.PathValue("name"), Site: v.r.URL.Query().Get("site"), Run: v.r.URL.Query().Get("run")}
	if g.Site == "" {
		return nil, invalid("site", "the name of a site of the host")
	}
	var err error
	if g.Graph, err = get[api.HostGraph](v, route("v1", "hosts", g.Host, "sites", g.Site, "graph"), url.Values{"limit": {"20000"}}); err != nil {
		return nil, err
	}
	marks := map[string]rows.Mark{}
	if g.Run != "" {
		if marks, err = v.marksOf(g); err != nil {
			return nil, err
		}
	}
	outline := &states.Outline{Nodes: g.Graph.Shown, Arrows: g.Graph.Arrows}
	g.Drawing = drawing.Draw(slices.Values([]*states.Outline{outline}), marks)
	shown := &page{Template: "graph", Title: "Graph of " + g.Host, Section: "hosts", Data: g}
	if g.Run != "" {
		shown.Section = "runs"
	}
	return shown, nil
}

// marksOf says what a run has made of each invocation.
func (v *view) marksOf(g *graphPage) (map[string]rows.Mark, error) {
	marks, after := map[string]rows.Mark{}, int64(0)
	for looked := 0; ; {
		part, err := get[api.RunLines](v, route("v1", "hosts", g.Host, "runs", g.Run, "lines"), url.Values{"type": {"run", "part"}, "limit": {"1000"}, "after": {digits(after)}})
		if err != nil {
			return nil, err
		}
		for i := range part.Items {
			var ev states.Event
			if json.Unmarshal(part.Items[i].Event, &ev) != nil {
				continue
			}
			if ev.Type == states.EventRun {
				g.IsOther = ev.Revision != g.Graph.StateRun
				continue
			}
			marks[ev.Invocation] = rows.OfInvocation(marks[ev.Invocation], &ev)
		}
		looked += len(part.Items)
		if after = part.Next; after == 0 {
			return marks, nil
		}
		if looked >= maxMarkedLines {
			g.IsPart = true
			return marks, nil
		}
	}
}

// Package webpage shows plans, of one host or of many, as one page of HTML, which needs nothing
// else: no network, no font, and no script to be read. Its own script, the only one that runs,
// filters and folds. The page can be read on paper and in the dark, and is well-formed XML too.
package webpage

import (
	"crypto/sha256"
	_ "embed" // the template, the style and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"iter"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/internal/ui/drawing"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/internal/ui/look"
	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Page is what a page is about.
type Page struct {
	Site     string // for people
	Program  string // the version that made the plans
	Created  time.Time
	Revision string
	Hosts    []Host // one at least
	// Runs are what the hosts are to do, for the graph; nil: there is none.
	Runs iter.Seq[*states.StateRun]
}

// Host is a host, and its plan.
type Host struct {
	Name     string // for people
	Rows     []states.Event
	Handlers []string        // addresses of the run's invocations of handlers
	Status   string          // how planning has ended there, unless it is done
	Problem  *states.Failure // why there is no plan, or not all of one
}

// view is the page as the template wants it.
type view struct {
	*rows.View
	Title, Sum   string
	Style        template.CSS
	Script       template.JS
	ScriptDigest string // for the policy: no other script runs
	About        []pair
	Graph        drawing.Drawing
}

type pair struct{ Name, Value string }

// Write writes a page. All that comes from hosts and sites is text in it, whatever it holds.
func Write(w io.Writer, p Page) error {
	parsed := template.New("page")
	for _, text := range []string{rows.Templates, drawing.Templates, source} {
		if _, err := parsed.Parse(text); err != nil {
			return err
		}
	}
	v, err := viewOf(p)
	if err != nil {
		return err
	}
	return parsed.Execute(w, v)
}

func viewOf(p Page) (*view, error) {
	name := p.Hosts[0].Name
	if len(p.Hosts) > 1 {
		name = fmt.Sprint(len(p.Hosts), " hosts")
	}
	script := script + drawing.Script
	digest := sha256.Sum256([]byte(script))
	v := &view{
		Title: rows.Clean("Plan of " + p.Site + " for " + name), Style: template.CSS(look.CSS + style), Script: template.JS(script), ScriptDigest: base64.StdEncoding.EncodeToString(digest[:]),
		About: []pair{
			{"Site", rows.Clean(p.Site)}, {"Host", rows.Clean(name)}, {"Made", p.Created.UTC().Format("2006-01-02 15:04:05 UTC")},
			{"By", rows.Clean("tenet " + p.Program)}, {"Revision", rows.Clean(p.Revision)},
		},
	}
	plans, sums, names := make([][]states.Event, len(p.Hosts)), make([]ui.PlanRows, len(p.Hosts)), make([]string, len(p.Hosts))
	for i := range p.Hosts {
		h := &p.Hosts[i]
		plans[i], sums[i], names[i] = withoutIDs(h.Rows, len(p.Hosts) > 1), ui.PlanRows{Handlers: h.Handlers, Rows: h.Rows}, h.Name
	}
	v.Sum = ui.Sum(sums...)
	grouped, err := grouping.Group(plans)
	if err != nil {
		return nil, err
	}
	v.View = rows.WithHosts(names, grouped)
	for i := range v.Hosts {
		describe(&v.Hosts[i], &p.Hosts[i], sums[i])
	}
	if p.Runs != nil {
		v.Graph = drawing.Draw(outlines(p.Runs), v.Marks)
	}
	return v, nil
}

// outlines gives runs as they are drawn.
func outlines(runs iter.Seq[*states.StateRun]) iter.Seq[*states.Outline] {
	return func(yield func(*states.Outline) bool) {
		for run := range runs {
			if !yield(graph.Outline(run)) {
				return
			}
		}
	}
}

// describe says what would be done on a host, or why nobody knows.
func describe(v *rows.Host, h *Host, sum ui.PlanRows) {
	if v.Sum = rows.Clean(ui.Sum(sum)); h.Problem != nil {
		v.Class, v.Sum = "failed", rows.Clean(h.Status)
		v.Problem, v.Hint = rows.Clean(h.Problem.Message), rows.Clean(h.Problem.Hint)
	} else if h.Status != "" && h.Status != "done" {
		v.Class = "failed"
	}
}

// withoutIDs gives rows without what differs from host to host, and is not shown.
func withoutIDs(rows []states.Event, ofMany bool) []states.Event {
	out := make([]states.Event, len(rows))
	for i, ev := range rows {
		ev.ID, ev.Duration = "", 0
		if ofMany && ev.Type == states.EventOrphan {
			ev.Run = ""
		}
		out[i] = ev
	}
	return out
}

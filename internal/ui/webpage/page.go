// Package webpage shows plans, of one host or of many, as one page of HTML, which needs nothing
// else: no network, no font, and no script to be read. Its own script, the only one that runs,
// filters and folds. The page can be read on paper and in the dark, and is well-formed XML too.
package webpage

import (
	"crypto/sha256"
	_ "embed" // the template and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"iter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

//go:embed page.html
var source string

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
	Title, Sum   string
	Script       template.JS
	ScriptDigest string // for the policy: no other script runs
	About        []pair
	Graph        drawing
	Past         []note // what earlier runs have left
	Confirms     []note // blocks that are to be confirmed
	Orphans      []note // what is no longer declared
	Groups       []group
	Others       []row // what stays, or is skipped
	Hosts        []hostView
	HostSets     []hostSet
	Acts         int // rows of Groups
}

type pair struct{ Name, Value string }

// note is a line about what is no part.
type note struct{ Text, On string }

// group is what would be done by one state.
type group struct {
	Title string
	Rows  []row
}

// Write writes a page. All that comes from hosts and sites is text in it, whatever it holds.
func Write(w io.Writer, p Page) error {
	parsed, err := template.New("page").Parse(source)
	if err != nil {
		return err
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
	digest := sha256.Sum256([]byte(script))
	v := &view{
		Title: clean("Plan of " + p.Site + " for " + name), Script: template.JS(script), ScriptDigest: base64.StdEncoding.EncodeToString(digest[:]),
		About: []pair{
			{"Site", clean(p.Site)}, {"Host", clean(name)}, {"Made", p.Created.UTC().Format("2006-01-02 15:04:05 UTC")},
			{"By", clean("tenet " + p.Program)}, {"Revision", clean(p.Revision)},
		},
	}
	plans, sums := make([][]states.Event, len(p.Hosts)), make([]ui.PlanRows, len(p.Hosts))
	for i := range p.Hosts {
		h := &p.Hosts[i]
		plans[i], sums[i] = withoutIDs(h.Rows, len(p.Hosts) > 1), ui.PlanRows{Handlers: h.Handlers, Rows: h.Rows}
	}
	v.Sum = ui.Sum(sums...)
	rows, err := grouping.Group(plans)
	if err != nil {
		return nil, err
	}
	b := &builder{view: v, hosts: p.Hosts, sets: map[string]int{}, states: map[string]int{}, marks: map[string]mark{}}
	b.add(rows)
	if len(p.Hosts) > 1 {
		b.addHosts(sums)
	}
	if p.Runs != nil {
		v.Graph = draw(p.Runs, b.marks)
	}
	return v, nil
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

package web

import (
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/server/api"
)

// runList is a list of runs, newest first.
type runList struct {
	Filter  url.Values
	Facets  []facet
	Rows    []api.Run
	Next    string // where the list goes on
	Command string // that tells of the same; empty: there is none
	IsAll   bool   // nothing is filtered
	OfOne   bool   // they are all of one host
}

// runFilters are the filters of the list in the API that the page has, too.
func runFilters() []string { return []string{"select", "host", "site", "outcome", "before"} }

func (p *Pages) registerRuns() { p.show("/runs", p.runs) }

func (p *Pages) runs(v *view) (*page, error) {
	filter := v.filter(runFilters()...)
	l, err := v.runsOf(filter, "/runs")
	if err != nil {
		return nil, err
	}
	return &page{Template: "runs", Title: "Runs", Section: "runs", Data: l, Live: []string{"host.run"}}, nil
}

// runsOf lists runs by the filters of the API, on the page at this path.
func (v *view) runsOf(filter url.Values, path string) (*runList, error) {
	query := maps.Clone(filter)
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.List[api.Run]](v, "/v1/runs", query)
	if err != nil {
		return nil, err
	}
	l := &runList{Filter: filter, Rows: list.Items, IsAll: len(filter) == 0, OfOne: filter.Has("host"),
		Facets: []facet{facetOf(filter, "outcome", "Outcome", "running", "failed", "changed", "unchanged")}}
	if l.IsAll { // no command has these filters
		l.Command = commandLine("tenet", "events", "--server")
	}
	if list.Next != "" {
		next := maps.Clone(v.r.URL.Query())
		next.Set("cursor", list.Next)
		l.Next = path + "?" + next.Encode()
	}
	return l, nil
}

// took is how long a run has taken; of one that goes on, how long until now.
func took(r api.Run, now time.Time) string {
	end := now
	if r.Ended != nil {
		end = *r.Ended
	}
	return duration(end.Sub(r.Started))
}

// duration is a time as people say it.
func duration(d time.Duration) string {
	switch {
	case d < 0: // clocks differ
		return "?"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min " + strconv.Itoa(int(d.Seconds())%60) + " s"
	}
	return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
}

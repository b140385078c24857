package web

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/sessions"
)

// hostList is the table of hosts.
type hostList struct {
	Filter  url.Values
	Facets  []facet
	Rows    []hostRow
	Total   int    // of all pages
	Next    string // where the list goes on
	Command string // that lists the same; empty: there is none
	IsAll   bool   // nothing is filtered
}

// facet is one filter with its words.
type facet struct {
	Name, Title string
	Words       []option
	Value       string
}

// hostRow is one host.
type hostRow struct {
	Name, ID, State string
	Labels          map[string]string
	Reach           string
	Seen            time.Time
	Sites           []hostSite
	Changed         time.Time
}

// Key is by what its page is found: another host may have, or get, the name of one that is pending or revoked.
func (h hostRow) Key() string {
	if h.State == "pending" || h.State == "revoked" {
		return h.ID
	}
	return h.Name
}

// hostSite is how a host stands with a site.
type hostSite struct {
	Name, Revision, Progress, Readiness, Phase, Reason string
}

// group is a label, and how many hosts have each of its values.
type group struct {
	Label  string
	Values []share
}

// groups are hosts by their labels.
func (p *Pages) groups(v *view) (*page, error) {
	status, err := get[api.FleetStatus](v, "/v1/status", url.Values{"labels": {"true"}})
	if err != nil {
		return nil, err
	}
	var list []group
	for _, label := range slices.Sorted(maps.Keys(status.Labels)) {
		g := group{Label: label}
		for _, value := range slices.Sorted(maps.Keys(status.Labels[label])) {
			g.Values = append(g.Values, share{Word: value, Count: status.Labels[label][value], Path: link("/hosts", "select", label+"="+value)})
		}
		list = append(list, g)
	}
	return &page{Template: "groups", Title: "Groups of hosts", Section: "hosts", Data: list}, nil
}

// hostFilters are the filters of the list in the API that the page has, too.
func hostFilters() []string {
	return []string{"words", "select", "site", "state", "reachability", "delivery", "readiness", "phase", "question", "drift"}
}

func (p *Pages) registerHosts() {
	p.show("/hosts", p.hosts)
	p.show("/groups", p.groups)
	p.registerSelection()
	p.registerSelectionAsks()
}

func (p *Pages) hosts(v *view) (*page, error) {
	filter := v.filter(hostFilters()...)
	query := maps.Clone(filter)
	query.Set("count", "true")
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.HostList](v, "/v1/hosts", query)
	if err != nil {
		return nil, err
	}
	l := &hostList{Filter: filter, IsAll: len(filter) == 0, Command: hostCommand(filter), Facets: []facet{
		facetOf(filter, "readiness", "State", "ready", "not-ready", "unknown"),
		facetOf(filter, "delivery", "Delivery", "adopted", "held", "pending"),
		facetOf(filter, "reachability", "Reachability", "connected", "silent", "lost"),
		facetOf(filter, "drift", "Drift", "none", "drifted", "mended"),
		facetOf(filter, "phase", "Phase", "waiting", "discovering", "validating", "applying", "retrying", "reverting", "blocked", "help", "removing"),
		facetOf(filter, "state", "Enrolment", "active", "approved", "pending", "locked", "revoked"),
	}}
	if list.Total != nil {
		l.Total = *list.Total
	}
	for i := range list.Items {
		l.Rows = append(l.Rows, hostRowOf(&list.Items[i]))
	}
	if list.Next != "" {
		filter := maps.Clone(filter)
		filter.Set("cursor", list.Next)
		l.Next = "/hosts?" + filter.Encode()
	}
	return &page{Template: "hosts", Title: "Hosts", Section: "hosts", Data: l, Live: []string{"host.loop", "host.run", "host.changed"}}, nil
}

// filter gives those parameters of the page's address that have a value, as the API takes them.
func (v *view) filter(names ...string) url.Values {
	filter, query := url.Values{}, v.r.URL.Query()
	for _, name := range names {
		for _, value := range query[name] {
			if value != "" {
				filter.Add(name, value)
			}
		}
	}
	return filter
}

func facetOf(filter url.Values, name, title string, words ...string) facet {
	f := facet{Name: name, Title: title, Value: filter.Get(name)}
	for _, word := range words {
		f.Words = append(f.Words, option{word, word})
	}
	return f
}

func hostRowOf(h *api.ListedHost) hostRow {
	row := hostRow{Name: h.Name, ID: string(h.ID), State: string(h.State), Labels: h.Labels}
	if h.Changed != nil {
		row.Changed = *h.Changed
	}
	if h.Status == nil {
		return row
	}
	row.Reach, row.Seen = string(h.Status.Reachability.Reach()), h.Status.Reachability.Seen
	for _, name := range slices.Sorted(maps.Keys(h.Status.Sites)) {
		row.Sites = append(row.Sites, hostSiteOf(name, h.Status.Sites[name]))
	}
	return row
}

func hostSiteOf(name string, s *sessions.SiteStatus) hostSite {
	h := hostSite{Name: name, Revision: s.Delivery.Revision, Progress: string(s.Delivery.Progress()), Readiness: string(s.Readiness()), Reason: s.Delivery.Pending}
	if s.Loop != nil {
		h.Phase = string(s.Loop.Phase)
		if s.Loop.Reason != "" {
			h.Reason = s.Loop.Reason
		}
	}
	return h
}

// hostCommand is the command that lists the same hosts; empty: there is none.
func hostCommand(filter url.Values) string {
	if filter.Has("question") {
		return ""
	}
	argv := []string{"tenet", "host", "list"}
	for _, name := range []string{"site", "state", "reachability", "delivery", "readiness", "phase", "drift", "words"} {
		for _, value := range filter[name] {
			argv = append(argv, "--"+name, value)
		}
	}
	if s := filter.Get("select"); s != "" {
		argv = append(argv, s)
	}
	return commandLine(argv...)
}

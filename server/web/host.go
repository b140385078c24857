package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
)

// hostPage is all that is known of a host.
type hostPage struct {
	Host   enroll.Host
	Status api.HostStatus
	Tab    string
	Sites  []siteOfHost
	Alike  string // its name as a selector

	Parts  *partList
	Runs   *runList
	Facts  *factList
	Now    *api.HostNow
	NowWhy *api.Problem // why it has not answered
	Drift  *driftPage
}

// siteOfHost is how a host stands with one site.
type siteOfHost struct {
	Name string
	*sessions.SiteStatus
	Pin     *deploy.Pin  // nil: it follows what is deployed
	Cluster *api.Cluster // that it is in; nil: none
	Parts   *newestParts // nil: the newest run has changed nothing, and nothing has failed
}

// newestParts are what the newest run of a site has changed, and what has failed there.
type newestParts struct {
	Title string
	Rows  []runRow
	Path  string // to the run
	Link  string
}

// Path is that of its page.
func (h *hostPage) Path(more ...string) string {
	return route(append([]string{"hosts", h.Name()}, more...)...)
}

// Name is by what its page is found: of one that is pending another one may have the name.
func (h *hostPage) Name() string {
	if h.Host.State == "pending" || h.Host.State == "revoked" {
		return string(h.Host.ID)
	}
	return h.Host.Name
}

// tabs are the parts of the page of a host.
func tabs() []option {
	return []option{{"", "State"}, {"parts", "Parts"}, {"drift", "Drift"}, {"runs", "Runs"}, {"now", "Ask"}, {"facts", "Facts"}, {"keys", "Identity"}}
}

// Tabs lists them as links.
func (h *hostPage) Tabs() []navigation {
	list := []navigation{}
	for _, t := range tabs() {
		list = append(list, navigation{link(h.Path(), "tab", t.Value), t.Label, h.Tab == t.Value})
	}
	return list
}

func (p *Pages) registerHost() {
	p.show("/hosts/{name}", p.host)
	p.registerHostActs()
	p.registerHostDrift()
}

func (p *Pages) host(v *view) (*page, error) {
	h, err := v.hostOf(v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	h.Tab = v.r.URL.Query().Get("tab")
	if !slices.ContainsFunc(tabs(), func(t option) bool { return t.Value == h.Tab }) {
		h.Tab = ""
	}
	shown := h.page()
	switch h.Tab {
	case "parts":
		h.Parts, err = v.partsOf(h)
	case "runs":
		filter := v.filter("outcome", "site", "before")
		filter.Set("host", string(h.Host.ID))
		h.Runs, err = v.runsOf(filter, h.Path())
	case "facts":
		h.Facts, err = v.factsOf(h.Name())
	case "now":
		err = v.askNow(h)
		shown.Live = nil // each look asks the host
	case "drift":
		h.Drift = driftOf(h, v.r.URL.Query().Get("site"))
		shown.Live = nil // what it has answered is not there any more when the page is loaded again
	case "":
		if err = v.addPins(h); err == nil {
			err = v.addNewest(h)
		}
		if err == nil {
			h.Runs, err = v.runsOf(url.Values{"host": {string(h.Host.ID)}, "limit": {"6"}}, h.Path())
		}
	}
	return shown, err
}

// page shows it.
func (h *hostPage) page() *page {
	return &page{Template: "host", Title: h.Host.Name, Section: "hosts", Data: h, Live: []string{"host.loop", "host.run", "host.changed"}, LiveHost: string(h.Host.ID)}
}

// hostOf gives a host and how it stands.
func (v *view) hostOf(name string) (*hostPage, error) {
	h := &hostPage{}
	var err error
	if h.Host, err = get[enroll.Host](v, route("v1", "hosts", name), nil); err != nil {
		return nil, err
	}
	h.Alike = h.Host.Name
	if h.Status, err = get[api.HostStatus](v, route("v1", "hosts", string(h.Host.ID), "status"), nil); err != nil && !isNothing(err) {
		return nil, err
	}
	for _, site := range slices.Sorted(maps.Keys(h.Status.Sites)) {
		h.Sites = append(h.Sites, siteOfHost{Name: site, SiteStatus: h.Status.Sites[site]})
	}
	slices.SortStableFunc(h.Sites, func(a, b siteOfHost) int { return cmp.Compare(concern(&a), concern(&b)) })
	return h, nil
}

// concern orders sites: first the one at which somebody should look.
func concern(s *siteOfHost) int {
	switch {
	case s.Readiness() == sessions.NotReady:
		return 0
	case s.Delivery.Pending != "":
		return 1
	}
	return 2
}

// addPins says of the sites of a host by which it is pinned, and in which cluster it is.
func (v *view) addPins(h *hostPage) error {
	for i := range h.Sites[:min(len(h.Sites), maxSitesAsked)] {
		s := &h.Sites[i]
		pins, err := get[api.List[deploy.Pin]](v, route("v1", "sites", s.Name, "pins"), url.Values{"host": {string(h.Host.ID)}})
		if err != nil && !isNothing(err) {
			return err
		}
		for _, pin := range pins.Items {
			if pin.Host == h.Host.ID {
				s.Pin = &pin
			}
		}
	}
	clusters, err := get[api.List[*api.Cluster]](v, "/v1/clusters", url.Values{"host": {h.Host.Name}, "parts": {"none"}})
	if err != nil && !isNothing(err) {
		return err
	}
	for _, c := range clusters.Items {
		for i := range h.Sites {
			if h.Sites[i].Name == c.Site {
				h.Sites[i].Cluster = c
			}
		}
	}
	return nil
}

// maxNewest is how many parts of the newest run of a site are shown with how the host stands.
const maxNewest = 8

// addNewest adds what the newest run of each site has changed, or what has failed.
func (v *view) addNewest(h *hostPage) error {
	for i := range h.Sites[:min(len(h.Sites), maxSitesAsked)] {
		s := &h.Sites[i]
		if s.Report == nil || s.Report.Run == "" {
			continue
		}
		r := &runPage{}
		r.Run.Run.Run, r.Run.Run.Host, r.Run.Name = s.Report.Run, h.Host.ID, h.Name()
		query := url.Values{"type": {"part"}, "outcome": {"failed", "unknown"}, "limit": {digits(maxNewest)}}
		if s.Report.Ready {
			query["outcome"] = []string{"changed"}
		}
		part, err := v.lines(r, query)
		if err != nil && !isNothing(err) {
			return err
		}
		n := &newestParts{Title: "What has failed", Path: r.Path(), Link: "All of the run"}
		if s.Report.Ready {
			n.Title = "What the newest run has changed"
		}
		for k := range part.Items {
			if row, ok := r.rowOf(part.Items[k].Number, part.Items[k].Event); ok {
				row.IsOpen = row.Path == "" && k < 3
				n.Rows = append(n.Rows, row)
			}
		}
		if len(n.Rows) > 0 {
			s.Parts = n
		}
	}
	return nil
}

// maxSitesAsked is of how many sites of a host more is asked than how it stands with them.
const maxSitesAsked = 4

// askNow asks the host itself.
func (v *view) askNow(h *hostPage) error {
	now, err := get[api.HostNow](v, route("v1", "hosts", string(h.Host.ID), "now"), nil)
	if err == nil {
		h.Now = &now
		return nil
	}
	if h.NowWhy = problemOf(err); h.NowWhy == nil {
		return err
	}
	return nil
}

// KeyRows are the keys of a host, as they are compared by people.
func (h *hostPage) KeyRows() []factRow {
	rows := []factRow{{"Id", string(h.Host.ID)}}
	k := h.Host.Keys
	if k == nil {
		return rows
	}
	text := func(key any) string { data, _ := json.Marshal(key); return strings.Trim(string(data), `"`) } // keys have one
	return append(rows, factRow{"Identity key", text(k.Identity)}, factRow{"Connection key", text(k.Connection)}, factRow{"Sealing key", text(k.Sealing)})
}

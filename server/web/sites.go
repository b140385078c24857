package web

import (
	"net/url"
	"strconv"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
)

// siteList is the table of sites.
type siteList struct {
	Rows []api.Site
	Next string
}

// sitePage is one site.
type sitePage struct {
	Name        string
	Revisions   []revisionRow
	Deployments []*api.Deployment // the newest ones
	Policy      api.SitePolicy
	Pins        shortList[deploy.Pin]
	UnpinAll    string // a selector of all that are pinned, as far as they can be named
}

// revisionRow is a revision of the list of a site.
type revisionRow struct {
	api.Revision
	Wanted int // of so many hosts
	Phase  string
	// Deployment is the newest of this revision; 0: it was never deployed.
	Deployment int64
}

func (p *Pages) registerSites() {
	p.show("/sites", p.sites)
	p.show("/sites/{site}", p.site)
	p.show("/sites/{site}/revisions/{number}", p.revision)
	p.act("/sites/{site}/deploy", p.deploySite)
	p.act("/sites/{site}/policy", p.setPolicy)
}

func (p *Pages) sites(v *view) (*page, error) {
	query := url.Values{}
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.List[api.Site]](v, "/v1/sites", query)
	if err != nil {
		return nil, err
	}
	l := &siteList{Rows: list.Items}
	if list.Next != "" {
		l.Next = link("/sites", "cursor", list.Next)
	}
	return &page{Template: "sites", Title: "Sites", Section: "sites", Data: l, Live: []string{"deployment.changed", "source.changed"}}, nil
}

func (p *Pages) site(v *view) (*page, error) {
	name := v.r.PathValue("site")
	revisions, err := get[api.List[api.Revision]](v, route("v1", "sites", name, "revisions"), nil)
	if err != nil {
		return nil, err
	}
	wanted, err := get[api.List[deploy.Wanted]](v, route("v1", "sites", name, "targets"), nil)
	if err != nil {
		return nil, err
	}
	deployments, err := get[api.List[*api.Deployment]](v, "/v1/deployments", url.Values{"site": {name}, "limit": {"100"}})
	if err != nil {
		return nil, err
	}
	pins, err := get[api.List[deploy.Pin]](v, route("v1", "sites", name, "pins"), nil)
	if err != nil {
		return nil, err
	}
	policy, err := get[api.SitePolicy](v, route("v1", "sites", name, "policy"), nil)
	if err != nil {
		return nil, err
	}
	s := &sitePage{Policy: policy, Name: name, Deployments: deployments.Items[:min(10, len(deployments.Items))], UnpinAll: unpinAll(pins.Items)}
	s.Pins = shorten(v, "pins", pins.Items, func(p deploy.Pin) string { return p.Name + " revision " + p.Revision + " " + p.By + " " + p.Why })
	for _, r := range revisions.Items {
		row := revisionRow{Revision: r}
		for _, w := range wanted.Items {
			if w.Revision == r.Number {
				row.Wanted = w.Hosts
			}
		}
		if d := deploymentOfRevision(deployments.Items, r.Number); d != nil {
			row.Deployment, row.Phase = d.ID, d.Phase
		}
		s.Revisions = append(s.Revisions, row)
	}
	return &page{Template: "site", Title: name, Section: "sites", Data: s, Live: []string{"deployment.changed", "source.changed"}, LiveSite: name}, nil
}

// deploymentOfRevision is the newest of a list, which has the newest first; nil: there is none.
func deploymentOfRevision(list []*api.Deployment, number int64) *api.Deployment {
	for _, d := range list {
		if d.Revision == number {
			return d
		}
	}
	return nil
}

// Newest is the number of the newest revision.
func (s *sitePage) Newest() int64 {
	if len(s.Revisions) == 0 {
		return 0
	}
	return s.Revisions[0].Number
}

// unpinAll is a selector of hosts that are pinned: of all hosts where they are too many to be named.
func unpinAll(pins []deploy.Pin) string {
	var names []string
	for _, pin := range pins {
		names = append(names, pin.Name)
	}
	return selectorOf(names, "*")
}

// number reads a number from 1; 0: it is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

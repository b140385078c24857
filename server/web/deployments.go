package web

import (
	"maps"
	"net/url"

	"github.com/tenetcm/tenet/server/api"
)

// deploymentList is the table of deployments.
type deploymentList struct {
	Filter  url.Values
	Phase   facet
	Rows    []*api.Deployment
	Next    string
	Command string // that lists the same; empty: there is none
	IsAll   bool
}

func (p *Pages) registerDeployments() {
	p.show("/deployments", p.deployments)
	p.show("/deployments/{id}", p.deployment)
	p.registerDeploymentActs()
}

// deploymentPhases are those of deployments, as they follow each other.
func deploymentPhases() []string {
	return []string{"planned", "rolling", "paused", "done", "failed", "aborted", "superseded"}
}

func (p *Pages) deployments(v *view) (*page, error) {
	filter := v.filter("site", "phase")
	query := maps.Clone(filter)
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.List[*api.Deployment]](v, "/v1/deployments", query)
	if err != nil {
		return nil, err
	}
	l := &deploymentList{Filter: filter, Phase: facetOf(filter, "phase", "Phase", deploymentPhases()...), Rows: list.Items, IsAll: len(filter) == 0}
	argv := []string{"tenet", "deployments", "list"}
	if site := filter.Get("site"); site != "" {
		argv = append(argv, "--site", site)
	}
	if !filter.Has("phase") { // it has no such filter
		l.Command = commandLine(argv...)
	}
	if list.Next != "" {
		query.Set("cursor", list.Next)
		l.Next = "/deployments?" + query.Encode()
	}
	return &page{Template: "deployments", Title: "Deployments", Section: "deployments", Data: l, Live: []string{"deployment.changed"}, LiveSite: filter.Get("site")}, nil
}

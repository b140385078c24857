package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// clustersShown is how many clusters a page has: each may have many hosts, and parts of these.
const clustersShown = 50

// clusterList is a page of clusters.
type clusterList struct {
	Filter url.Values
	State  facet
	Rows   []clusterRow
	Next   string
	IsAll  bool
}

// clusterRow is a cluster with its members.
type clusterRow struct {
	*api.Cluster
	Members []memberRow
}

// memberRow is a host of a cluster.
type memberRow struct {
	cluster.PeerReport
	IsLeader  bool
	Unsettled []states.PartReport // parts that are not as they are wanted
}

func (p *Pages) registerClusters() {
	p.show("/clusters", p.clusters)
	p.act("/sites/{site}/clusters/{cluster}/undeploy", p.undeployCluster)
}

func (p *Pages) clusters(v *view) (*page, error) {
	filter := v.filter("words", "state")
	query := maps.Clone(filter)
	query.Set("limit", strconv.Itoa(clustersShown))
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.List[*api.Cluster]](v, "/v1/clusters", query)
	if err != nil {
		return nil, err
	}
	l := &clusterList{Filter: filter, State: facetOf(filter, "state", "State", "waiting", "deploying", "deployed", "failed", "undeploying", "undeployed"), IsAll: len(filter) == 0}
	for _, c := range list.Items {
		row := clusterRow{Cluster: c}
		for _, peer := range c.Peers {
			row.Members = append(row.Members, memberRow{peer, peer.Host == c.Leader, peer.Unsettled()})
		}
		l.Rows = append(l.Rows, row)
	}
	if list.Next != "" {
		next := maps.Clone(filter)
		next.Set("cursor", list.Next)
		l.Next = "/clusters?" + next.Encode()
	}
	return &page{Template: "clusters", Title: "Clusters", Section: "clusters", Data: l, Live: []string{"cluster.changed", "deployment.changed"}}, nil
}

// CanUndeploy tells whether there is anything to be taken away.
func (c clusterRow) CanUndeploy() bool {
	return c.State != cluster.Undeployed && c.State != cluster.Undeploying
}

func (p *Pages) undeployCluster(v *view) (*act, error) {
	site, name := v.r.PathValue("site"), v.r.PathValue("cluster")
	list, err := get[api.List[*api.Cluster]](v, route("v1", "sites", site, "clusters"), url.Values{"name": {name}})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(c *api.Cluster) bool { return c.Cluster == name })
	if i < 0 {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "The site " + site + " has no cluster " + name + ".", Hint: "The page of clusters lists them."}
	}
	var members, away []string
	parts := 0
	for _, peer := range list.Items[i].Peers {
		if peer.Membership != cluster.IsMember && peer.Membership != cluster.Leaving {
			continue
		}
		members, parts = append(members, peer.Host), parts+len(peer.Parts)
		if !peer.Connected {
			away = append(away, peer.Host)
		}
	}
	a := &act{Title: "Undeploy the cluster " + name + " of " + site, Button: "Undeploy", IsGrave: true, Back: "/clusters", Fields: []field{reason()}, Command: []string{"tenet", "undeploy", site, "cluster." + name},
		Effects: []string{sentenceOf(members, "lose what the cluster has made there, "+count(parts, "part")+" in all")}}
	if len(away) > 0 {
		a.Effects = append(a.Effects, sentenceOf(away, "are away: it goes when they are back"))
	}
	a.Effects = append(a.Effects, "The next deployment of "+site+" brings it back.")
	a.Do = func(form url.Values) (string, error) {
		return "The cluster " + name + " of " + site + " is being taken away.", v.send(http.MethodPost, route("v1", "sites", site, "clusters", name, "undeploy"), map[string]any{"reason": form.Get("reason")}, nil)
	}
	return a, nil
}

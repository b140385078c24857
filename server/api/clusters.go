package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// Cluster is how a cluster stands, and each of its hosts.
type Cluster cluster.Overview

type undeployInput struct {
	SiteName
	Cluster string `path:"cluster" maxLength:"200"`
	Body    struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

// ClusterFilter is the input of operations that list clusters.
type ClusterFilter struct {
	Page
	Name  string          `query:"name" maxLength:"200" doc:"Only those of this name."`
	State []cluster.State `query:"state" maxItems:"6" enum:"undeployed,waiting,deploying,deployed,undeploying,failed" doc:"Only those that stand so."`
	Words string          `query:"words" maxLength:"400" doc:"Only those for which each of these words, ten at most, occurs in the name, with its site before it, the state, or the name of a host; capital letters count as small ones."`
	Parts string          `query:"parts" enum:"all,none" default:"all" doc:"Whether what each host has by the cluster is shown, and that some of it has failed."`
}

type siteClustersInput struct {
	SiteName
	ClusterFilter
}

type clustersInput struct {
	ClusterFilter
	Host string `query:"host" maxLength:"200" doc:"Only those of this host, by its name."`
}

type clusterOutput struct{ Body *Cluster }

func (a *API) registerClusters() {
	op := func(id, method, path, summary, description string, verb access.Verb, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "sites", Summary: summary, Description: description, Scope: Somewhere, Verb: verb, Codes: append(codes, access.CodeForbidden)}
	}
	Register(a, op("list-clusters", http.MethodGet, "/v1/sites/{site}/clusters", "List the clusters of a site.", "By name: how each stands, for whom it waits, and its hosts.", access.Read, codeCursor),
		func(ctx context.Context, c *access.Caller, in *siteClustersInput) (*ListOutput[*Cluster], error) {
			return a.clusters(ctx, c, &in.ClusterFilter, deploy.ClusterFilter{Site: in.Site})
		})
	Register(a, op("list-all-clusters", http.MethodGet, "/v1/clusters", "List the clusters of all sites.", "By site and name, those that the caller may read: how each stands, for whom it waits, and its hosts.", access.Read, codeCursor),
		func(ctx context.Context, c *access.Caller, in *clustersInput) (*ListOutput[*Cluster], error) {
			return a.clusters(ctx, c, &in.ClusterFilter, deploy.ClusterFilter{Host: in.Host})
		})
	Register(a, op("undeploy-cluster", http.MethodPost, "/v1/sites/{site}/clusters/{cluster}/undeploy", "Take a cluster away from its hosts.",
		"What it has made goes, on hosts that are away when they are back. The next deployment of the site brings it back. Answers how it stood.", access.Deploy, deploy.ErrNotFound, deploy.ErrPhase, deploy.ErrPolicy),
		func(ctx context.Context, c *access.Caller, in *undeployInput) (*clusterOutput, error) {
			s, err := a.deployments()
			if err != nil {
				return nil, err
			}
			r, err := s.Undeploy(ctx, c, in.Site, in.Cluster, in.Body.Reason)
			if err != nil {
				return nil, err
			}
			return &clusterOutput{(*Cluster)(r)}, nil
		})
}

// clusters lists those of a site or of a host; without one, of all.
func (a *API) clusters(ctx context.Context, c *access.Caller, in *ClusterFilter, f deploy.ClusterFilter) (*ListOutput[*Cluster], error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	wanted := wordsOf(in.Words)
	list := fmt.Sprintf("list-clusters %q %q %q %q %q", f.Site, f.Host, in.Name, in.State, wanted)
	if _, err := a.ReadCursor(c, list, in.Cursor, &f.After); err != nil {
		return nil, err
	}
	f.Name, f.NoParts, f.Limit = in.Name, in.Parts == "none", in.Limit+1
	f.Fits = func(o *cluster.Overview) bool {
		return fitsOne(in.State, o.State) && (len(wanted) == 0 || len(wanted.without(clusterText(o), nil)) == 0)
	}
	found, err := s.Clusters(ctx, c, f)
	if err != nil {
		return nil, err
	}
	var out []*Cluster
	for _, one := range found {
		out = append(out, (*Cluster)(one))
	}
	return NewPage(a, c, list, in.Limit, out, func(one *Cluster) any { return deploy.ClusterPlace{Site: one.Site, Name: one.Cluster} })
}

// clusterText is by what a cluster is found.
func clusterText(o *cluster.Overview) string {
	words := []string{o.Site + "/" + o.Cluster, string(o.State)}
	for i := range o.Peers {
		words = append(words, o.Peers[i].Host)
	}
	return strings.ToLower(strings.Join(words, "\n"))
}

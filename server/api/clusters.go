package api

import (
	"context"
	"net/http"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// Cluster is how a cluster stands, and each of its hosts.
type Cluster cluster.Overview

type clustersOutput struct{ Body List[*Cluster] }

type undeployInput struct {
	SiteName
	Cluster string `path:"cluster" maxLength:"200"`
	Body    struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type clustersInput struct {
	Host string `query:"host" maxLength:"200" doc:"Only those of this host, by its name."`
}

type clusterOutput struct{ Body *Cluster }

func (a *API) registerClusters() {
	op := func(id, method, path, summary, description string, verb access.Verb, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "sites", Summary: summary, Description: description, Scope: Somewhere, Verb: verb, Codes: append(codes, access.CodeForbidden)}
	}
	Register(a, op("list-clusters", http.MethodGet, "/v1/sites/{site}/clusters", "List the clusters of a site.", "By name: how each stands, for whom it waits, and its hosts.", access.Read),
		func(ctx context.Context, c *access.Caller, in *SiteName) (*clustersOutput, error) {
			return a.clusters(ctx, c, in.Site, "")
		})
	Register(a, op("list-all-clusters", http.MethodGet, "/v1/clusters", "List the clusters of all sites.", "By site and name, those that the caller may read: how each stands, for whom it waits, and its hosts.", access.Read),
		func(ctx context.Context, c *access.Caller, in *clustersInput) (*clustersOutput, error) {
			return a.clusters(ctx, c, "", in.Host)
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

// clusters lists those of a site and of a host; without one, of all.
func (a *API) clusters(ctx context.Context, c *access.Caller, site, host string) (*clustersOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	list, err := s.ClustersOf(ctx, c, site, host)
	if err != nil {
		return nil, err
	}
	out := &clustersOutput{List[*Cluster]{Items: []*Cluster{}}}
	for _, one := range list {
		out.Body.Items = append(out.Body.Items, (*Cluster)(one))
	}
	return out, nil
}

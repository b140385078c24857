package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/tenetcm/tenet/runtime/cluster"
)

// Clusters tells how the clusters of a site stand, by name.
func (c *Client) Clusters(ctx context.Context, site string) iter.Seq2[*cluster.Overview, error] {
	return Items[*cluster.Overview](ctx, c, "/v1/sites/"+url.PathEscape(site)+"/clusters", nil)
}

// Undeploy takes a cluster away from its hosts, and gives how it stood.
func (c *Client) Undeploy(ctx context.Context, site, name, reason string) (*cluster.Overview, error) {
	r, err := Call[cluster.Overview](ctx, c, http.MethodPost, "/v1/sites/"+url.PathEscape(site)+"/clusters/"+url.PathEscape(name)+"/undeploy", nil, map[string]any{"reason": reason})
	return &r, err
}

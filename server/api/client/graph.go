package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tenetcm/tenet/states"
)

// HostGraph is what is wanted of a host for a site, for drawing.
type HostGraph struct {
	Site     string                `json:"site"`
	Revision int64                 `json:"revision"`  // of the site
	StateRun string                `json:"state_run"` // the revision of the StateRun
	Target   bool                  `json:"target"`    // it is what is wanted now
	Nodes    int                   `json:"nodes"`     // how many there are in all
	Shown    []states.OutlineNode  `json:"shown"`
	Arrows   []states.OutlineArrow `json:"arrows"` // between those that are shown
}

// GraphFilter says which nodes are shown; what is empty says nothing.
type GraphFilter struct {
	Around   string // a node or a part
	Depth    int    // steps from there; 0: 1
	Contains string
	Limit    int
}

// HostGraph shows what is wanted of a host for a site.
func (c *Client) HostGraph(ctx context.Context, host, site string, f GraphFilter) (*HostGraph, error) {
	query := url.Values{}
	for name, value := range map[string]string{"around": f.Around, "contains": f.Contains} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, n := range map[string]int{"depth": f.Depth, "limit": f.Limit} {
		if n > 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	return Call[*HostGraph](ctx, c, http.MethodGet, hostPath(host)+"/sites/"+url.PathEscape(site)+"/graph", query, nil)
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// SitePolicy is what every deployment of a site has to have, whoever asks for it.
type SitePolicy struct {
	Site string `json:"site"`
	Demands
	By       string     `json:"by,omitempty"`
	At       *time.Time `json:"at,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Demanded Demands    `json:"demanded"` // in all: by the policy of all sites, too
}

// Demands is what policies demand: that another person approves the plan of a deployment, that an operator has signed it.
type Demands struct {
	Approvals bool `json:"approvals"`
	Signed    bool `json:"signed"`
}

// Policy shows the policy of a site.
func (c *Client) Policy(ctx context.Context, site string) (SitePolicy, error) {
	return Call[SitePolicy](ctx, c, http.MethodGet, "/v1/sites/"+url.PathEscape(site)+"/policy", nil, nil)
}

// SetPolicy sets it; the site "*" stands for all of them.
func (c *Client) SetPolicy(ctx context.Context, site string, d Demands, reason string) (SitePolicy, error) {
	return Call[SitePolicy](ctx, c, http.MethodPut, "/v1/sites/"+url.PathEscape(site)+"/policy", nil, map[string]any{"approvals": d.Approvals, "signed": d.Signed, "reason": reason})
}

package client

import (
	"context"
	"net/http"
)

// ServerStatus is how the server itself stands.
type ServerStatus struct {
	Version    string `json:"version"`
	Term       uint64 `json:"term"`
	Standby    bool   `json:"standby"`
	Recovering bool   `json:"recovering"`
	Broker     struct {
		Kind      string `json:"kind"`
		Connected bool   `json:"connected"`
		Reason    string `json:"reason,omitempty"`
	} `json:"broker"`
	Unknown []struct {
		ID    string   `json:"id"`
		Name  string   `json:"name"`
		Sites []string `json:"sites"`
	} `json:"unknown"`
}

// ServerStatus tells how the server stands.
func (c *Client) ServerStatus(ctx context.Context) (ServerStatus, error) {
	return Call[ServerStatus](ctx, c, http.MethodGet, "/v1/server", nil, nil)
}

// ResumeServer has a restored server deliver again.
func (c *Client) ResumeServer(ctx context.Context, reason string) (ServerStatus, error) {
	return Call[ServerStatus](ctx, c, http.MethodPost, "/v1/server/resume", nil, map[string]string{"reason": reason})
}

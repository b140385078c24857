package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tenetcm/tenet/states"
)

// HostDrift is what differs on a host from what is wanted of it for a site.
type HostDrift struct {
	At   time.Time      `json:"at"`   // when it has looked
	Rows []states.Event `json:"rows"` // what it would do, as in a plan
}

// AskDrift has a host look what differs from what is wanted of it for a site. It changes nothing.
func (c *Client) AskDrift(ctx context.Context, host, site, reason string) (*HostDrift, error) {
	return Call[*HostDrift](ctx, c, http.MethodPost, hostPath(host)+"/sites/"+url.PathEscape(site)+"/drift", nil, map[string]string{"reason": reason})
}

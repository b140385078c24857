package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// Run is a run of a host.
type Run struct {
	Host     trust.ID       `json:"host"`
	Name     string         `json:"name"` // of the host
	Run      string         `json:"run"`
	Site     string         `json:"site"`
	Revision string         `json:"revision"`
	Started  time.Time      `json:"started"`
	Ended    *time.Time     `json:"ended,omitempty"` // nil: it goes on
	Failed   bool           `json:"failed"`
	Counts   *states.Counts `json:"counts,omitempty"`
	Error    string         `json:"error,omitempty"`
	Outcome  string         `json:"outcome"` // running, failed, changed or unchanged
}

// RunFilter says which runs are listed; what is empty says nothing.
type RunFilter struct {
	Select        string // a selector of hosts
	Host          string // by its id or its name
	Site, Outcome string
	Before        time.Time // when they began
}

// Runs lists the runs of all hosts, the newest first.
func (c *Client) Runs(ctx context.Context, f RunFilter) iter.Seq2[Run, error] {
	query := url.Values{}
	for name, value := range map[string]string{"select": f.Select, "host": f.Host, "site": f.Site, "outcome": f.Outcome} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !f.Before.IsZero() {
		query.Set("before", f.Before.Format(time.RFC3339Nano))
	}
	return Items[Run](ctx, c, "/v1/runs", query)
}

package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/states"
)

// RunDetail is a run with what was there at its end.
type RunDetail struct {
	Run
	Lines  int64      `json:"lines"`            // how many events it has told
	Report *RunReport `json:"report,omitempty"` // of the newest run of a host for a site
}

// RunReport is the report of a run by its parts.
type RunReport struct {
	At     time.Time           `json:"at"`
	Ready  bool                `json:"ready"`
	States map[string]int      `json:"states"` // all parts by their state
	Fits   int                 `json:"fits"`   // parts by the filter
	Parts  []states.PartReport `json:"parts"`
}

// PartFilter says which parts of a report are given; what is empty says nothing.
type PartFilter struct {
	State        []string
	Changed      bool // by the run
	After, Limit int
}

// RunLine is an event of a run with its number.
type RunLine struct {
	Number int64           `json:"line"`
	Event  json.RawMessage `json:"event"`
}

// RunLines are a part of the events of a run.
type RunLines struct {
	Items []RunLine `json:"items"`
	Next  int64     `json:"next,omitempty"` // the line after which it goes on; 0: there are no more
	Total int64     `json:"total"`
}

// LineFilter says which events of a run are given; what is empty says nothing.
type LineFilter struct {
	After             int64
	Limit             int
	Types, Outcomes   []string
	Address, Contains string
}

func runPath(host, run string) string { return hostPath(host) + "/runs/" + url.PathEscape(run) }

// RunOf shows a run of a host.
func (c *Client) RunOf(ctx context.Context, host, run string, f PartFilter) (*RunDetail, error) {
	query := url.Values{}
	for name, n := range map[string]int{"after": f.After, "limit": f.Limit} {
		if n > 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	setList(query, "state", f.State)
	if f.Changed {
		query.Set("changed", "true")
	}
	return Call[*RunDetail](ctx, c, http.MethodGet, runPath(host, run), query, nil)
}

// RunLines gives a part of the events of a run.
func (c *Client) RunLines(ctx context.Context, host, run string, f LineFilter) (RunLines, error) {
	query := url.Values{}
	for name, n := range map[string]int64{"after": f.After, "limit": int64(f.Limit)} {
		if n > 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	setList(query, "type", f.Types)
	setList(query, "outcome", f.Outcomes)
	for name, value := range map[string]string{"address": f.Address, "contains": f.Contains} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return Call[RunLines](ctx, c, http.MethodGet, runPath(host, run)+"/lines", query, nil)
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// HostStatus is how a host stands: when it was heard of, and how it stands with each site that wants something of it.
type HostStatus struct {
	Reachability Reachability           `json:"reachability"`
	Sites        map[string]*SiteStatus `json:"sites"`
	Program      *trust.Running         `json:"program,omitempty"` // that its agent runs, as it said last
	Refused      string                 `json:"refused,omitempty"` // why its agent is not listened to
	Release      string                 `json:"release,omitempty"` // the version that it is to run
	Update       *control.Update        `json:"update,omitempty"`  // how far it is with a release, as it said last
	Limit        *Limit                 `json:"limit,omitempty"`   // nil: what it tells is taken in
	Trouble      []Objection            `json:"trouble,omitempty"` // what keeps the host from taking up or telling anything
}

// Objection is why a host has not taken up what it was given.
type Objection struct {
	control.Objection
	Since time.Time `json:"since"`
}

// Limit is why nothing that a host tells is taken in until later.
type Limit struct {
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when its agent is to try again
}

// Reachability tells when a host was heard of.
type Reachability struct {
	Connected bool      `json:"connected"`
	Seen      time.Time `json:"seen,omitzero"`
	Lost      bool      `json:"lost"` // it was silent for too long
}

// Delivery says how far what is wanted of a host has come.
type Delivery struct {
	Target   *trust.Position `json:"target,omitempty"`
	Revision string          `json:"revision,omitempty"`
	Since    time.Time       `json:"since,omitzero"`
	Held     *trust.Position `json:"held,omitempty"`
	Adopted  bool            `json:"adopted"`           // the loop has taken it up
	Pending  string          `json:"pending,omitempty"` // why it has not come to the host
	Refused  *Objection      `json:"refused,omitempty"` // what the host has against it
	Absent   bool            `json:"absent,omitempty"`
}

// SiteStatus is how a host stands with a site.
type SiteStatus struct {
	Delivery Delivery      `json:"delivery"`
	Loop     *control.Loop `json:"loop,omitempty"`
	Since    time.Time     `json:"since,omitzero"`
	Report   *ReportStatus `json:"report,omitempty"`
}

// ReportStatus is what the newest report of a host comes to.
type ReportStatus struct {
	Run      string    `json:"run"`
	Revision string    `json:"revision"`
	Ready    bool      `json:"ready"`
	At       time.Time `json:"at"`
	Changed  time.Time `json:"changed,omitzero"` // when a run ended last that has changed something
	Mended   time.Time `json:"mended,omitzero"`  // when one has put right what was as wanted before
}

// Standing counts sites of hosts by how they stand.
type Standing struct {
	Delivery  map[string]int `json:"delivery"`
	Readiness map[string]int `json:"readiness"`
	Phases    map[string]int `json:"phases"`
	Drift     map[string]int `json:"drift"`
}

// FleetStatus counts hosts by how they stand; what is about a site counts each site of a host for itself.
type FleetStatus struct {
	States       map[string]int `json:"states"`
	Reachability map[string]int `json:"reachability"`
	Standing
	Questions int                       `json:"questions"` // hosts on which a person is to decide
	Sites     map[string]*Standing      `json:"sites"`
	Labels    map[string]map[string]int `json:"labels,omitempty"` // hosts by label and value, where that was asked for
}

// StatusQuery says which hosts are counted, and by what; what is empty says nothing.
type StatusQuery struct {
	Select string // a selector
	Site   string
	Labels bool // by labels, too
}

// Status counts the hosts that a selector names, as far as a site goes; empty: all of them.
func (c *Client) Status(ctx context.Context, selector, site string) (FleetStatus, error) {
	return c.FleetStatus(ctx, StatusQuery{Select: selector, Site: site})
}

// FleetStatus counts hosts.
func (c *Client) FleetStatus(ctx context.Context, q StatusQuery) (FleetStatus, error) {
	query := url.Values{}
	if q.Select != "" {
		query.Set("select", q.Select)
	}
	if q.Site != "" {
		query.Set("site", q.Site)
	}
	if q.Labels {
		query.Set("labels", "true")
	}
	return Call[FleetStatus](ctx, c, http.MethodGet, "/v1/status", query, nil)
}

// HostStatus tells how a host stands, by its id or its name.
func (c *Client) HostStatus(ctx context.Context, host string) (HostStatus, error) {
	return Call[HostStatus](ctx, c, http.MethodGet, hostPath(host)+"/status", nil, nil)
}

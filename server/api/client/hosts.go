package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// HostDifference is something that is another with a host that asks for the name of another one.
type HostDifference struct {
	What string `json:"what"`
	Held string `json:"held"`
	Asks string `json:"asks"`
}

// ReplacedHost is the host whose name another one wants.
type ReplacedHost struct {
	ID         trust.ID         `json:"id"`
	State      string           `json:"state"`
	RenewedAt  *time.Time       `json:"renewed_at,omitempty"`
	Difference []HostDifference `json:"difference"`
}

// Host is one that has asked a server to be taken in, and what has become of it.
type Host struct {
	ID        trust.ID          `json:"id"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	State     string            `json:"state"`
	Reason    string            `json:"reason,omitempty"`
	Keys      *trust.HostKeys   `json:"keys"`
	Token     string            `json:"token"`
	Source    string            `json:"source"`
	AskedAt   time.Time         `json:"asked_at"`
	DecidedAt *time.Time        `json:"decided_at,omitempty"`
	DecidedBy string            `json:"decided_by,omitempty"`
	RenewedAt *time.Time        `json:"renewed_at,omitempty"`
	CopiedAt  *time.Time        `json:"copied_at,omitempty"`
	Question  bool              `json:"question,omitempty"`
	Successor string            `json:"successor,omitempty"`
	EndedAt   *time.Time        `json:"ended_at,omitempty"`
	Replaces  *ReplacedHost     `json:"replaces,omitempty"`
	Status    *HostStatus       `json:"status,omitempty"` // of a host of a list
	// Changed is, of a host of a list, when a run ended last that has changed something; nil: it is not known.
	Changed *time.Time `json:"changed,omitempty"`
}

// HostFilter says which hosts are listed; what is empty says nothing.
type HostFilter struct {
	Select string // a selector
	State  string
	Prefix string // of names
	// Question says that only those are listed on which a person has to decide, since copies of many were noticed.
	Question bool
	// By how they stand: see the API for the words; empty: whatever it is.
	Site, Reachability, Delivery, Readiness, Drift, Phase string
	// Words have to occur, each of them, in what is known of a host.
	Words string
}

// HostApproval says as what a host is taken in; what is empty: as it asks.
type HostApproval struct {
	Name    string            `json:"name,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Replace bool              `json:"replace,omitempty"`
	Reason  string            `json:"reason,omitempty"`
}

// Hosts lists hosts by their names.
func (c *Client) Hosts(ctx context.Context, f HostFilter) iter.Seq2[Host, error] {
	return Items[Host](ctx, c, "/v1/hosts", f.query())
}

// CountHosts tells how many hosts a filter names.
func (c *Client) CountHosts(ctx context.Context, f HostFilter) (int, error) {
	query := f.query()
	query.Set("count", "true")
	query.Set("limit", "1")
	list, err := Call[struct{ Total int }](ctx, c, http.MethodGet, "/v1/hosts", query, nil)
	return list.Total, err
}

func (f *HostFilter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"select": f.Select, "state": f.State, "prefix": f.Prefix, "site": f.Site, "reachability": f.Reachability, "delivery": f.Delivery, "readiness": f.Readiness,
		"drift": f.Drift, "phase": f.Phase, "words": f.Words} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Question {
		query.Set("question", "true")
	}
	return query
}

func hostPath(host string) string { return "/v1/hosts/" + url.PathEscape(host) }

// Host shows one, by its id or the name under which it was taken in.
func (c *Client) Host(ctx context.Context, host string) (*Host, error) {
	return Call[*Host](ctx, c, http.MethodGet, hostPath(host), nil, nil)
}

// ApproveHost takes a host in that is pending.
func (c *Client) ApproveHost(ctx context.Context, host string, a HostApproval) (*Host, error) {
	return Call[*Host](ctx, c, http.MethodPost, hostPath(host)+"/approve", nil, a)
}

// RejectHosts refuses all hosts that are pending, and have asked by a token and for what a selector names; what is empty is any, but for one of them. It gives how
// many it has refused.
func (c *Client) RejectHosts(ctx context.Context, token, selector, reason string) (int, error) {
	body := map[string]string{"reason": reason}
	if token != "" {
		body["token"] = token
	}
	if selector != "" {
		body["select"] = selector
	}
	out, err := Call[struct{ Rejected int }](ctx, c, http.MethodPost, "/v1/hosts/reject", nil, body)
	return out.Rejected, err
}

// ChangeHost does one of "reject", "lock", "unlock", "revoke" and "forget".
func (c *Client) ChangeHost(ctx context.Context, host, act, reason string) (*Host, error) {
	return Call[*Host](ctx, c, http.MethodPost, hostPath(host)+"/"+act, nil, map[string]string{"reason": reason})
}

// RenameHost calls a host otherwise.
func (c *Client) RenameHost(ctx context.Context, host, name, reason string) (*Host, error) {
	return Call[*Host](ctx, c, http.MethodPost, hostPath(host)+"/rename", nil, map[string]string{"name": name, "reason": reason})
}

// LabelHost gives a host labels, in place of all that it has.
func (c *Client) LabelHost(ctx context.Context, host string, labels map[string]string, reason string) (*Host, error) {
	return Call[*Host](ctx, c, http.MethodPut, hostPath(host)+"/labels", nil, map[string]any{"labels": labels, "reason": reason})
}

// SettleHosts decides on hosts of which copies were noticed, up to a thousand at a time: accept says that they are the right ones; else they are
// locked. It gives those on which it was decided.
func (c *Client) SettleHosts(ctx context.Context, ids []trust.ID, accept bool, reason string) ([]Host, error) {
	settled := []Host{}
	const most = 1000
	for some := range slices.Chunk(ids, most) {
		list, err := Call[struct{ Items []Host }](ctx, c, http.MethodPost, "/v1/hosts/settle", nil, map[string]any{"hosts": some, "accept": accept, "reason": reason})
		if err != nil {
			return settled, err
		}
		settled = append(settled, list.Items...)
	}
	return settled, nil
}

package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// AuditEntry is one act in the audit of a server.
type AuditEntry struct {
	N        int64             `json:"n"`
	At       time.Time         `json:"at"`
	Actor    string            `json:"actor"`
	Action   string            `json:"action"`
	Host     string            `json:"host,omitempty"`
	HostName string            `json:"host_name,omitempty"` // that it has now
	Site     string            `json:"site,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Detail   map[string]string `json:"detail,omitempty"`
	Digest   string            `json:"digest"`
}

// AuditHead is the newest entry at some time.
type AuditHead struct {
	N      int64  `json:"n"`
	Digest string `json:"digest"`
}

// AuditFilter says which entries are listed; what is empty says nothing.
type AuditFilter struct{ Actor, Action, Host, Site string }

// Audit lists what was done, the newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	query := url.Values{}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action, "host": f.Host, "site": f.Site} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return Items[AuditEntry](ctx, c, "/v1/audit", query)
}

// VerifyAudit has the server walk its audit, with heads that were kept elsewhere.
func (c *Client) VerifyAudit(ctx context.Context, heads []AuditHead) (AuditHead, error) {
	return Call[AuditHead](ctx, c, http.MethodPost, "/v1/audit/verify", nil, map[string]any{"heads": append([]AuditHead{}, heads...)})
}

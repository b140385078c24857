package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Trusted is the newest trust document.
type Trusted struct {
	Generation  uint64          `json:"generation"`
	Number      uint64          `json:"number"`
	Issued      time.Time       `json:"issued"`
	Recovery    trust.PublicKey `json:"recovery"`
	Authorities []struct {
		Digest trust.Digest `json:"digest"`
		Name   string       `json:"name"`
		Ends   time.Time    `json:"ends"`
	} `json:"authorities"`
	Keys     []trust.Delegated `json:"keys"`
	Expiring []struct {
		What string    `json:"what"`
		At   time.Time `json:"at"`
		Hint string    `json:"hint"`
	} `json:"expiring"`
}

// Trust shows whom hosts trust.
func (c *Client) Trust(ctx context.Context) (Trusted, error) {
	return Call[Trusted](ctx, c, http.MethodGet, "/v1/trust", nil, nil)
}

// TrustDocuments lists all trust documents, the oldest first.
func (c *Client) TrustDocuments(ctx context.Context) iter.Seq2[*trust.Signed, error] {
	return Items[*trust.Signed](ctx, c, "/v1/trust/documents", nil)
}

// AddTrustDocument adds one that was signed elsewhere.
func (c *Client) AddTrustDocument(ctx context.Context, s *trust.Signed, reason string) (Trusted, error) {
	return Call[Trusted](ctx, c, http.MethodPost, "/v1/trust/documents", nil, map[string]any{"document": s, "reason": reason})
}

// AddTrustKey lets a key sign what the verbs say, and nothing else.
func (c *Client) AddTrustKey(ctx context.Context, key trust.Delegated, reason string) (Trusted, error) {
	return Call[Trusted](ctx, c, http.MethodPost, "/v1/trust/keys", nil, map[string]any{"key": key.Key, "name": key.Name, "verbs": key.Verbs, "reason": reason})
}

// RemoveTrustKey takes all rights from a key.
func (c *Client) RemoveTrustKey(ctx context.Context, key trust.PublicKey, reason string) (Trusted, error) {
	return Call[Trusted](ctx, c, http.MethodPost, "/v1/trust/keys/remove", nil, map[string]any{"key": key, "reason": reason})
}

// RotateTrust replaces the server's "key", or its CA: the "authority".
func (c *Client) RotateTrust(ctx context.Context, what, reason string) (Trusted, error) {
	return Call[Trusted](ctx, c, http.MethodPost, "/v1/trust/rotate", nil, map[string]string{"what": what, "reason": reason})
}

// RetireAuthorities has hosts trust the present CA alone.
func (c *Client) RetireAuthorities(ctx context.Context, reason string) (Trusted, error) {
	return Call[Trusted](ctx, c, http.MethodPost, "/v1/trust/retire", nil, map[string]string{"reason": reason})
}

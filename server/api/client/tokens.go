package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Token is what is known of a token with which hosts join. Secret is there where it was just made.
type Token struct {
	ID        string            `json:"id"`
	Note      string            `json:"note,omitempty"`
	MadeAt    time.Time         `json:"made_at"`
	MadeBy    string            `json:"made_by"`
	ExpiresAt time.Time         `json:"expires_at"`
	Uses      int64             `json:"uses"`
	Used      int64             `json:"used"`
	Auto      bool              `json:"auto"`
	Names     string            `json:"names"`
	Labels    map[string]string `json:"labels,omitempty"`
	RevokedAt *time.Time        `json:"revoked_at,omitempty"`
	Secret    string            `json:"secret,omitempty"`
}

// TokenRequest says what a token is to be; what is empty is left to the server.
type TokenRequest struct {
	Note    string            `json:"note,omitempty"`
	Seconds int64             `json:"seconds,omitempty"`
	Uses    int64             `json:"uses,omitempty"`
	Auto    bool              `json:"auto,omitempty"`
	Names   string            `json:"names,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Reason  string            `json:"reason,omitempty"`
}

// Tokens lists tokens, the newest first.
func (c *Client) Tokens(ctx context.Context) iter.Seq2[Token, error] {
	return Items[Token](ctx, c, "/v1/tokens", nil)
}

// AddToken makes a token.
func (c *Client) AddToken(ctx context.Context, q TokenRequest) (Token, error) {
	return Call[Token](ctx, c, http.MethodPost, "/v1/tokens", nil, q)
}

// RevokeToken makes a token useless.
func (c *Client) RevokeToken(ctx context.Context, id, reason string) error {
	query := url.Values{}
	if reason != "" {
		query.Set("reason", reason)
	}
	_, err := Call[struct{}](ctx, c, http.MethodDelete, "/v1/tokens/"+url.PathEscape(id), query, nil)
	return err
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Source is a site that a server follows, and how that stands.
type Source struct {
	Name       string         `json:"name"`
	Site       string         `json:"site"`
	Address    string         `json:"address"`
	Signed     bool           `json:"signed"`
	Hosts      string         `json:"hosts,omitempty"`
	Consent    string         `json:"consent,omitempty"`
	Poll       int            `json:"poll,omitempty"` // seconds
	By         string         `json:"by"`
	At         time.Time      `json:"at"`
	Revision   string         `json:"revision,omitempty"` // that counts
	Signer     string         `json:"signer,omitempty"`
	Seen       string         `json:"seen,omitempty"`    // the newest, if it is another one
	Problem    *SourceProblem `json:"problem,omitempty"` // why that one does not count
	Away       *time.Time     `json:"away,omitempty"`
	AwayText   string         `json:"away_text,omitempty"`
	Looked     *time.Time     `json:"looked,omitempty"`
	Deployment int64          `json:"deployment,omitempty"`
	Phase      string         `json:"phase"`
	SourceText
	Since      *time.Time        `json:"since,omitempty"`
	Components []SourceComponent `json:"components"` // at top level, over all hosts; what is in none has an empty name
	Windows    []SourceWindow    `json:"windows,omitempty"`
	Downtimes  []SourceDowntime  `json:"downtimes,omitempty"`
	Closed     string            `json:"closed,omitempty"` // why it is not looked at now
	Next       *time.Time        `json:"next,omitempty"`   // when it is looked at next
}

// SourceText says why something stands as it does: the reason of pending, the rest of failed.
type SourceText struct {
	Reason  string `json:"reason,omitempty"`
	Code    string `json:"code,omitempty"`
	Source  string `json:"source,omitempty"` // the address of what has failed
	Message string `json:"message,omitempty"`
}

// SourceComponent is how a component stands.
type SourceComponent struct {
	Name  string `json:"name"`
	Phase string `json:"phase"`
	SourceText
}

// SourceWindow is when a source is looked at.
type SourceWindow struct {
	Days     []string `json:"days,omitempty"` // none: each day
	Hours    string   `json:"hours"`
	Timezone string   `json:"timezone,omitempty"` // empty: UTC
}

// SourceDowntime is when a source is not looked at.
type SourceDowntime struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty"`
}

// SourceProblem is why a revision does not count.
type SourceProblem struct {
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	At      time.Time `json:"at"`
}

// SourceRequest describes a source that is to be followed.
type SourceRequest struct {
	Site      string           `json:"site"`
	Address   string           `json:"address"`
	Signers   string           `json:"signers,omitempty"` // the text of a file
	Hosts     string           `json:"hosts,omitempty"`
	Consent   string           `json:"consent,omitempty"`
	Poll      int              `json:"poll,omitempty"` // seconds
	Windows   []SourceWindow   `json:"windows,omitempty"`
	Downtimes []SourceDowntime `json:"downtimes,omitempty"`
	Hints     bool             `json:"hints,omitempty"` // the answer has a secret for them
	Reason    string           `json:"reason,omitempty"`
}

// Sources lists what the server follows, by name.
func (c *Client) Sources(ctx context.Context) ([]*Source, error) {
	list, err := Call[List[*Source]](ctx, c, http.MethodGet, "/v1/sources", nil, nil)
	return list.Items, err
}

// Source tells how one of them stands.
func (c *Client) Source(ctx context.Context, name string) (*Source, error) {
	return Call[*Source](ctx, c, http.MethodGet, "/v1/sources/"+url.PathEscape(name), nil, nil)
}

// AddSource has the server follow a source, and gives the secret of hints, if there is one.
func (c *Client) AddSource(ctx context.Context, name string, r SourceRequest) (secret string, err error) {
	out, err := Call[struct {
		Secret string `json:"secret"`
	}](ctx, c, http.MethodPut, "/v1/sources/"+url.PathEscape(name), nil, r)
	return out.Secret, err
}

// RemoveSource has the server follow a source no more.
func (c *Client) RemoveSource(ctx context.Context, name, reason string) error {
	query := url.Values{}
	if reason != "" {
		query.Set("reason", reason)
	}
	_, err := Call[struct{}](ctx, c, http.MethodDelete, "/v1/sources/"+url.PathEscape(name), query, nil)
	return err
}

// LookAtSource has the server look at a source now.
func (c *Client) LookAtSource(ctx context.Context, name string) error {
	_, err := Call[struct{}](ctx, c, http.MethodPost, "/v1/sources/"+url.PathEscape(name)+"/look", nil, nil)
	return err
}

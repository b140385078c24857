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
	Reason     string         `json:"reason,omitempty"`
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
	Site    string `json:"site"`
	Address string `json:"address"`
	Signers string `json:"signers,omitempty"` // the text of a file
	Hosts   string `json:"hosts,omitempty"`
	Consent string `json:"consent,omitempty"`
	Poll    int    `json:"poll,omitempty"`  // seconds
	Hints   bool   `json:"hints,omitempty"` // the answer has a secret for them
	Reason  string `json:"reason,omitempty"`
}

// Sources lists what the server follows, by name.
func (c *Client) Sources(ctx context.Context) ([]*Source, error) {
	list, err := Call[List[*Source]](ctx, c, http.MethodGet, "/v1/sources", nil, nil)
	return list.Items, err
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

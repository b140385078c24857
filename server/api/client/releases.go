package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Release is a version of the programs that agents run.
type Release struct {
	Version  string          `json:"version"`
	By       string          `json:"by"`
	At       time.Time       `json:"at"`
	Programs []trust.Program `json:"programs"`
	Lacking  []trust.Program `json:"lacking"` // that were not uploaded yet
}

// Update is an update of the agents of hosts.
type Update struct {
	Number   int64        `json:"number"`
	Version  string       `json:"version"`
	By       string       `json:"by"`
	At       time.Time    `json:"at"`
	Message  string       `json:"message,omitempty"`
	Hosts    string       `json:"hosts"`
	Phase    string       `json:"phase"`
	Reason   string       `json:"reason,omitempty"`
	Turn     int          `json:"turn"`
	Turns    int          `json:"turns"`
	Members  []UpdateHost `json:"members"`
	Deadline int          `json:"deadline"` // seconds
}

// UpdateHost is a host of an update.
type UpdateHost struct {
	ID      trust.ID `json:"id"`
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Turn    int      `json:"turn,omitempty"`
	Running string   `json:"running,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// UpdateRequest is what hosts are to be brought to; what is empty is left to the server.
type UpdateRequest struct {
	Version     string   `json:"version"`
	Hosts       string   `json:"hosts,omitempty"`
	Batch       []string `json:"batch,omitempty"`
	MaxFailures string   `json:"max_failures,omitempty"`
	Pause       int      `json:"pause,omitempty"`    // seconds
	Deadline    int      `json:"deadline,omitempty"` // seconds
	Message     string   `json:"message,omitempty"`
}

// Releases lists them.
func (c *Client) Releases(ctx context.Context) ([]Release, error) {
	list, err := Call[List[Release]](ctx, c, http.MethodGet, "/v1/releases", nil, nil)
	return list.Items, err
}

// AddRelease gives the server a release that was signed.
func (c *Client) AddRelease(ctx context.Context, signed *trust.Signed, reason string) (Release, error) {
	return Call[Release](ctx, c, http.MethodPost, "/v1/releases", nil, map[string]any{"release": signed, "reason": reason})
}

// RemoveRelease has the server forget a release.
func (c *Client) RemoveRelease(ctx context.Context, version, reason string) error {
	_, err := Call[struct{}](ctx, c, http.MethodPost, "/v1/releases/"+url.PathEscape(version)+"/remove", nil, map[string]string{"reason": reason})
	return err
}

// UploadProgram gives the server a program that a release names.
func (c *Client) UploadProgram(ctx context.Context, digest trust.Digest, program []byte) error {
	answer, err := c.send(ctx, http.MethodPut, "/v1/releases/programs/"+digest.String(), nil, program, http.Header{"Content-Type": {"application/octet-stream"}})
	if err != nil {
		_, err = c.failed(ctx, http.MethodPut, err)
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		_, err = c.readProblem(answer)
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxProblem))
	return err
}

// StartUpdate has hosts brought to a release.
func (c *Client) StartUpdate(ctx context.Context, q UpdateRequest) (Update, error) {
	return Call[Update](ctx, c, http.MethodPost, "/v1/updates", nil, q)
}

// Update shows one, with its hosts; 0: the newest.
func (c *Client) Update(ctx context.Context, number int64) (Update, error) {
	return Call[Update](ctx, c, http.MethodGet, fmt.Sprintf("/v1/updates/%d", number), nil, nil)
}

// SteerUpdate has an update "abort" or "continue".
func (c *Client) SteerUpdate(ctx context.Context, number int64, act, reason string) (Update, error) {
	return Call[Update](ctx, c, http.MethodPost, fmt.Sprintf("/v1/updates/%d/%s", number, act), nil, map[string]string{"reason": reason})
}

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/tenetcm/tenet/internal/ui/grouping"
)

// Revision is the files of a site at one time.
type Revision struct {
	Site    string    `json:"site"`
	Number  int64     `json:"number"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Message string    `json:"message,omitempty"`
	Hosts   []string  `json:"hosts"`
	Count   int       `json:"host_count"` // of hosts
}

// Reason is why something waits, is out or has failed.
type Reason struct {
	Code  string     `json:"code"`
	Text  string     `json:"text"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
	Ask   string     `json:"ask,omitempty"` // what a person can do about it
}

// DeployPlan is what the hosts of a deployment would do, as one list.
type DeployPlan struct {
	Digest string         `json:"digest"`
	Hosts  []string       `json:"hosts"` // those that have planned; rows name them by their index
	Rows   []grouping.Row `json:"rows"`
}

// DeployHost is a host of a deployment.
type DeployHost struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	State string  `json:"state"`
	Turn  int     `json:"turn,omitempty"`
	Why   *Reason `json:"why,omitempty"`
}

// Deployment is a revision of a site for some hosts.
type Deployment struct {
	ID       int64        `json:"id"`
	Site     string       `json:"site"`
	Revision int64        `json:"revision"`
	By       string       `json:"by"`
	At       time.Time    `json:"at"`
	Message  string       `json:"message,omitempty"`
	Hosts    string       `json:"hosts"`
	Consent  string       `json:"consent,omitempty"`
	Signed   bool         `json:"signed,omitempty"`
	Phase    string       `json:"phase"`
	Why      *Reason      `json:"why,omitempty"`
	Turn     int          `json:"turn,omitempty"`
	Turns    int          `json:"turns,omitempty"`
	Plan     *DeployPlan  `json:"plan,omitempty"`
	Approved string       `json:"approved,omitempty"`
	Members  []DeployHost `json:"members,omitempty"`
	// Counts and Acts are of one that is shown.
	Counts *MemberCounts `json:"counts,omitempty"`
	Acts   []DeployAct   `json:"acts,omitempty"`
}

// MemberCounts says how many hosts of a deployment stand how.
type MemberCounts struct {
	Hosts    int            `json:"hosts"`
	Begun    int            `json:"begun"`
	NotBegun int            `json:"not_begun"`
	States   map[string]int `json:"states"`
	Hidden   bool           `json:"hidden,omitempty"` // there are others that one may not read
}

// DeployAct is something that can be done with a deployment.
type DeployAct struct {
	Act   string `json:"act"` // start, approve, pause, continue or abort
	May   bool   `json:"may"`
	Hosts int    `json:"hosts"` // that have not begun
	Says  string `json:"says"`  // what it will do
}

// RollbackOf is what a rollback would do to a host.
type RollbackOf struct {
	Host   string `json:"host"`
	Name   string `json:"name"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Pinned bool   `json:"pinned,omitempty"`
}

// DeploymentFilter says which deployments are listed; what is empty says nothing.
type DeploymentFilter struct {
	Site  string
	Phase []string
}

// DeployRequest is what is to be deployed; what is empty is left to the server.
type DeployRequest struct {
	Site     string `json:"site"`
	Revision int64  `json:"revision,omitempty"`
	Hosts    string `json:"hosts,omitempty"`
	Consent  string `json:"consent,omitempty"` // "start" or "approve"
	Empty    bool   `json:"empty,omitempty"`
	Deadline int    `json:"deadline,omitempty"` // seconds
	Message  string `json:"message,omitempty"`
	Signed   bool   `json:"signed,omitempty"` // hosts get what was signed elsewhere
}

// Pin is a host that keeps what it has, whatever is deployed.
type Pin struct {
	Name     string    `json:"name"`
	Site     string    `json:"site"`
	Revision string    `json:"revision"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Why      string    `json:"why,omitempty"`
}

// Upload gives the server the files of a site, as a tar. To do so once more does no harm: the same files are the same revision.
func (c *Client) Upload(ctx context.Context, site string, archive []byte, message string) (Revision, error) {
	query := url.Values{}
	if message != "" {
		query.Set("message", message)
	}
	return sendArchive[Revision](ctx, c, "/v1/sites/"+url.PathEscape(site)+"/revisions", query, archive)
}

// sendArchive sends a tar, and reads the answer into a value.
func sendArchive[O any](ctx context.Context, c *Client, path string, query url.Values, archive []byte) (out O, err error) {
	answer, err := c.send(ctx, http.MethodPost, path, query, archive, http.Header{"Content-Type": {"application/x-tar"}})
	if err != nil {
		_, err = c.failed(ctx, http.MethodPost, err)
		return out, err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		_, err = c.readProblem(answer)
		return out, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		_, err = c.failed(ctx, http.MethodPost, err)
		return out, err
	}
	if json.Unmarshal(text, &out) != nil {
		return out, noAnswer(answer)
	}
	return out, nil
}

// Deploy has a revision deployed.
func (c *Client) Deploy(ctx context.Context, q DeployRequest) (Deployment, error) {
	return Call[Deployment](ctx, c, http.MethodPost, "/v1/deployments", nil, q)
}

// Deployments lists those of a site, or of all, the newest first.
func (c *Client) Deployments(ctx context.Context, site string) iter.Seq2[Deployment, error] {
	return c.DeploymentsBy(ctx, DeploymentFilter{Site: site})
}

// DeploymentsBy lists those that a filter names, the newest first.
func (c *Client) DeploymentsBy(ctx context.Context, f DeploymentFilter) iter.Seq2[Deployment, error] {
	query := url.Values{}
	if f.Site != "" {
		query.Set("site", f.Site)
	}
	setList(query, "phase", f.Phase)
	return Items[Deployment](ctx, c, "/v1/deployments", query)
}

// DeploymentBrief shows one, without its hosts and their plan.
func (c *Client) DeploymentBrief(ctx context.Context, id int64) (Deployment, error) {
	return Call[Deployment](ctx, c, http.MethodGet, fmt.Sprintf("/v1/deployments/%d", id), url.Values{"members": {"none"}}, nil)
}

// Members lists the hosts of a deployment in its order, those that stand in one of some states; none: all.
func (c *Client) Members(ctx context.Context, id int64, states ...string) iter.Seq2[DeployHost, error] {
	query := url.Values{}
	setList(query, "state", states)
	return Items[DeployHost](ctx, c, fmt.Sprintf("/v1/deployments/%d/members", id), query)
}

// PreviewRollback tells what Rollback would do; it changes nothing.
func (c *Client) PreviewRollback(ctx context.Context, site, hosts string, to int64) ([]RollbackOf, error) {
	query := url.Values{"hosts": {hosts}}
	if to > 0 {
		query.Set("to", fmt.Sprint(to))
	}
	list, err := Call[List[RollbackOf]](ctx, c, http.MethodGet, "/v1/sites/"+url.PathEscape(site)+"/rollback", query, nil)
	return list.Items, err
}

// Deployment shows one, with its hosts.
func (c *Client) Deployment(ctx context.Context, id int64) (Deployment, error) {
	return Call[Deployment](ctx, c, http.MethodGet, fmt.Sprintf("/v1/deployments/%d", id), nil, nil)
}

// Steer has a deployment do something: "pause", "continue" or "abort".
func (c *Client) Steer(ctx context.Context, id int64, act, reason string) (Deployment, error) {
	return Call[Deployment](ctx, c, http.MethodPost, fmt.Sprintf("/v1/deployments/%d/%s", id, act), nil, map[string]string{"reason": reason})
}

// Consent has a deployment begin by a plan that was seen: "approve" or "start".
func (c *Client) Consent(ctx context.Context, id int64, act, plan, reason string) (Deployment, error) {
	return Call[Deployment](ctx, c, http.MethodPost, fmt.Sprintf("/v1/deployments/%d/%s", id, act), nil, map[string]string{"plan": plan, "reason": reason})
}

// RollbackRequest says which hosts go back, and to what.
type RollbackRequest struct {
	Hosts  string `json:"hosts"`
	To     int64  `json:"to,omitempty"` // 0: the one before that which each has
	Empty  bool   `json:"empty,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Rollback brings hosts back to a former revision of a site, and pins them.
func (c *Client) Rollback(ctx context.Context, site string, q RollbackRequest) ([]Pin, error) {
	list, err := Call[List[Pin]](ctx, c, http.MethodPost, "/v1/sites/"+url.PathEscape(site)+"/rollback", nil, q)
	return list.Items, err
}

// PreviewUnpin gives the pins that Unpin would take away; it changes nothing.
func (c *Client) PreviewUnpin(ctx context.Context, site, hosts string) ([]Pin, error) {
	list, err := Call[List[Pin]](ctx, c, http.MethodGet, "/v1/sites/"+url.PathEscape(site)+"/unpin", url.Values{"hosts": {hosts}}, nil)
	return list.Items, err
}

// Unpin lets hosts follow what is deployed, and gives those that were pinned.
func (c *Client) Unpin(ctx context.Context, site, hosts, reason string) ([]Pin, error) {
	list, err := Call[List[Pin]](ctx, c, http.MethodPost, "/v1/sites/"+url.PathEscape(site)+"/unpin", nil, map[string]any{"hosts": hosts, "reason": reason})
	return list.Items, err
}

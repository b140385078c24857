package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Signing is what somebody needs who evaluates a revision and signs it in the place of the server.
type Signing struct {
	Site     string        `json:"site"`
	Revision int64         `json:"revision"`
	Hosts    []SigningHost `json:"hosts"`
}

// SigningHost is a host as it has signed itself. The server may have made up the rest.
type SigningHost struct {
	ID       trust.ID       `json:"id"`
	Name     string         `json:"name"`
	Keys     *trust.Signed  `json:"keys"`
	Facts    *trust.Signed  `json:"facts"`
	Outputs  *trust.Signed  `json:"outputs"`
	Position trust.Position `json:"position"` // the next one
	Chosen   bool           `json:"chosen"`   // it is to be signed for
	Declared bool           `json:"declared"` // by the revision
	Target   trust.Digest   `json:"target"`   // the identity of what is wanted of it now
}

// Signing asks for what is needed to sign a revision for the hosts of a selector; empty: for all.
func (c *Client) Signing(ctx context.Context, site string, revision int64, hosts string) (Signing, error) {
	query := url.Values{}
	if hosts != "" {
		query.Set("hosts", hosts)
	}
	return Call[Signing](ctx, c, http.MethodGet, fmt.Sprintf("/v1/sites/%s/revisions/%d/signing", url.PathEscape(site), revision), query, nil)
}

// SendAssignments gives the server what was signed of a revision, as a tar: assignments.json, and the contents that it names. To do so once more does no harm.
func (c *Client) SendAssignments(ctx context.Context, site string, revision int64, archive []byte) error {
	_, err := sendArchive[struct{}](ctx, c, fmt.Sprintf("/v1/sites/%s/revisions/%d/assignments", url.PathEscape(site), revision), nil, archive)
	return err
}

// CheckHost refuses a host that is another one than the one that had its name when it was reached first, and notes one that is new.
func (c *Client) CheckHost(name string, id trust.ID) error { return c.known.check(name, id) }

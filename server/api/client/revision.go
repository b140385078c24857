package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/tenetcm/tenet/runtime/trust"
)

// RevisionDetail is a revision with what evaluating it has said, and who has signed it.
type RevisionDetail struct {
	Revision
	Warnings []SiteRemark     `json:"warnings"`
	Errors   []SiteRemark     `json:"errors"`
	Signers  []RevisionSigner `json:"signers"`
}

// SiteRemark is what an evaluation says of a site.
type SiteRemark struct {
	Text  string   `json:"text"`
	Hint  string   `json:"hint,omitempty"`
	File  string   `json:"file,omitempty"`
	Line  int      `json:"line,omitempty"`
	Hosts []string `json:"hosts,omitempty"` // the first ones
	Count int      `json:"count,omitempty"`
}

// RevisionSigner is a key that has signed.
type RevisionSigner struct {
	Key  trust.ID `json:"key"`
	Name string   `json:"name,omitempty"`
}

// SiteFile is a file of a revision.
type SiteFile struct {
	Name       string          `json:"name"`
	Digest     string          `json:"digest,omitempty"` // none: it was removed
	Size       int64           `json:"size"`
	Executable bool            `json:"executable,omitempty"`
	Change     *SiteFileChange `json:"change,omitempty"` // where it is compared
}

// SiteFileChange is how a file differs from that of another revision.
type SiteFileChange struct {
	Kind   string `json:"kind"`             // added, removed, changed or mode
	Digest string `json:"digest,omitempty"` // of the other
	Size   int64  `json:"size"`
	Diff   string `json:"diff,omitempty"`
	Hidden string `json:"hidden,omitempty"` // why there is no diff: encrypted, key, binary, large or much
}

func revisionPath(site string, number int64) string {
	return fmt.Sprintf("/v1/sites/%s/revisions/%d", url.PathEscape(site), number)
}

// Revision shows one.
func (c *Client) Revision(ctx context.Context, site string, number int64) (*RevisionDetail, error) {
	return Call[*RevisionDetail](ctx, c, http.MethodGet, revisionPath(site, number), nil, nil)
}

// Files lists the files of a revision whose names begin with something; against another one, which is not 0, those that differ.
func (c *Client) Files(ctx context.Context, site string, number, against int64, prefix string) iter.Seq2[SiteFile, error] {
	query := url.Values{}
	if against > 0 {
		query.Set("against", fmt.Sprint(against))
	}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	return Items[SiteFile](ctx, c, revisionPath(site, number)+"/files", query)
}

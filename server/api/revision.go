package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// RevisionDetail is a revision with what evaluating it has said, and who has signed it.
type RevisionDetail struct {
	Revision
	Warnings []SiteRemark     `json:"warnings" nullable:"false" doc:"Of reading the site, whatever the host."`
	Errors   []SiteRemark     `json:"errors" nullable:"false" doc:"Why it is wrong for hosts that the caller may read, the most frequent first."`
	Signers  []RevisionSigner `json:"signers" nullable:"false" doc:"Who has signed elsewhere what it makes of hosts; none: the server signs."`
}

// SiteRemark is what an evaluation says of a site.
type SiteRemark struct {
	Text  string   `json:"text"`
	Hint  string   `json:"hint,omitempty"`
	File  string   `json:"file,omitempty"`
	Line  int      `json:"line,omitempty"`
	Hosts []string `json:"hosts,omitempty" doc:"For which it is so: the first ones."`
	Count int      `json:"count,omitempty" doc:"For how many it is so."`
}

// RevisionSigner is a key that has signed.
type RevisionSigner struct {
	Key  trust.ID `json:"key"`
	Name string   `json:"name,omitempty" doc:"As the trust document has it; none: it has none of it any more."`
}

type revisionInput struct {
	SiteName
	WithHosts
	Number int64 `path:"number" minimum:"1"`
}

type revisionDetailOutput struct{ Body RevisionDetail }

type filesInput struct {
	SiteName
	Page
	Number  int64  `path:"number" minimum:"1"`
	Against int64  `query:"against" minimum:"0" doc:"The number of another revision: only files that differ from it, with diffs. Big, binary and encrypted files, and keys, are named and not shown."`
	Prefix  string `query:"prefix" maxLength:"1000" doc:"Only files whose name begins so."`
}

func (a *API) registerRevisions() {
	op := func(id, path, summary, description string, codes ...string) Operation {
		return Operation{ID: id, Method: http.MethodGet, Path: "/v1/sites/{site}/revisions/{number}" + path, Tag: "sites", Summary: summary, Description: description, Scope: Somewhere, Verb: access.Read,
			Codes: append(codes, deploy.ErrNotFound, access.CodeForbidden)}
	}
	Register(a, op("show-revision", "", "Show a revision of a site.", "With what evaluating it has said, and who has signed it."), a.showRevision)
	Register(a, op("list-revision-files", "/files", "List the files of a revision.",
		"By name, with digests and sizes, or what differs from another revision. They may hold what evaluating them would mask, and concern all hosts: it takes the grant to read all hosts of the site.", codeCursor), a.listFiles)
}

// remarkOf takes the text of a diagnostic apart: FILE:LINE:COLUMN: TEXT (hint: HINT), where the place and the hint may lack.
func remarkOf(text string) SiteRemark {
	r := SiteRemark{Text: diag.Clean(text, "\n", '�')}
	if file, rest, ok := strings.Cut(r.Text, ":"); ok && file != "" && !strings.ContainsAny(file, " \n") {
		number, _, _ := strings.Cut(rest, ":")
		if line, err := strconv.Atoi(number); err == nil && line > 0 {
			r.File, r.Line = file, line
		}
	}
	const begin = " (hint: "
	if i := strings.LastIndex(r.Text, begin); i >= 0 && strings.HasSuffix(r.Text, ")") {
		r.Text, r.Hint = r.Text[:i], r.Text[i+len(begin):len(r.Text)-1]
	}
	return r
}

func (a *API) showRevision(ctx context.Context, c *access.Caller, in *revisionInput) (*revisionDetailOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	r, err := s.ShowRevision(ctx, c, in.Site, in.Number)
	if err != nil {
		return nil, err
	}
	out := RevisionDetail{Revision: in.revisionOf(&r.Revision), Warnings: []SiteRemark{}, Errors: []SiteRemark{}, Signers: []RevisionSigner{}}
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, remarkOf(w))
	}
	for _, w := range r.Wrong {
		one := remarkOf(w.Text)
		one.Hosts, one.Count = w.Hosts, w.Count
		out.Errors = append(out.Errors, one)
	}
	for _, key := range r.Signers {
		out.Signers = append(out.Signers, RevisionSigner{key, a.keyName(key)})
	}
	return &revisionDetailOutput{out}, nil
}

// keyName is what the trust document calls a key; empty: it does not have it.
func (a *API) keyName(id trust.ID) string {
	if a.o.Authority == nil {
		return ""
	}
	for _, k := range a.o.Authority.Chain().Newest().Keys {
		if k.Key.ID() == id {
			return k.Name
		}
	}
	return ""
}

func (a *API) listFiles(ctx context.Context, c *access.Caller, in *filesInput) (*ListOutput[deploy.File], error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("list-revision-files %q %d %d %q", in.Site, in.Number, in.Against, in.Prefix)
	f := deploy.FilesFilter{Prefix: in.Prefix, Limit: in.Limit + 1}
	if _, err := a.ReadCursor(c, list, in.Cursor, &f.After); err != nil {
		return nil, err
	}
	files, err := s.Files(ctx, c, in.Site, in.Number, in.Against, f)
	if err != nil {
		return nil, err
	}
	return NewPage(a, c, list, in.Limit, files, func(f deploy.File) any { return f.Name })
}

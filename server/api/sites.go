package api

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// maxArchive is how many bytes the archive of a site may have.
const maxArchive = 256 << 20

// Revision is the files of a site at one time.
type Revision struct {
	Site    string    `json:"site"`
	Number  int64     `json:"number" doc:"From 1."`
	Tree    string    `json:"tree" doc:"The SHA-256 of the list of its files."`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Message string    `json:"message,omitempty"`
	Hosts   []string  `json:"hosts" nullable:"false" doc:"That it declares for agents, unless they are left out."`
	Count   int       `json:"host_count" doc:"How many these are."`
}

// WithHosts says whether revisions are shown with the names of their hosts; the input of an operation embeds it.
type WithHosts struct {
	Names string `query:"hosts" enum:"all,none" default:"all" doc:"Whether the names of the hosts that a revision declares are shown: there may be many."`
}

func (w *WithHosts) revisionOf(r *deploy.Revision) Revision {
	out := Revision{r.Site, r.Number, string(r.Tree), r.By, r.At, r.Message, []string{}, len(r.Hosts)}
	if w.Names == "none" {
		return out
	}
	for _, h := range r.Hosts {
		out.Hosts = append(out.Hosts, h.Name)
	}
	return out
}

func revisionOf(r *deploy.Revision) Revision { return (&WithHosts{}).revisionOf(r) }

type sitesInput struct {
	Page
	WithHosts
}

type revisionsInput struct {
	SiteName
	WithHosts
}

// Site is a site of which there are revisions.
type Site struct {
	Name   string   `json:"name"`
	Newest Revision `json:"newest"`
	Done   int64    `json:"done,omitempty" doc:"The newest deployment that is done."`
	Latest int64    `json:"latest,omitempty" doc:"The newest deployment."`
}

// SiteName is the input of all that is about one site.
type SiteName struct {
	Site string `path:"site" maxLength:"200"`
}

type pinsInput struct {
	SiteName
	Host string `query:"host" maxLength:"200" doc:"Only that of this host, by its id or name."`
}

type uploadInput struct {
	SiteName
	Message string `query:"message" maxLength:"1000" doc:"For people."`
	RawBody []byte `contentType:"application/x-tar"`
}

type revisionOutput struct{ Body Revision }

type signingInput struct {
	SiteName
	Number int64  `path:"number" minimum:"1"`
	Hosts  string `query:"hosts" maxLength:"4096" doc:"A selector; without it, all."`
}

type signingOutput struct{ Body *deploy.Signing }

type assignmentsInput struct {
	SiteName
	Number  int64  `path:"number" minimum:"1"`
	RawBody []byte `contentType:"application/x-tar"`
}

type assignmentsOutput struct {
	Body struct {
		Hosts int `json:"hosts" doc:"For how many hosts there are assignments."`
	}
}

// PinBody is what is to become of hosts, whatever is deployed.
type PinBody struct {
	Hosts  string `json:"hosts" minLength:"1" maxLength:"4096" doc:"A selector, such as web*,role=db,!web3."`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
}

type rollbackInput struct {
	SiteName
	Body struct {
		PinBody
		To    int64 `json:"to,omitempty" minimum:"0" doc:"The number of the revision; without it, the one before that which each has."`
		Empty bool  `json:"empty,omitempty" doc:"That nothing is wanted of a host any more, or that rules delete all that they have made, is meant."`
	}
}

type previewInput struct {
	SiteName
	Hosts string `query:"hosts" required:"true" minLength:"1" maxLength:"4096" doc:"A selector, such as web*,role=db,!web3."`
	To    int64  `query:"to" minimum:"0" doc:"The number of the revision; without it, the one before that which each has."`
}

type previewOutput struct{ Body List[deploy.RollbackOf] }

type unpinPreviewInput struct {
	SiteName
	Hosts string `query:"hosts" required:"true" minLength:"1" maxLength:"4096" doc:"A selector, such as web*,role=db,!web3."`
}

type unpinInput struct {
	SiteName
	Body PinBody
}

type pinsOutput struct{ Body List[deploy.Pin] }

// deployments is the service; an error where there is none.
func (a *API) deployments() (*deploy.Service, error) {
	if a.o.Deployments == nil {
		return nil, &diag.HintError{Code: access.CodeNotSupported, Message: "this server deploys no sites", Hint: "start it with a folder of its own"}
	}
	return a.o.Deployments, nil
}

func (a *API) registerSites() {
	op := func(id, method, path, summary, description string, verb access.Verb, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "sites", Summary: summary, Description: description, Scope: Somewhere, Verb: verb, Codes: append(codes, access.CodeForbidden)}
	}
	Register(a, op("list-sites", http.MethodGet, "/v1/sites", "List sites.", "By name, those that the caller may read.", access.Read, codeCursor), a.listSites)
	Register(a, op("list-revisions", http.MethodGet, "/v1/sites/{site}/revisions", "List the revisions of a site.", "The newest first: the latest, and those that are in use.", access.Read, deploy.ErrNotFound), a.listRevisions)
	upload := op("upload-revision", http.MethodPost, "/v1/sites/{site}/revisions", "Upload a revision of a site.",
		"An archive of its directory, a tar that may be compressed by gzip, with plain files and directories alone. The same files as those of the newest revision are that one.", access.Deploy, deploy.ErrInvalid, deploy.ErrSite)
	upload.Status, upload.MaxBody, upload.Limit = http.StatusCreated, maxArchive, 10*time.Minute
	Register(a, upload, func(ctx context.Context, c *access.Caller, in *uploadInput) (*revisionOutput, error) {
		s, err := a.deployments()
		if err != nil {
			return nil, err
		}
		r, err := s.Upload(ctx, c, in.Site, bytes.NewReader(in.RawBody), in.Message)
		if err != nil {
			return nil, err
		}
		return &revisionOutput{revisionOf(r)}, nil
	})
	a.registerSigning()
	a.registerPolicies()
	Register(a, op("list-pins", http.MethodGet, "/v1/sites/{site}/pins", "List the hosts that are pinned.", "They keep what they have, whatever is deployed.", access.Read, deploy.ErrNotFound),
		a.listPins)
	Register(a, op("count-targets", http.MethodGet, "/v1/sites/{site}/targets", "Tell of how many hosts each revision is wanted.", "Those that the caller may read, the newest revision first.", access.Read, deploy.ErrNotFound),
		func(ctx context.Context, c *access.Caller, in *SiteName) (*ListOutput[deploy.Wanted], error) {
			s, err := a.deployments()
			if err != nil {
				return nil, err
			}
			list, err := s.Wanted(ctx, c, in.Site)
			return &ListOutput[deploy.Wanted]{List[deploy.Wanted]{Items: append([]deploy.Wanted{}, list...)}}, err
		})
	preview := op("preview-rollback", http.MethodGet, "/v1/sites/{site}/rollback", "Tell what a rollback would do.", "Which hosts would go back, and from which revision to which; it changes nothing. It is refused where the rollback would be.", access.Deploy, deploy.ErrNotFound, deploy.ErrGone, deploy.ErrPolicy)
	Register(a, preview, func(ctx context.Context, c *access.Caller, in *previewInput) (*previewOutput, error) {
		s, err := a.deployments()
		if err != nil {
			return nil, err
		}
		hosts, err := s.PreviewRollback(ctx, c, in.Site, in.Hosts, in.To)
		if err != nil {
			return nil, err
		}
		return &previewOutput{List[deploy.RollbackOf]{Items: hosts}}, nil
	})
	rollback := op("roll-back", http.MethodPost, "/v1/sites/{site}/rollback", "Bring hosts back to a former revision, and pin them.", "All of them, or none. They keep it until they are unpinned.", access.Deploy, deploy.ErrNotFound, deploy.ErrGone, deploy.ErrSite, deploy.ErrEmpty, deploy.ErrSign, deploy.ErrPolicy)
	rollback.Limit = 10 * time.Minute
	Register(a, rollback, func(ctx context.Context, c *access.Caller, in *rollbackInput) (*pinsOutput, error) {
		s, err := a.deployments()
		if err != nil {
			return nil, err
		}
		pins, err := s.Rollback(ctx, c, deploy.Return{Site: in.Site, Hosts: in.Body.Hosts, To: in.Body.To, Empty: in.Body.Empty, Why: in.Body.Reason})
		return pinsOf(pins), err
	})
	Register(a, op("preview-unpin", http.MethodGet, "/v1/sites/{site}/unpin", "Tell which hosts would be unpinned.", "By whom each is pinned, and to what; it changes nothing. It is refused where that would be.", access.Deploy, deploy.ErrNotFound, deploy.ErrPinned),
		func(ctx context.Context, c *access.Caller, in *unpinPreviewInput) (*pinsOutput, error) {
			s, err := a.deployments()
			if err != nil {
				return nil, err
			}
			pins, err := s.PreviewUnpin(ctx, c, in.Site, in.Hosts)
			return pinsOf(pins), err
		})
	Register(a, op("unpin", http.MethodPost, "/v1/sites/{site}/unpin", "Let hosts follow what is deployed.", "They join the deployment that has them. Answers those that were pinned.", access.Deploy, deploy.ErrNotFound, deploy.ErrPinned),
		func(ctx context.Context, c *access.Caller, in *unpinInput) (*pinsOutput, error) {
			s, err := a.deployments()
			if err != nil {
				return nil, err
			}
			pins, err := s.Unpin(ctx, c, in.Site, in.Body.Hosts, in.Body.Reason)
			return pinsOf(pins), err
		})
}

// registerSigning is for who evaluates and signs in the place of the server.
func (a *API) registerSigning() {
	op := func(id, method, path, summary, description string, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: "/v1/sites/{site}/revisions/{number}/" + path, Tag: "sites", Summary: summary, Description: description, Scope: Somewhere, Verb: access.Deploy,
			Codes: append(codes, access.CodeForbidden, access.CodeNotSupported, deploy.ErrNotFound)}
	}
	Register(a, op("show-signing", http.MethodGet, "signing", "Show what is needed to sign a revision.",
		"For who evaluates a revision and signs what comes out in the place of the server: hosts with their keys, facts and outputs, as they have signed them, and the positions of their next assignments."),
		func(ctx context.Context, c *access.Caller, in *signingInput) (*signingOutput, error) {
			s, err := a.deployments()
			if err != nil {
				return nil, err
			}
			out, err := s.Signing(ctx, c, in.Site, in.Number, cmp.Or(in.Hosts, access.All))
			if err != nil {
				return nil, err
			}
			return &signingOutput{out}, nil
		})
	upload := op("upload-assignments", http.MethodPost, "assignments", "Upload what was signed of a revision.",
		"A tar, in which assignments.json is first, a list of {host, assignment, empty, read}, and then the contents that these name and that the revision does not have, as contents/SHA256. A deployment with `signed` delivers it.",
		deploy.ErrInvalid, deploy.ErrSignature)
	upload.MaxBody, upload.Limit = maxArchive, 10*time.Minute
	Register(a, upload, func(ctx context.Context, c *access.Caller, in *assignmentsInput) (*assignmentsOutput, error) {
		s, err := a.deployments()
		if err != nil {
			return nil, err
		}
		out := &assignmentsOutput{}
		out.Body.Hosts, err = s.TakeSigned(ctx, c, in.Site, in.Number, bytes.NewReader(in.RawBody))
		return out, err
	})
}

// listPins lists the pins of a site, or that of one host.
func (a *API) listPins(ctx context.Context, c *access.Caller, in *pinsInput) (*pinsOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	if in.Host == "" {
		pins, err := s.Pins(ctx, c, in.Site)
		return pinsOf(pins), err
	}
	pin, err := s.PinOf(ctx, c, in.Site, in.Host)
	if err != nil || pin == nil {
		return pinsOf(nil), err
	}
	return pinsOf([]deploy.Pin{*pin}), nil
}

func pinsOf(pins []deploy.Pin) *pinsOutput {
	return &pinsOutput{List[deploy.Pin]{Items: append([]deploy.Pin{}, pins...)}}
}

func (a *API) listSites(ctx context.Context, c *access.Caller, in *sitesInput) (*ListOutput[Site], error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	var after string
	if _, err := a.ReadCursor(c, "list-sites", in.Cursor, &after); err != nil {
		return nil, err
	}
	list, err := s.Sites(ctx, c, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	var out []Site
	for _, one := range list {
		out = append(out, Site{one.Name, in.revisionOf(&one.Newest), one.Done, one.Latest})
	}
	return NewPage(a, c, "list-sites", in.Limit, out, func(s Site) any { return s.Name })
}

func (a *API) listRevisions(ctx context.Context, c *access.Caller, in *revisionsInput) (*ListOutput[Revision], error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	list, err := s.Revisions(ctx, c, in.Site)
	if err != nil {
		return nil, err
	}
	out := []Revision{}
	for i := range list {
		out = append(out, in.revisionOf(&list[i]))
	}
	return &ListOutput[Revision]{List[Revision]{Items: out}}, nil
}

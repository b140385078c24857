package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/follow"
)

// Source is a site that the server follows, and how that stands.
type Source struct {
	Name       string         `json:"name"`
	Site       string         `json:"site"`
	Address    string         `json:"address"`
	Signed     bool           `json:"signed" doc:"Only what allowed signers have signed is taken."`
	Hosts      string         `json:"hosts,omitempty" doc:"The selector; without it, all hosts of the site."`
	Consent    string         `json:"consent,omitempty" doc:"start or approve: what each deployment needs before it begins."`
	Poll       int            `json:"poll,omitempty" doc:"Seconds between two looks; 0: 300."`
	By         string         `json:"by"`
	At         time.Time      `json:"at"`
	Revision   string         `json:"revision,omitempty" doc:"The one that counts: a commit, or a digest."`
	Signer     string         `json:"signer,omitempty" doc:"Who has signed it."`
	Seen       string         `json:"seen,omitempty" doc:"The newest that was found, if it is another one."`
	Problem    *SourceProblem `json:"problem,omitempty" doc:"Why that one does not count."`
	Away       *time.Time     `json:"away,omitempty" doc:"Since when the source cannot be asked."`
	AwayText   string         `json:"away_text,omitempty"`
	Looked     *time.Time     `json:"looked,omitempty" doc:"When it has answered last."`
	Deployment int64          `json:"deployment,omitempty"`
	Phase      string         `json:"phase" enum:"pending,installing,installed,failed,removing,removed" doc:"Of the revision that counts: the gravest of its components'."`
	SourceText
	Since      *time.Time        `json:"since,omitempty" doc:"When it came to stand so."`
	Components []SourceComponent `json:"components" nullable:"false" doc:"Those of the site at top level, over all hosts: each as it stands where that is gravest. What is in none has an empty name."`
	Windows    []SourceWindow    `json:"windows,omitempty" doc:"When it is looked at; none: always."`
	Downtimes  []SourceDowntime  `json:"downtimes,omitempty" doc:"When it is not looked at, and nothing counts as failed."`
	Closed     string            `json:"closed,omitempty" doc:"Why it is not looked at now."`
	Next       *time.Time        `json:"next,omitempty" doc:"When it is looked at next."`
}

// SourceText says why something stands as it does.
type SourceText struct {
	Reason  string `json:"reason,omitempty" doc:"Of pending."`
	Code    string `json:"code,omitempty" doc:"Of failed."`
	Source  string `json:"source,omitempty" doc:"The address of what has failed."`
	Message string `json:"message,omitempty" doc:"Of failed, with the host."`
}

// SourceComponent is how a component stands.
type SourceComponent struct {
	Name  string `json:"name"`
	Phase string `json:"phase" enum:"pending,installing,installed,failed,removing,removed"`
	SourceText
}

// SourceWindow is when a source is looked at.
type SourceWindow struct {
	Days     []string `json:"days,omitempty" maxItems:"7" doc:"On which it opens, as mon or monday; without them, each day."`
	Hours    string   `json:"hours" maxLength:"20" doc:"As 22:00-04:00."`
	Timezone string   `json:"timezone,omitempty" maxLength:"60" doc:"Without it, UTC."`
}

// SourceDowntime is when a source is not looked at.
type SourceDowntime struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty" maxLength:"200"`
}

// SourceProblem is why a revision does not count.
type SourceProblem struct {
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	At      time.Time `json:"at"`
}

func sourceOf(s *follow.Status) *Source {
	out := &Source{Name: s.Name, Site: s.Site, Address: s.Address, Signed: s.Signers != "", Hosts: s.Hosts, Consent: string(s.Consent), Poll: int(s.Poll.Seconds()), By: s.By, At: s.At,
		Revision: s.State.Held.ID, Signer: s.State.Fetched.Signer, AwayText: s.State.AwayText, Deployment: s.Deployment, Closed: s.Closed}
	r := &s.Report
	out.Phase, out.SourceText, out.Components = string(r.Phase), SourceText{r.Reason, r.Code, r.Source, r.Message}, []SourceComponent{}
	for _, c := range r.Components {
		out.Components = append(out.Components, SourceComponent{c.Name, string(c.Phase), SourceText{c.Reason, c.Code, c.Source, c.Message}})
	}
	for _, w := range s.Windows {
		days, hours, zone := w.Texts()
		out.Windows = append(out.Windows, SourceWindow{days, hours, zone})
	}
	for _, d := range s.Downtimes {
		out.Downtimes = append(out.Downtimes, SourceDowntime(d))
	}
	if !s.State.Seen.Is(s.State.Held) {
		out.Seen = s.State.Seen.ID
	}
	if p := s.State.Problem; p != nil {
		out.Problem = &SourceProblem{p.Code, p.Message, p.Hint, p.At}
	}
	for at, to := range map[*time.Time]**time.Time{&s.State.Away: &out.Away, &s.State.Looked: &out.Looked, &r.Since: &out.Since, &s.Next: &out.Next} {
		if !at.IsZero() {
			*to = at
		}
	}
	return out
}

// SourceName is the input of all that is about one source.
type SourceName struct {
	Name string `path:"name" maxLength:"60"`
}

type sourcesOutput struct{ Body List[*Source] }

type sourceOutput struct{ Body *Source }

type addSourceInput struct {
	SourceName
	Body struct {
		Site      string           `json:"site" minLength:"1" maxLength:"200"`
		Address   string           `json:"address" minLength:"1" maxLength:"1000" doc:"git::URL//DIR?ref=REF, or the absolute path of a folder of the server's machine."`
		Signers   string           `json:"signers,omitempty" maxLength:"1048576" doc:"The text of a file of allowed signers, as ssh-keygen takes it."`
		Hosts     string           `json:"hosts,omitempty" maxLength:"4096" doc:"A selector; without it, all hosts of the site."`
		Consent   string           `json:"consent,omitempty" enum:"start,approve" doc:"What each deployment needs before it begins."`
		Poll      int              `json:"poll,omitempty" minimum:"0" maximum:"604800" doc:"Seconds between two looks; 0: 300."`
		Windows   []SourceWindow   `json:"windows,omitempty" maxItems:"100" doc:"When it is looked at; without them, always."`
		Downtimes []SourceDowntime `json:"downtimes,omitempty" maxItems:"1000" doc:"When it is not looked at, and nothing counts as failed."`
		Hints     bool             `json:"hints,omitempty" doc:"Take hints that there is something new, signed by a secret that the answer has."`
		Reason    string           `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type addSourceOutput struct {
	Body struct {
		Secret string `json:"secret,omitempty" doc:"Of hints. Nobody can ask for it again."`
	}
}

type removeSourceInput struct {
	SourceName
	Reason string `query:"reason" maxLength:"1000" doc:"Why, for the audit."`
}

type hintInput struct {
	SourceName
	Signature string `header:"X-Hub-Signature-256" maxLength:"200" doc:"sha256= and the HMAC of the body in hexadecimal digits."`
	RawBody   []byte
}

func (a *API) sources() (*follow.Service, error) {
	if a.o.Sources == nil {
		return nil, &diag.HintError{Code: access.CodeNotSupported, Message: "this server follows no sources", Hint: "start it with a folder of its own"}
	}
	return a.o.Sources, nil
}

func (a *API) registerSources() {
	op := func(id, method, path, summary, description string, scope Scope, verb access.Verb, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: "/v1/sources" + path, Tag: "sources", Summary: summary, Description: description, Scope: scope, Verb: verb, Codes: append(codes, access.CodeForbidden)}
	}
	Register(a, op("list-sources", http.MethodGet, "", "List the sources that the server follows.", "By name: what counts, what was found, and what became of it.", Somewhere, access.Read),
		func(ctx context.Context, c *access.Caller, _ *struct{}) (*sourcesOutput, error) {
			s, err := a.sources()
			if err != nil {
				return nil, err
			}
			list, err := s.List(ctx, c)
			out := &sourcesOutput{List[*Source]{Items: []*Source{}}}
			for i := range list {
				out.Body.Items = append(out.Body.Items, sourceOf(&list[i]))
			}
			return out, err
		})
	Register(a, op("get-source", http.MethodGet, "/{name}", "Show a source that the server follows.", "What counts, what was found, and what became of it, component by component.", Somewhere, access.Read, follow.ErrNotFound),
		func(ctx context.Context, c *access.Caller, in *SourceName) (*sourceOutput, error) {
			s, err := a.sources()
			if err != nil {
				return nil, err
			}
			one, err := s.Get(ctx, c, in.Name)
			if err != nil {
				return nil, err
			}
			return &sourceOutput{sourceOf(one)}, nil
		})
	Register(a, op("add-source", http.MethodPut, "/{name}", "Have the server follow a source.", "Each revision of it that is right becomes one of the site, and is deployed. It takes the right to deploy everywhere, too.", Everywhere, access.Admin, follow.ErrInvalid, follow.ErrExists),
		a.addSource)
	Register(a, op("remove-source", http.MethodDelete, "/{name}", "Have the server follow a source no more.", "What was deployed stays.", Everywhere, access.Admin, follow.ErrNotFound),
		func(ctx context.Context, c *access.Caller, in *removeSourceInput) (*struct{}, error) {
			s, err := a.sources()
			if err != nil {
				return nil, err
			}
			return nil, s.Remove(ctx, c, in.Name, in.Reason)
		})
	Register(a, op("look-at-source", http.MethodPost, "/{name}/look", "Have the server look at a source now.", "It does not wait for that.", Somewhere, access.Deploy, follow.ErrNotFound),
		func(ctx context.Context, c *access.Caller, in *SourceName) (*struct{}, error) {
			s, err := a.sources()
			if err != nil {
				return nil, err
			}
			return nil, s.Look(ctx, c, in.Name)
		})
	hint := op("hint-source", http.MethodPost, "/{name}/hint", "Hint that there is something new.", "For forges: a webhook, signed by the secret of the source. Nothing of the body counts; the server looks for itself.", Open, "")
	hint.Codes = []string{access.CodeUnknown}
	Register(a, hint, func(ctx context.Context, _ *access.Caller, in *hintInput) (*struct{}, error) {
		s, err := a.sources()
		if err != nil {
			return nil, err
		}
		return nil, s.Hint(ctx, in.Name, func(secret string) bool {
			sum := hmac.New(sha256.New, []byte(secret))
			sum.Write(in.RawBody)
			given, err := hex.DecodeString(strings.TrimPrefix(in.Signature, "sha256="))
			return err == nil && hmac.Equal(given, sum.Sum(nil))
		})
	})
}

func (a *API) addSource(ctx context.Context, c *access.Caller, in *addSourceInput) (*addSourceOutput, error) {
	s, err := a.sources()
	if err != nil {
		return nil, err
	}
	b := in.Body
	of := follow.Source{Name: in.Name, Site: b.Site, Address: b.Address, Signers: b.Signers, Hosts: b.Hosts, Consent: deploy.Consent(b.Consent), Poll: time.Duration(b.Poll) * time.Second}
	for _, w := range b.Windows {
		window, err := site.ParseWindow(w.Days, w.Hours, w.Timezone)
		if err != nil {
			return nil, &diag.HintError{Code: follow.ErrInvalid, Message: err.Error()}
		}
		of.Windows = append(of.Windows, window)
	}
	for _, d := range b.Downtimes {
		of.Downtimes = append(of.Downtimes, source.Downtime(d))
	}
	if b.Hints {
		of.Secret = rand.Text()
	}
	out := &addSourceOutput{}
	out.Body.Secret = of.Secret
	return out, s.Add(ctx, c, of, b.Reason)
}

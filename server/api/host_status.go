package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/states"
)

// HostStatus is how a host stands: three things, of which none follows from another.
type HostStatus struct {
	ID           trust.ID                        `json:"id"`
	Name         string                          `json:"name"`
	State        enroll.State                    `json:"state"`
	Reachability sessions.Reachability           `json:"reachability"`
	Sites        map[string]*sessions.SiteStatus `json:"sites"`
	Program      *trust.Running                  `json:"program,omitempty" doc:"That its agent runs, as it said last."`
	Refused      string                          `json:"refused,omitempty" doc:"Why its agent is not listened to."`
	Release      string                          `json:"release,omitempty" doc:"The version that it is to run."`
	Update       *control.Update                 `json:"update,omitempty" doc:"How far it is with a release, as it said last."`
	Limit        *sessions.Limit                 `json:"limit,omitempty" doc:"Why nothing that it tells is taken in until later: its agent keeps it, and tells it later."`
	Trouble      []sessions.Objection            `json:"trouble,omitempty" doc:"What keeps the host from taking up or telling anything, as its agent said last."`
}

type hostStatusOutput struct{ Body HostStatus }

// RunsPart is the part of a list of runs that is asked for.
type RunsPart struct {
	Before time.Time `query:"before" doc:"Only those that began before."`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most."`
}

type hostRunsInput struct {
	HostName
	RunsPart
}

type runsOutput struct{ Body List[*sessions.RunRecord] }

type hostSiteInput struct {
	HostName
	Site string `path:"site" maxLength:"200" doc:"The name of the site."`
}

// HostReport is the newest report of a host for a site.
type HostReport struct {
	At     time.Time      `json:"at"`
	Report *states.Report `json:"report"`
}

type reportOutput struct{ Body HostReport }

// HostFacts are what a host has told of itself last.
type HostFacts struct {
	At     time.Time                  `json:"at"`
	Facts  map[string]json.RawMessage `json:"facts"`
	Errors map[string]string          `json:"errors,omitempty"`
	Signed *trust.Signed              `json:"signed" doc:"As the host has signed it."`
}

type factsOutput struct{ Body HostFacts }

// registerHostStatus is what agents have told.
func (a *API) registerHostStatus() {
	op := func(id, path, summary, description string) Operation {
		return Operation{ID: id, Method: http.MethodGet, Path: path, Tag: "hosts", Scope: Somewhere, Verb: access.Read, Summary: summary, Description: description,
			Codes: []string{access.CodeNotFound, access.CodeForbidden}}
	}
	Register(a, op("show-host-status", "/v1/hosts/{id}/status", "Tell how a host stands.",
		"What is wanted of it for each site and how far that has come, what its loop does and why, and when it was heard of last. It asks the host nothing."), a.showHostStatus)
	Register(a, op("list-host-runs", "/v1/hosts/{id}/runs", "List the runs of a host.", "The newest first, as its agent has told."), a.hostRuns)
	Register(a, op("show-host-report", "/v1/hosts/{id}/reports/{site}", "Show the newest report of a host for a site.", "What is there, part by part, at the end of the newest run."), a.hostReport)
	Register(a, op("show-host-facts", "/v1/hosts/{id}/facts", "Show the facts of a host.", "As it has told, and signed, them last."), a.hostFacts)
	id := &huma.Param{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}, Description: "The id of the host, or its name."}
	run := &huma.Param{Name: "run", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}, Description: "The id of the run."}
	a.registerRaw(op("list-run-events", "/v1/hosts/{id}/runs/{run}/events", "List the events of a run.", "A line of JSON each, as the host's own records have them, for 30 days."), "application/x-ndjson", []*huma.Param{id, run}, a.runEvents)
}

// readableHost gives a host that the caller may read, and whether its agent is known here.
func (a *API) readableHost(ctx context.Context, c *access.Caller, name string) (*enroll.Host, error) {
	if err := a.demandSessions(); err != nil {
		return nil, err
	}
	return a.host(ctx, c, access.Read, name)
}

// demandSessions refuses what agents have told where the server has none.
func (a *API) demandSessions() error {
	if a.o.Sessions == nil {
		return &diag.HintError{Code: sessions.CodeAway, Message: "this server reaches no hosts"}
	}
	return nil
}

func (a *API) showHostStatus(ctx context.Context, c *access.Caller, in *HostName) (*hostStatusOutput, error) {
	h, err := a.readableHost(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	st := a.statusOf(c, h.ID)
	return &hostStatusOutput{HostStatus{h.ID, h.Name, h.State, st.Reachability, st.Sites, st.Program, st.Refused, st.Release, st.Update, st.Limit, st.Trouble}}, nil
}

func (a *API) hostRuns(ctx context.Context, c *access.Caller, in *hostRunsInput) (*runsOutput, error) {
	h, err := a.readableHost(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	part, err := a.o.Sessions.Runs(ctx, sessions.RunFilter{Hosts: []trust.ID{h.ID}, Before: in.Before, Limit: in.Limit,
		Fits: func(_ trust.ID, site string) bool { return c.May(access.Read, h.Target(), site) }})
	out := &runsOutput{List[*sessions.RunRecord]{Items: append([]*sessions.RunRecord{}, part.Runs...)}}
	return out, err
}

func (a *API) hostReport(ctx context.Context, c *access.Caller, in *hostSiteInput) (*reportOutput, error) {
	h, err := a.readableHost(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	none := &diag.HintError{Code: access.CodeNotFound, Message: "the host has reported nothing of such a site, or nothing that you may see"}
	if !c.May(access.Read, h.Target(), in.Site) {
		return nil, none
	}
	report, at, err := a.o.Sessions.Report(ctx, h.ID, in.Site)
	if err == nil && report == nil {
		err = none
	}
	return &reportOutput{HostReport{at, report}}, err
}

func (a *API) hostFacts(ctx context.Context, c *access.Caller, in *HostName) (*factsOutput, error) {
	h, err := a.readableHost(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	report, signed, err := a.o.Sessions.Facts(ctx, h.ID)
	if err == nil && report == nil {
		err = &diag.HintError{Code: access.CodeNotFound, Message: "the host has told nothing of itself yet"}
	}
	if err != nil {
		return nil, err
	}
	return &factsOutput{HostFacts{report.At, report.Facts, report.Errors, signed}}, nil
}

func (a *API) runEvents(w http.ResponseWriter, r *http.Request) {
	h, err := a.readableHost(r.Context(), callerOf(r.Context()), r.PathValue("id"))
	var lines []byte
	if err == nil {
		lines, err = a.eventsOf(r.Context(), callerOf(r.Context()), h, r.PathValue("run"))
	}
	if err != nil {
		a.problem(err).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = w.Write(lines) // who does not read it gets none
}

func (a *API) eventsOf(ctx context.Context, c *access.Caller, h *enroll.Host, run string) ([]byte, error) {
	site, err := a.o.Sessions.SiteOf(ctx, h.ID, run)
	if site == "" { // of whichever site it was: who may read all of them may read it
		site = access.All
	}
	if err == nil && !c.May(access.Read, h.Target(), site) {
		err = noRun(run)
	}
	if err != nil {
		return nil, err
	}
	return a.o.Sessions.Events(ctx, h.ID, run)
}

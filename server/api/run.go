package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/states"
)

// RunDetail is a run with what was there at its end.
type RunDetail struct {
	Run
	Lines  int64      `json:"lines" doc:"How many events it has told."`
	Report *RunReport `json:"report,omitempty" doc:"Of the newest run of the host for the site alone: of others there are events."`
}

// RunReport is the report of a run by its parts.
type RunReport struct {
	At     time.Time           `json:"at"`
	Ready  bool                `json:"ready"`
	States map[string]int      `json:"states" nullable:"false" doc:"All parts by their state: present, absent, creating, removing, pending, error or done."`
	Fits   int                 `json:"fits" doc:"How many parts there are by the filters."`
	Parts  []states.PartReport `json:"parts" nullable:"false"`
}

type runInput struct {
	HostName
	Run     string   `path:"run" maxLength:"200" doc:"The id of the run."`
	State   []string `query:"state" maxItems:"7" enum:"present,absent,creating,removing,pending,error,done" doc:"Only parts in one of these states."`
	Changed bool     `query:"changed" doc:"Only parts that the run has changed."`
	After   int      `query:"after" minimum:"0" doc:"How many of the parts that fit to leave out."`
	Limit   int      `query:"limit" minimum:"1" maximum:"20000" default:"1000" doc:"How many parts at most."`
}

type runOutput struct{ Body RunDetail }

type linesInput struct {
	HostName
	Run      string   `path:"run" maxLength:"200" doc:"The id of the run."`
	After    int64    `query:"after" minimum:"0" doc:"The number of the line after which to begin: next of the part before."`
	Limit    int      `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"How many lines at most."`
	Type     []string `query:"type" maxItems:"20" doc:"Only events of these types, such as part."`
	Outcome  []string `query:"outcome" maxItems:"10" doc:"Only events with one of these outcomes, such as failed."`
	Address  string   `query:"address" maxLength:"1000" doc:"Only events of this part, or of the parts of this invocation."`
	Contains string   `query:"contains" maxLength:"200" doc:"Only events with this in one of their texts; capital letters count as small ones."`
}

// RunLines are a part of the events of a run.
type RunLines struct {
	Items []sessions.Line `json:"items" nullable:"false"`
	Next  int64           `json:"next,omitempty" doc:"The line after which it goes on; none: there are no more until now."`
	Total int64           `json:"total" doc:"How many lines the run has until now, whatever the filters."`
}

type linesOutput struct{ Body RunLines }

func (a *API) registerRun() {
	op := func(id, path, summary, description string) Operation {
		return Operation{ID: id, Method: http.MethodGet, Path: path, Tag: "runs", Scope: Somewhere, Verb: access.Read, Summary: summary, Description: description,
			Codes: []string{access.CodeNotFound, access.CodeForbidden}}
	}
	Register(a, op("show-run", "/v1/hosts/{id}/runs/{run}", "Show a run.", "With its report by parts, where it is the newest of the host for its site."), a.showRun)
	Register(a, op("list-run-lines", "/v1/hosts/{id}/runs/{run}/lines", "List the events of a run by their numbers.",
		"A part of them at a time, with filters. A part may have fewer lines than were asked for, or none, and a next all the same: then few of those that were looked at fit."), a.runLines)
}

// readableRun gives a run that the caller may read.
func (a *API) readableRun(ctx context.Context, c *access.Caller, host, run string) (*enroll.Host, *sessions.RunRecord, error) {
	h, err := a.readableHost(ctx, c, host)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.o.Sessions.RunOf(ctx, h.ID, run)
	if err == nil && (r == nil || !c.May(access.Read, h.Target(), r.Site)) {
		err = noRun(run)
	}
	return h, r, err
}

func noRun(run string) error {
	return &diag.HintError{Code: access.CodeNotFound, Message: fmt.Sprintf("there is no run %.80q of the host, or none that you may see", run), Hint: "list the runs of the host"}
}

func (a *API) showRun(ctx context.Context, c *access.Caller, in *runInput) (*runOutput, error) {
	h, r, err := a.readableRun(ctx, c, in.ID, in.Run)
	if err != nil {
		return nil, err
	}
	out := &runOutput{RunDetail{Run: Run{*r, h.Name, r.Outcome()}}}
	if out.Body.Lines, err = a.o.Sessions.CountLines(ctx, h.ID, in.Run); err != nil {
		return nil, err
	}
	report, at, err := a.o.Sessions.Report(ctx, h.ID, r.Site)
	if err != nil {
		return nil, err
	}
	if report != nil && report.Run == in.Run {
		out.Body.Report = in.report(report, at)
	}
	return out, nil
}

// report gives the parts that were asked for.
func (in *runInput) report(r *states.Report, at time.Time) *RunReport {
	out := &RunReport{At: at, Ready: r.Ready, States: map[string]int{}, Parts: []states.PartReport{}}
	for i := range r.Parts {
		p := &r.Parts[i]
		out.States[p.State]++
		if len(in.State) > 0 && !slices.Contains(in.State, p.State) || in.Changed && !p.Changed {
			continue
		}
		if out.Fits++; out.Fits > in.After && len(out.Parts) < in.Limit {
			out.Parts = append(out.Parts, *p)
		}
	}
	return out
}

func (a *API) runLines(ctx context.Context, c *access.Caller, in *linesInput) (*linesOutput, error) {
	h, _, err := a.readableRun(ctx, c, in.ID, in.Run)
	if err != nil {
		return nil, err
	}
	part, err := a.o.Sessions.Lines(ctx, h.ID, in.Run, sessions.LineFilter{After: in.After, Limit: in.Limit, Types: in.Type, Outcomes: in.Outcome, Address: in.Address, Contains: in.Contains})
	if part.Lines == nil {
		part.Lines = []sessions.Line{}
	}
	return &linesOutput{RunLines{part.Lines, part.Next, part.Total}}, err
}

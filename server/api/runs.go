package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
)

// Run is a run of a host, as lists have it.
type Run struct {
	sessions.RunRecord
	Name    string           `json:"name" doc:"Of the host."`
	Outcome sessions.Outcome `json:"outcome" enum:"running,failed,changed,unchanged" doc:"What the run has come to. One that has failed may have changed something, too."`
}

type runsInput struct {
	Page
	Select  access.Selector  `query:"select" maxLength:"4096" doc:"Only those of hosts that a selector names, such as web*,role=db,!web3."`
	Host    string           `query:"host" maxLength:"200" doc:"Only those of this host, by its id or its name."`
	Site    string           `query:"site" maxLength:"200" doc:"Only those of this site."`
	Outcome sessions.Outcome `query:"outcome" enum:"running,failed,changed,unchanged" doc:"Only those that have come to this."`
	Before  time.Time        `query:"before" doc:"Only those that began before."`
}

// fewHosts is up to how many hosts are looked at one by one for their runs: where there are more, enough runs of all are theirs.
const fewHosts = 1000

func (a *API) registerRuns() {
	Register(a, Operation{ID: "list-runs", Method: http.MethodGet, Path: "/v1/runs", Tag: "runs", Scope: Somewhere, Verb: access.Read, Summary: "List the runs of all hosts.",
		Description: "The newest first, those that the caller may read, as agents have told. A page may have fewer than were asked for, or none, and a cursor all the same: then few of the runs that were looked at fit, and the list goes on by it.",
		Codes:       []string{codeCursor, access.CodeNotFound, access.CodeForbidden}}, a.listRuns)
}

// name is that of the list with its filters, for its cursors.
func (in *runsInput) name() string {
	return fmt.Sprintf("list-runs %q %q %q %q %d", in.Select.String(), in.Host, in.Site, in.Outcome, in.Before.UnixMicro())
}

func (a *API) listRuns(ctx context.Context, c *access.Caller, in *runsInput) (*ListOutput[Run], error) {
	if err := a.demandSessions(); err != nil {
		return nil, err
	}
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	f := sessions.RunFilter{Outcome: in.Outcome, Before: in.Before, Limit: in.Limit, Sites: sitesToRead(c, in.Site), Fits: a.readsRun(c, in.Select)}
	var after sessions.RunPosition
	isLater, err := a.ReadCursor(c, in.name(), in.Cursor, &after)
	if err != nil {
		return nil, err
	}
	if isLater {
		f.After = &after
	}
	if f.Hosts, err = a.hostsOfRuns(ctx, c, in); err != nil {
		return nil, err
	}
	part, err := a.o.Sessions.Runs(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &ListOutput[Run]{List[Run]{Items: a.named(part.Runs)}}
	if part.Next != nil {
		out.Body.Next, err = a.NewCursor(c, in.name(), part.Next)
	}
	return out, err
}

// named adds to runs the names of their hosts.
func (a *API) named(runs []*sessions.RunRecord) []Run {
	list := make([]Run, len(runs))
	for i, r := range runs {
		_, target, _ := a.o.Hosts.State(r.Host)
		list[i] = Run{*r, target.Name, r.Outcome()}
	}
	return list
}

// readsRun tells which runs a caller may read, of the hosts of a selector.
func (a *API) readsRun(c *access.Caller, s access.Selector) func(trust.ID, string) bool {
	selects := s.String() != ""
	return func(id trust.ID, site string) bool {
		_, target, known := a.o.Hosts.State(id)
		return known && c.May(access.Read, target, site) && (!selects || s.Matches(target))
	}
}

// sitesToRead lists the sites of which a caller may read something, of the one that is asked for; nil: any.
func sitesToRead(c *access.Caller, asked string) []string {
	if asked != "" {
		return []string{asked}
	}
	return c.Sites(access.Read)
}

// hostsOfRuns lists the hosts whose runs are asked for and may be read, if they are few; nil: they are not.
func (a *API) hostsOfRuns(ctx context.Context, c *access.Caller, in *runsInput) ([]trust.ID, error) {
	if in.Host != "" {
		h, err := a.host(ctx, c, access.Read, in.Host)
		if err != nil {
			return nil, err
		}
		return []trust.ID{h.ID}, nil
	}
	all, err := a.o.Hosts.Briefly(ctx, enroll.Filter{Fits: selectReadable(c, in.Select)})
	if err != nil {
		return nil, err
	}
	list := []trust.ID{}
	for h := range all {
		if list = append(list, h.ID); len(list) > fewHosts {
			return nil, nil
		}
	}
	return list, nil
}

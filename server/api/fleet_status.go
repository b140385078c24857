package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
)

// ListedHost is a host of a list: who it is, and how it stands.
type ListedHost struct {
	enroll.Host
	Status *sessions.Status `json:"status,omitempty" doc:"As far as the caller may read it; none where this server reaches no hosts."`
}

// StatusFilter says which hosts are meant by how they stand. Of what is about a site, one site has to fit all of it.
type StatusFilter struct {
	Site         string               `query:"site" maxLength:"200" doc:"Only those of which this site wants something."`
	Reachability []sessions.Reach     `query:"reachability" maxItems:"3" enum:"connected,silent,lost" doc:"Only those that are so reachable."`
	Delivery     []sessions.Progress  `query:"delivery" maxItems:"3" enum:"pending,held,adopted" doc:"Only those to which what is wanted has come so far."`
	Readiness    []sessions.Readiness `query:"readiness" maxItems:"3" enum:"ready,not-ready,unknown" doc:"Only those whose newest report says so."`
	Phase        []control.Phase      `query:"phase" maxItems:"10" enum:"waiting,discovering,validating,applying,retrying,reverting,blocked,help,removing,gone" doc:"Only those whose loop is in one of these phases, such as help."`
}

// isEmpty tells whether all hosts are meant.
func (f *StatusFilter) isEmpty() bool {
	return len(f.Reachability) == 0 && !f.isAboutSites()
}

func (f *StatusFilter) isAboutSites() bool {
	return f.Site != "" || len(f.Delivery)+len(f.Readiness)+len(f.Phase) > 0
}

// fits tells whether a host is meant.
func (f *StatusFilter) fits(st *sessions.Status) bool {
	if !fitsOne(f.Reachability, st.Reachability.Reach()) {
		return false
	}
	if !f.isAboutSites() {
		return true
	}
	for site, s := range st.Sites {
		if (f.Site == "" || f.Site == site) && fitsOne(f.Delivery, s.Delivery.Progress()) && fitsOne(f.Readiness, s.Readiness()) && fitsOne(f.Phase, phaseOf(s)) {
			return true
		}
	}
	return false
}

// fitsOne tells whether a value is among those that are wanted; none: any is.
func fitsOne[T comparable](wanted []T, value T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// phaseOf is that of a site's loop; empty: it has not told of one.
func phaseOf(s *sessions.SiteStatus) control.Phase {
	if s.Loop == nil {
		return ""
	}
	return s.Loop.Phase
}

// FleetStatus counts hosts by how they stand. What is about a site counts each site of a host for itself.
type FleetStatus struct {
	States       map[enroll.State]int       `json:"states" nullable:"false" doc:"Hosts by their enrolment."`
	Reachability map[sessions.Reach]int     `json:"reachability" nullable:"false" doc:"Hosts that were taken in, by when they were heard of."`
	Delivery     map[sessions.Progress]int  `json:"delivery" nullable:"false" doc:"Sites of hosts, by how far what is wanted has come."`
	Readiness    map[sessions.Readiness]int `json:"readiness" nullable:"false" doc:"Sites of hosts, by what the newest report says."`
	Phases       map[control.Phase]int      `json:"phases" nullable:"false" doc:"Sites of hosts, by the phase of the loop; empty: it has told of none."`
}

type fleetStatusInput struct {
	Select access.Selector `query:"select" maxLength:"4096" doc:"Only the hosts that a selector names, such as web*,role=db,!web3."`
	Site   string          `query:"site" maxLength:"200" doc:"Only what is about this site."`
}

type fleetStatusOutput struct{ Body FleetStatus }

func (a *API) registerFleetStatus() {
	Register(a, Operation{ID: "show-status", Method: http.MethodGet, Path: "/v1/status", Tag: "hosts", Scope: Somewhere, Verb: access.Read, Summary: "Tell how all hosts stand.",
		Description: "Counts, by enrolment, reachability, delivery and state, of the hosts that the caller may read. The list of hosts has filters by the same words.",
		Codes:       []string{access.CodeForbidden}}, a.fleetStatus)
}

func (a *API) fleetStatus(ctx context.Context, c *access.Caller, in *fleetStatusInput) (*fleetStatusOutput, error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	out := FleetStatus{map[enroll.State]int{}, map[sessions.Reach]int{}, map[sessions.Progress]int{}, map[sessions.Readiness]int{}, map[control.Phase]int{}}
	hosts, err := a.o.Hosts.Briefly(ctx, enroll.Filter{Fits: selectReadable(c, in.Select)})
	if err != nil {
		return nil, err
	}
	for id, state := range hosts {
		st := a.statusOf(c, id)
		if in.Site != "" && (st == nil || st.Sites[in.Site] == nil) {
			continue
		}
		out.States[state]++
		if st == nil || !a.o.Hosts.MayReport(id) {
			continue
		}
		out.Reachability[st.Reachability.Reach()]++
		for site, s := range st.Sites {
			if in.Site == "" || in.Site == site {
				out.Delivery[s.Delivery.Progress()]++
				out.Readiness[s.Readiness()]++
				out.Phases[phaseOf(s)]++
			}
		}
	}
	return &fleetStatusOutput{out}, nil
}

// selectReadable has a list name the hosts of a selector that the caller may read.
func selectReadable(c *access.Caller, s access.Selector) func(access.Target) bool {
	selects := s.String() != ""
	return func(t access.Target) bool { return c.May(access.Read, t, "") && (!selects || s.Matches(t)) }
}

// statusOf is how a host stands, as far as the caller may read it; nil: this server reaches no hosts.
func (a *API) statusOf(c *access.Caller, id trust.ID) *sessions.Status {
	if a.o.Sessions == nil {
		return nil
	}
	st := a.o.Sessions.Status(id)
	_, target, _ := a.o.Hosts.State(id)
	for site := range st.Sites {
		if !c.May(access.Read, target, site) {
			delete(st.Sites, site)
		}
	}
	return &st
}

// withStatus adds to hosts how they stand.
func (a *API) withStatus(c *access.Caller, hosts []*enroll.Host) []ListedHost {
	list := make([]ListedHost, len(hosts))
	for i, h := range hosts {
		hideReplaced(c, h)
		list[i] = ListedHost{Host: *h, Status: a.statusOf(c, h.ID)}
	}
	return list
}

// name is that of a list with this filter, for its cursors.
func (f *StatusFilter) name() string {
	return fmt.Sprintf("%q %q %q %q %q", f.Site, f.Reachability, f.Delivery, f.Readiness, f.Phase)
}

package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
)

// ListedHost is a host of a list: who it is, and how it stands.
type ListedHost struct {
	enroll.Host
	Status  *sessions.Status `json:"status,omitempty" doc:"As far as the caller may read it; none where this server reaches no hosts."`
	Changed *time.Time       `json:"changed,omitempty" doc:"When a run ended last that has changed something there; none: it is not known."`
}

// StatusFilter says which hosts are meant by how they stand. Of what is about a site, one site has to fit all of it.
type StatusFilter struct {
	Site         string               `query:"site" maxLength:"200" doc:"Only those of which this site wants something."`
	Reachability []sessions.Reach     `query:"reachability" maxItems:"3" enum:"connected,silent,lost" doc:"Only those that are so reachable."`
	Delivery     []sessions.Progress  `query:"delivery" maxItems:"3" enum:"pending,held,adopted" doc:"Only those to which what is wanted has come so far."`
	Readiness    []sessions.Readiness `query:"readiness" maxItems:"3" enum:"ready,not-ready,unknown" doc:"Only those whose newest report says so."`
	Drift        []sessions.Drift     `query:"drift" maxItems:"3" enum:"none,drifted,mended" doc:"Only those that differ from what is wanted and are left so, or were put right within a day."`
	Phase        []control.Phase      `query:"phase" maxItems:"10" enum:"waiting,discovering,validating,applying,retrying,reverting,blocked,help,removing,gone" doc:"Only those whose loop is in one of these phases, such as help."`
	Words        string               `query:"words" maxLength:"400" doc:"Only those for which each of these words, ten at most, occurs in the name, the id, a label, a site, its revision, phase or reason; capital letters count as small ones."`
}

// isEmpty tells whether all hosts are meant.
func (f *StatusFilter) isEmpty() bool {
	return len(f.Reachability) == 0 && !f.isAboutSites() && f.Words == ""
}

func (f *StatusFilter) isAboutSites() bool {
	return f.Site != "" || len(f.Delivery)+len(f.Readiness)+len(f.Phase)+len(f.Drift) > 0
}

// fitsSite tells whether a host is meant by how it stands with a site.
func (f *StatusFilter) fitsSite(g *sessions.Glance) bool {
	return (f.Site == "" || f.Site == g.Site) && fitsOne(f.Delivery, g.Progress) && fitsOne(f.Readiness, g.Readiness) && fitsOne(f.Drift, g.Drift) && fitsOne(f.Phase, g.Phase)
}

// fitsOne tells whether a value is among those that are wanted; none: any is.
func fitsOne[T comparable](wanted []T, value T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// fitting tells which hosts are meant, as far as the caller may read how they stand; nil: all are.
func (a *API) fitting(c *access.Caller, f *StatusFilter) func(*enroll.Brief) bool {
	if f.isEmpty() {
		return nil
	}
	wanted := wordsOf(f.Words)
	var room words
	if a.o.Sessions == nil { // then nobody stands in any way
		return func(h *enroll.Brief) bool {
			room = wanted.without(h.Text, room)
			return len(room) == 0 && !f.isAboutSites() && len(f.Reachability) == 0
		}
	}
	at := a.o.Sessions.Glances()
	return func(h *enroll.Brief) bool {
		left := wanted.without(h.Text, room)
		room = left
		fits := !f.isAboutSites()
		if fits && len(left) == 0 && len(f.Reachability) == 0 {
			return true
		}
		reach := at.Host(h.ID, func(g *sessions.Glance) bool {
			if !c.May(access.Read, h.Target, g.Site) {
				return true
			}
			fits = fits || f.fitsSite(g)
			left = left.without(g.Text, left)
			return !fits || len(left) > 0
		})
		return fits && len(left) == 0 && fitsOne(f.Reachability, reach)
	}
}

// Standing counts sites of hosts by how they stand.
type Standing struct {
	Delivery  map[sessions.Progress]int  `json:"delivery" nullable:"false" doc:"Sites of hosts, by how far what is wanted has come."`
	Readiness map[sessions.Readiness]int `json:"readiness" nullable:"false" doc:"Sites of hosts, by what the newest report says."`
	Phases    map[control.Phase]int      `json:"phases" nullable:"false" doc:"Sites of hosts, by the phase of the loop; empty: it has told of none."`
	Drift     map[sessions.Drift]int     `json:"drift" nullable:"false" doc:"Sites of hosts, by whether something differs from what is wanted, or did within a day."`
}

func newStanding() Standing {
	return Standing{map[sessions.Progress]int{}, map[sessions.Readiness]int{}, map[control.Phase]int{}, map[sessions.Drift]int{}}
}

func (s *Standing) add(g *sessions.Glance) {
	s.Delivery[g.Progress]++
	s.Readiness[g.Readiness]++
	s.Phases[g.Phase]++
	s.Drift[g.Drift]++
}

// FleetStatus counts hosts by how they stand. What is about a site counts each site of a host for itself.
type FleetStatus struct {
	States       map[enroll.State]int   `json:"states" nullable:"false" doc:"Hosts by their enrolment."`
	Reachability map[sessions.Reach]int `json:"reachability" nullable:"false" doc:"Hosts that were taken in, by when they were heard of."`
	Standing
	Recovering bool                      `json:"recovering,omitempty" doc:"The server was restored from a backup, or taken back in time: nothing is delivered until a person has decided."`
	Full       bool                      `json:"full,omitempty" doc:"There is so little room that nothing is taken in from hosts, and no deployment begins."`
	Broker     string                    `json:"broker,omitempty" doc:"Why agents cannot be reached by the cluster of NATS."`
	Questions  int                       `json:"questions" doc:"Hosts on which a person is to decide, since copies of many were noticed at once."`
	Sites      map[string]*Standing      `json:"sites" nullable:"false" doc:"The same for each site."`
	Labels     map[string]map[string]int `json:"labels,omitempty" doc:"Where they were asked for: hosts that were taken in, by the values of each label. One with more than 200 values is left out."`
}

type fleetStatusInput struct {
	Select access.Selector `query:"select" maxLength:"4096" doc:"Only the hosts that a selector names, such as web*,role=db,!web3."`
	Site   string          `query:"site" maxLength:"200" doc:"Only what is about this site."`
	Labels bool            `query:"labels" doc:"Count hosts by their labels, too."`
}

type fleetStatusOutput struct{ Body *FleetStatus }

func (a *API) registerFleetStatus() {
	Register(a, Operation{ID: "show-status", Method: http.MethodGet, Path: "/v1/status", Tag: "hosts", Scope: Somewhere, Verb: access.Read, Summary: "Tell how all hosts stand.",
		Description: "Counts, by enrolment, reachability, delivery, state and drift, of the hosts that the caller may read, and of each site. The list of hosts has filters by the same words.",
		Codes:       []string{access.CodeForbidden}}, a.fleetStatus)
}

func (a *API) fleetStatus(ctx context.Context, c *access.Caller, in *fleetStatusInput) (*fleetStatusOutput, error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	hosts, err := a.o.Hosts.Briefly(ctx, enroll.Filter{Fits: selectReadable(c, in.Select)})
	if err != nil {
		return nil, err
	}
	out := &FleetStatus{States: map[enroll.State]int{}, Reachability: map[sessions.Reach]int{}, Standing: newStanding(), Sites: map[string]*Standing{}}
	if in.Labels {
		out.Labels = map[string]map[string]int{}
	}
	count := out.counter(c, in.Site)
	var at *sessions.Glances
	if a.o.Sessions != nil {
		at, out.Recovering = a.o.Sessions.Glances(), a.o.Sessions.Recovering()
	}
	l := a.limits()
	out.Full, out.Broker = l.IsFull(), a.brokerStatus().Reason
	for h := range hosts {
		if a.o.Sessions == nil {
			if in.Site == "" {
				out.addHost(h)
			}
			continue
		}
		count(at, h)
	}
	out.leaveOut()
	return &fleetStatusOutput{out}, nil
}

// counter counts hosts that a site wants something of; empty: all hosts.
func (s *FleetStatus) counter(c *access.Caller, site string) func(*sessions.Glances, *enroll.Brief) {
	var host *enroll.Brief
	isMeant := false
	each := func(g *sessions.Glance) bool {
		if site != "" && g.Site != site || !c.May(access.Read, host.Target, g.Site) {
			return true
		}
		isMeant = true
		if host.MayReport() {
			s.add(g)
			one := s.Sites[g.Site]
			if one == nil {
				one = new(newStanding())
				s.Sites[g.Site] = one
			}
			one.add(g)
		}
		return true
	}
	return func(at *sessions.Glances, h *enroll.Brief) {
		host, isMeant = h, site == ""
		reach := at.Host(h.ID, each)
		if !isMeant {
			return
		}
		s.addHost(h)
		if h.MayReport() {
			s.Reachability[reach]++
		}
	}
}

// addHost counts a host by what is known of it whatever it tells.
func (s *FleetStatus) addHost(h *enroll.Brief) {
	s.States[h.State]++
	if h.Question {
		s.Questions++
	}
	if s.Labels == nil || !h.MayReport() {
		return
	}
	for label, value := range h.Target.Labels {
		values := s.Labels[label]
		if values == nil {
			values = map[string]int{}
			s.Labels[label] = values
		}
		if len(values) <= maxLabelValues {
			values[value]++
		}
	}
}

// maxLabelValues is how many values a label has at most by which hosts are counted: of those that all differ, as serial numbers do, nobody wants to know.
const maxLabelValues = 200

// leaveOut leaves out labels of too many values.
func (s *FleetStatus) leaveOut() {
	maps.DeleteFunc(s.Labels, func(_ string, values map[string]int) bool { return len(values) > maxLabelValues })
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
		st := a.statusOf(c, h.ID)
		list[i] = ListedHost{Host: *h, Status: st, Changed: changedOf(st)}
	}
	return list
}

// changedOf is when a run ended last that has changed something; nil: it is not known.
func changedOf(st *sessions.Status) (newest *time.Time) {
	if st == nil {
		return nil
	}
	for _, s := range st.Sites {
		if s.Report != nil && !s.Report.Changed.IsZero() && (newest == nil || s.Report.Changed.After(*newest)) {
			newest = &s.Report.Changed
		}
	}
	return newest
}

// name is that of a list with this filter, for its cursors.
func (f *StatusFilter) name() string {
	return fmt.Sprintf("%q %q %q %q %q %q %q", f.Site, f.Reachability, f.Delivery, f.Readiness, f.Phase, f.Drift, wordsOf(f.Words))
}

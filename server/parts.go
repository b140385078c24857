package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/follow"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/update"
	"github.com/tenetcm/tenet/server/web"
)

// hostChanged ends the connections of a host that may have them no longer, and those to it of people who may have them no longer.
func (s *Server) hostChanged(id trust.ID) {
	if s.api != nil {
		s.api.HostChanged(id)
		s.publishHost(id)
	}
	if s.Sessions == nil {
		return
	}
	if !s.Hosts.MayReceive(id) {
		s.Sessions.EndConnections(id)
	}
	if s.Hosts.MayReport(id) {
		return
	}
	if err := s.broker.Disconnect(link.Address{Host: id}); err != nil {
		s.Failed(err)
	}
}

// hostRekeyed ends what a host has connected by its former key: it comes back by the present one, and nobody else does.
func (s *Server) hostRekeyed(id trust.ID) {
	if s.broker == nil {
		return
	}
	if err := s.broker.Disconnect(link.Address{Host: id}); err != nil {
		s.Failed(err)
	}
}

// publishHost says that something about a host was decided, or that it has asked.
func (s *Server) publishHost(id trust.ID) {
	_, target, _ := s.Hosts.State(id)
	data, err := json.Marshal(hostEvent{Host: id, Name: target.Name})
	if err != nil {
		s.Failed(err)
		return
	}
	s.api.Feed().Publish(api.Event{Type: "host.changed", Host: target, Data: data})
}

// hostEvent is the data of an event about a host.
type hostEvent struct {
	Host trust.ID `json:"host"`
	Name string   `json:"name"`
	What any      `json:"what,omitempty"`
}

func (s *Server) openSessions(ctx context.Context) (err error) {
	s.Sessions, err = sessions.Open(ctx, sessions.Options{
		Store: s.Store, Broker: s.broker, Hosts: s.Hosts, Signer: s.Authority, Term: uint64(s.term.Number), Failed: s.Failed, Told: s.told, IsFull: s.isFull,
		Program: s.Version, Quota: s.HostQuota, Standby: s.isStandby,
	})
	return err
}

// told takes what a host has told to those who wait for it.
func (s *Server) told(host trust.ID, items []*control.Item) {
	if s.Deployments != nil {
		s.Deployments.Told(host, items)
	}
	if s.Updates != nil {
		s.Updates.Told(items)
	}
	if s.api == nil {
		return
	}
	_, target, _ := s.Hosts.State(host)
	hasParts := false
	for _, i := range items {
		e := api.Event{Host: target}
		var data any
		switch {
		case i.Loop != nil:
			e.Type, e.Site, data = "host.loop", i.Loop.Site, i.Loop
		case i.Run != nil:
			short := *i.Run
			short.Report = nil
			e.Type, e.Site, data = "host.run", i.Run.Site, short
		case i.Event != nil && !hasParts: // what they say is in the records of the run
			hasParts = true
			e.Type, e.Site = "host.events", i.Event.Site
		default:
			continue
		}
		text, err := json.Marshal(hostEvent{host, target.Name, data})
		if err != nil {
			s.Failed(err)
			continue
		}
		e.Data = text
		s.api.Feed().Publish(e)
	}
}

func (s *Server) openDeployments(context.Context) error {
	dir := filepath.Join(s.Dir, "sites")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s.evaluations.Evaluator = &evaluate.Evaluator{Command: s.Evaluator, Program: s.Version}
	hosts := &hostList{store: s.Store}
	s.Deployments = deploy.New(deploy.Options{
		Store: s.Store, Contents: s.Contents, Dir: dir, Hosts: hosts, Seen: sessionView{s.Sessions}, Targets: targets{s}, Planner: planner{s.Sessions}, Signatures: signatures{s},
		Report: s.Sessions.Report, Reports: s.Sessions.Reports, Evaluate: &s.evaluations, Keys: s.Keys, Program: s.Version, IsFull: s.isFull,
		Published: s.deploymentChanged, ClusterChanged: s.clusterChanged,
	})
	s.Sources = follow.New(follow.Options{Store: s.Store, Dir: s.Dir, Credentials: s.GitCredentials, Deployments: s.Deployments, Changed: s.sourceChanged})
	view := sessionView{s.Sessions}
	s.Updates = update.New(update.Options{
		Store: s.Store, Contents: s.Contents, Chain: s.Authority.Chain, Want: s.Sessions.Want, IsFull: s.isFull,
		Hosts: func(ctx context.Context) (list []update.Enrolled, err error) {
			all, err := hosts.List(ctx)
			for _, e := range all {
				list = append(list, update.Enrolled{ID: e.ID, Name: e.Name, Labels: e.Labels, Locked: e.Locked})
			}
			return list, err
		},
		Look: func(id trust.ID) update.Look {
			st := s.Sessions.Status(id)
			return update.Look{Away: view.Away(id), Program: st.Program, Update: st.Update}
		},
	})
	return nil
}

func (s *Server) deploymentChanged(site string, deployment int64, phase deploy.Phase) {
	if s.Sources != nil {
		s.Sources.Poke()
	}
	if s.api == nil {
		return
	}
	data, err := json.Marshal(struct {
		Deployment int64        `json:"deployment"`
		Phase      deploy.Phase `json:"phase"`
	}{deployment, phase})
	if err != nil {
		s.Failed(err)
		return
	}
	s.api.Feed().Publish(api.Event{Type: "deployment.changed", Site: site, Data: data})
}

func (s *Server) sourceChanged(site, name string, r source.Report) {
	if s.api == nil {
		return
	}
	data, err := json.Marshal(struct {
		Source   string       `json:"source"`
		Revision string       `json:"revision"`
		Phase    source.Phase `json:"phase"`
	}{name, r.Revision.ID, r.Phase})
	if err != nil {
		s.Failed(err)
		return
	}
	s.api.Feed().Publish(api.Event{Type: "source.changed", Site: site, Data: data})
}

func (s *Server) clusterChanged(site, cluster string) {
	if s.api == nil {
		return
	}
	data, err := json.Marshal(struct {
		Cluster string `json:"cluster"`
	}{cluster})
	if err != nil {
		s.Failed(err)
		return
	}
	s.api.Feed().Publish(api.Event{Type: "cluster.changed", Site: site, Data: data})
}

func (s *Server) openAPI(context.Context) error {
	key, err := s.Authority.Secret("cursors")
	if err != nil {
		return err
	}
	s.People = access.NewDirectory(s.Store, access.Options{})
	var provider *access.Provider
	if s.Identity.Issuer != "" {
		s.Identity.Callback = s.url + api.IdentityCallback
		if provider, err = access.NewProvider(s.People, s.Identity); err != nil {
			return err
		}
	}
	s.api = api.New(api.Options{People: s.People, Identity: provider, Hosts: s.Hosts, Authority: s.Authority, Deployments: s.Deployments, Sources: s.Sources, Updates: s.Updates, Sessions: s.Sessions, Broker: s.brokerReached, IsCluster: len(s.Brokers) > 0, Metrics: s.metrics, Version: s.Version, CursorKey: key, Standby: s.isStandby,
		Room:    api.Room{Free: s.freeSpace, Least: minFree, KeepRuns: keepEvents},
		OnFault: func(id string, err error) { s.Failed(fmt.Errorf("fault %s: %w", id, err)) }})
	s.pages, err = web.New(web.Options{API: s.api.Handler(), Version: s.Version, HasIdentity: provider != nil, Standby: s.isStandby, OnFault: s.Failed})
	return err
}

// silence is a log for what clients do wrong with TLS and HTTP, which is nobody's concern.
func silence() *log.Logger { return log.New(discard{}, "", 0) }

type discard struct{}

// Write drops it.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// sessionView is what hosts have told: deploy.Seen, by the methods of Sessions where these fit.
type sessionView struct{ *sessions.Sessions }

// Away is deploy.Seen's.
func (s sessionView) Away(host trust.ID) time.Time {
	r := s.Reachability(host)
	switch {
	case r.Connected:
		return time.Time{}
	case r.Seen.IsZero():
		return s.Started()
	}
	return r.Seen
}

// Objection is deploy.Objections's.
func (s sessionView) Objection(host trust.ID, site string) *deploy.Objection {
	st := s.Status(host).Sites[site]
	if st == nil || st.Delivery.Refused == nil {
		return nil
	}
	o := st.Delivery.Refused
	return &deploy.Objection{Position: *st.Delivery.Target, Why: o.String(), Cure: o.Cure()}
}

// Facts is deploy.Seen's.
func (s sessionView) Facts(host trust.ID) (map[string]json.RawMessage, time.Time) {
	report, _, err := s.Sessions.Facts(context.Background(), host)
	if err != nil || report == nil {
		if err != nil {
			s.Failed(err)
		}
		return nil, time.Time{}
	}
	return report.Facts, report.At
}

// Outputs is deploy.Seen's.
func (s sessionView) Outputs(host trust.ID, site string) (map[string]json.RawMessage, time.Time) {
	values, changed, err := s.Sessions.Outputs(context.Background(), host, site)
	if err != nil {
		s.Failed(err)
	}
	return values, changed
}

// targets take what hosts are to be.
type targets struct{ *Server }

// Assign is deploy.Targets'.
func (t targets) Assign(tx store.Tx, host trust.ID, a *trust.Assignment) error {
	return t.Sessions.Assign(tx, host, a)
}

// Wake is deploy.Targets'.
func (t targets) Wake(ctx context.Context, hosts ...trust.ID) error {
	return t.Sessions.Wake(ctx, hosts...)
}

// planner asks hosts what they would do.
type planner struct{ *sessions.Sessions }

// Plan is deploy.Planner's.
func (p planner) Plan(ctx context.Context, host trust.ID, site string, prepared *deploy.Prepared) (*deploy.HostPlan, error) {
	rows, err := p.Sessions.Plan(ctx, host, site, prepared.Bundle, prepared.Files)
	plan := &deploy.HostPlan{Identity: prepared.Identity, Rows: rows, At: time.Now().UTC()}
	if refused, isMachine := err.(*diag.HintError); isMachine && refused.Code != sessions.CodeAway && refused.Code != "" {
		plan.Error = refused.Error()
		return plan, nil
	}
	return plan, err
}

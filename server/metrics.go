package server

import (
	"context"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/server/evaluate"
)

// metricsPatience is how long the store may take for what only it knows.
const metricsPatience = 5 * time.Second

// metrics are the numbers of this server besides those of its API.
func (s *Server) metrics() []telemetry.Metric {
	one := telemetry.One
	list := []telemetry.Metric{
		{Name: "tenet_build_info", Kind: telemetry.Gauge, Help: "The version of the server.", Points: []telemetry.Point{{Labels: []telemetry.Label{{Name: "version", Value: s.Version}}, Value: 1}}},
		one("tenet_start_time_seconds", telemetry.Gauge, "When the server became the active one, since 1970.", float64(s.Sessions.Started().Unix())),
		one("tenet_term", telemetry.Gauge, "The term of the active server, which grows each time that one becomes it.", float64(s.term.Number)),
		one("tenet_standby", telemetry.Gauge, "Whether another server is the active one.", telemetry.Bool(s.isStandby)),
		one("tenet_recovering", telemetry.Gauge, "Whether nothing is delivered until a person resumes the server.", telemetry.Bool(s.Sessions.Recovering())),
		one("tenet_broker_connected", telemetry.Gauge, "Whether agents can be reached by the broker.", telemetry.Bool(s.brokerReached() == nil)),
		one("tenet_expiring", telemetry.Gauge, "Certificates that end soon and do not renew by themselves.", float64(len(s.Authority.Expiring()))),
		telemetry.By("tenet_hosts", telemetry.Gauge, "Hosts by state.", "state", s.Hosts.Counts()),
		one("tenet_host_questions", telemetry.Gauge, "Hosts of which copies were noticed, and on which a person is to decide.", float64(s.Hosts.Questions())),
	}
	list = append(list, s.sessionMetrics()...)
	list = append(list, s.storeMetrics()...)
	list = append(list, s.evaluations.metrics()...)
	ctx, cancel := context.WithTimeout(context.Background(), metricsPatience)
	defer cancel()
	// Where the store does not answer, the numbers that it alone has are not there, which is what can be said.
	if phases, err := s.Deployments.Counts(ctx); err == nil {
		list = append(list, telemetry.By("tenet_deployments", telemetry.Gauge, "Deployments that are known by phase.", "phase", phases))
	}
	return list
}

// export sends all metrics to a collector until the context ends.
func (s *Server) export(ctx context.Context) {
	e := telemetry.Exporter{URL: s.OTLP, Header: s.OTLPHeader, Start: time.Now(), Resource: []telemetry.Label{
		{Name: "service.name", Value: "tenet-server"}, {Name: "service.version", Value: s.Version}, {Name: "service.instance.id", Value: s.url},
	}}
	e.Run(ctx, s.api.Metrics, s.Failed)
}

func (s *Server) sessionMetrics() []telemetry.Metric {
	c := s.Sessions.Counts()
	return []telemetry.Metric{
		telemetry.By("tenet_agents", telemetry.Gauge, "Agents by how they are reached.", "reachability", map[string]float64{"connected": float64(c.Connected), "silent": float64(c.Silent), "lost": float64(c.Lost)}),
		telemetry.One("tenet_targets_pending", telemetry.Gauge, "What hosts are to be and do not hold yet, by host and site.", float64(c.Pending)),
		telemetry.One("tenet_targets_refused", telemetry.Gauge, "Those of them that the host has refused, or cannot keep, by host and site.", float64(c.Objecting)),
		telemetry.By("tenet_loops", telemetry.Gauge, "Loops of hosts by phase, by host and site.", "phase", c.Loops),
		telemetry.By("tenet_agent_messages_total", telemetry.Counter, "Messages of agents that were taken in, and messages to them.", "direction", map[string]float64{"received": float64(c.Received), "sent": float64(c.Sent)}),
		telemetry.One("tenet_agent_message_failures_total", telemetry.Counter, "Messages of agents that could not be taken in.", float64(c.Failed)),
		telemetry.One("tenet_hosts_limited", telemetry.Gauge, "Hosts from which nothing is taken in until later: they tell more than their quota, or the server has no room.", float64(c.Limited)),
		telemetry.One("tenet_agent_batches_refused_total", telemetry.Counter, "Batches of agents that were refused for that.", float64(c.Refused)),
		telemetry.One("tenet_connections", telemetry.Gauge, "Connections to hosts that go on through the server.", float64(c.Relays)),
	}
}

func (s *Server) storeMetrics() []telemetry.Metric {
	st := s.Store.Stats()
	list := []telemetry.Metric{
		telemetry.One("tenet_store_writes_total", telemetry.Counter, "Changes that were made durable.", float64(st.Writes)),
		telemetry.One("tenet_store_commits_total", telemetry.Counter, "Transactions that made them durable.", float64(st.Commits)),
		telemetry.One("tenet_store_commit_seconds_total", telemetry.Counter, "How long these transactions took, in sum.", st.CommitTime.Seconds()),
	}
	if share, known, err := s.freeSpace(); err == nil && known {
		list = append(list, telemetry.One("tenet_store_free_ratio", telemetry.Gauge, "The share of the volume of the store, or of --store-limit, that is free: below 0.1 nothing is taken in.", share))
	}
	return list
}

// evaluations count what is asked of an evaluator.
type evaluations struct {
	*evaluate.Evaluator
	mu             sync.Mutex
	running        int
	done, failures int
	took           time.Duration
}

// Ask is deploy.Asker's.
func (e *evaluations) Ask(ctx context.Context, q evaluate.Question) (*evaluate.Answer, error) {
	begun := time.Now()
	e.add(1, 0, nil, 0)
	a, err := e.Evaluator.Ask(ctx, q)
	e.add(-1, 1, err, time.Since(begun))
	return a, err
}

func (e *evaluations) add(running, done int, err error, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running, e.done, e.took = e.running+running, e.done+done, e.took+took
	if err != nil {
		e.failures++
	}
}

func (e *evaluations) metrics() []telemetry.Metric {
	e.mu.Lock()
	defer e.mu.Unlock()
	return []telemetry.Metric{
		telemetry.One("tenet_evaluations_running", telemetry.Gauge, "Evaluations of sites that go on.", float64(e.running)),
		telemetry.One("tenet_evaluations_total", telemetry.Counter, "Evaluations of sites that have ended.", float64(e.done)),
		telemetry.One("tenet_evaluation_failures_total", telemetry.Counter, "Those that have failed.", float64(e.failures)),
		telemetry.One("tenet_evaluation_seconds_total", telemetry.Counter, "How long they took, in sum.", e.took.Seconds()),
	}
}

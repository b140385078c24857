// Package api is the HTTP API of a server, under /v1, and its description as OpenAPI.
//
// Each resource has a file with its operations, which Register makes part of the API. An operation
// says what it demands of who calls: the frame refuses everybody else before anything of the
// request is read, and hands the handler the caller, who may see and do no more than their grants
// say. All errors are problems (RFC 9457) with a code, a hint, and whether it is of use to try again.
package api

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/follow"
	"github.com/tenetcm/tenet/server/limit"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/update"
)

// Options of an API.
type Options struct {
	People *access.Directory // required
	// Identity lets people log in by a provider of identity; nil: by passwords alone.
	Identity *access.Provider
	Hosts    *enroll.Registry // nil: what is about hosts answers that the server is not set up for it
	// Deployments brings sites to hosts; nil: what is about sites and deployments answers that the server is not set up for it.
	Deployments *deploy.Service
	Sources     *follow.Service // nil: none are followed
	// Updates brings agents to releases of their program; nil: what is about that answers that the server is not set up for it.
	Updates *update.Service
	// Authority says whom the hosts trust; nil: what is about that answers that the server is not set up for it.
	Authority *authority.Authority
	// Sessions are the agents of hosts; nil: hosts cannot be reached, and nothing is known of how they stand.
	Sessions *sessions.Sessions
	// Broker says why agents cannot be reached by the broker now; nil: they always can. IsCluster: the broker is a cluster of NATS.
	Broker    func() error
	IsCluster bool
	// Metrics are further numbers for /metrics; nil: there are none.
	Metrics func() []telemetry.Metric
	// Feed is what has happened, for /v1/events; nil: one of its own, to which nobody else writes.
	Feed  *Feed
	Room  Room
	Clock func() time.Time // nil: time.Now
	// Version is that of the server, for people.
	Version string
	// CursorKey signs cursors; nil: a random one, so that cursors end with the process.
	CursorKey []byte
	// OnFault is told of what went wrong inside, with the id under which the answer names it; nil: nobody is.
	OnFault func(id string, err error)
	// Standby: another server is the active one. What only reads is served, from what that one has kept.
	Standby bool
	// Healthy says why the server should get no requests; nil: it always should.
	Healthy func() error
}

// Room is how much room the store of a server has, and for how long it keeps what grows.
type Room struct {
	Free     func() (share float64, known bool, err error) // nil: it is not known
	Least    float64                                       // below this share nothing is taken in
	KeepRuns time.Duration
}

// API is the operations of a server.
type API struct {
	o          Options
	mux        *http.ServeMux
	huma       huma.API
	operations []Operation
	byPattern  map[string]Operation
	metrics    *metrics
	origins    *http.CrossOriginProtection
	spec       func() ([]byte, error)
	// connections are those to hosts.
	connections *connections
	graphs      *limit.Turns  // of reading graphs of hosts: each may take much memory
	patience    time.Duration // how long one waits for such a turn; tests shorten it
	heartbeat   time.Duration // of streams of events, and how often connections are looked at; tests shorten it
}

// New makes an API with all operations.
func New(o Options) *API {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Feed == nil {
		o.Feed = NewFeed(0)
	}
	if o.CursorKey == nil {
		o.CursorKey = make([]byte, 32)
		rand.Read(o.CursorKey)
	}
	a := &API{o: o, mux: http.NewServeMux(), byPattern: map[string]Operation{}, metrics: newMetrics(), origins: http.NewCrossOriginProtection(), connections: newConnections(), graphs: limit.NewTurns(graphsAtOnce), patience: 10 * time.Second, heartbeat: heartbeat}
	a.huma = humago.New(router{a}, describe(o.Version))
	a.registerService()
	a.registerLogin()
	a.registerIdentity()
	a.registerSessions()
	a.registerPeople()
	a.registerMay()
	a.registerRoles()
	a.registerPrograms()
	a.registerHosts()
	a.registerConnect()
	a.registerHostStatus()
	a.registerRuns()
	a.registerRun()
	a.registerFleetStatus()
	a.registerServer()
	a.registerTokens()
	a.registerTrust()
	a.registerSites()
	a.registerGraph()
	a.registerRevisions()
	a.registerAsk()
	a.registerDrift()
	a.registerClusters()
	a.registerSources()
	a.registerDeployments()
	a.registerReleases()
	a.registerUpdates()
	a.registerAudit()
	a.registerEvents()
	a.registerStream()
	a.spec = sync.OnceValues(a.writeSpec)
	return a
}

// Feed gives the feed to which what happens is written.
func (a *API) Feed() *Feed { return a.o.Feed }

// Operations lists all operations.
func (a *API) Operations() []Operation { return a.operations }

// router lets the frame stand before each operation.
type router struct{ api *API }

// HandleFunc takes an operation in.
func (r router) HandleFunc(pattern string, f func(http.ResponseWriter, *http.Request)) {
	r.api.mux.Handle(pattern, r.api.guard(r.api.byPattern[pattern], http.HandlerFunc(f)))
}

// ServeHTTP is what huma asks of a router.
func (r router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.api.Handler().ServeHTTP(w, request)
}

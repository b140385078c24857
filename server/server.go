// Package server is a server of tenet: it puts together what the packages below it are, and runs them.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/broker"
	"github.com/tenetcm/tenet/server/broker/cluster"
	"github.com/tenetcm/tenet/server/broker/embedded"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/follow"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/update"
	"github.com/tenetcm/tenet/server/web"
)

// standbyAfter is how long a server waits to become the active one until it says so.
const standbyAfter = 2 * time.Second

// BrokerPath is where agents connect that reach nothing but the port of HTTPS.
const BrokerPath = "/v1/agent/broker"

// Config says what a server works with. Dir, Evaluator and Recovery are required.
type Config struct {
	Dir    string // of keys, and of what is kept unless Store says otherwise
	Listen string // where people, programs and agents come by HTTPS: HOST:PORT; empty: :8443
	Agents string // where agents connect by TLS: HOST:PORT; empty: :8444
	// Standby is where the server serves reading while another one is the active one: HOST:PORT; empty: nowhere. It is no place for agents and balancers,
	// which go to another server where they are refused a connection.
	Standby string
	Names   []string // DNS names and addresses of the server, besides this machine's own; the first is the one that tokens name
	Store   string   // a URL; empty: in Dir
	// Brokers are a cluster of NATS in the place of the broker within: tls://HOST:PORT, and wss://HOST for agents alone. Then nothing listens at Agents.
	Brokers           []string
	BrokerCredentials string // the file cluster.CredentialsFile that belongs to it
	BrokerCA          string // a file with the CAs of its certificates; empty: they are of the server's own
	// CertificateFile and KeyFile are a certificate for people's browsers; empty: that of the server's own CA.
	CertificateFile, KeyFile string
	Hook                     []string // a program that decides on hosts that are pending
	// AuditHeads is a file, better on another machine, to which the head of the audit is appended each hour; empty: none.
	AuditHeads string
	// Identity is a provider by which people log in, without Callback; no Issuer: none.
	Identity access.ProviderOptions
	// Evaluator is a program that evaluates sites, with its arguments: see evaluate.Evaluator.
	Evaluator []string
	// OTLP is a collector of OpenTelemetry, to which metrics are sent each minute: https://HOST:4318; empty: none. OTLPHeader is sent along.
	OTLP       string
	OTLPHeader map[string]string
	// GitCredentials is a directory with HOST.token or HOST.helper, HOST.key and known_hosts, for repositories that are followed; empty: there is none.
	GitCredentials string
	// HostQuota is how many bytes a host may tell a day; 0: sessions.DefaultQuota. StoreLimit is how many bytes the database may take; 0: nobody has said.
	HostQuota, StoreLimit int64
	// ForgetHosts is after what time a host that was revoked or rejected is forgotten; 0: DefaultForget, below 0: never.
	ForgetHosts time.Duration
	Keys        func(site string) ([]string, error) // of the secrets of a site; nil: there are none
	Version     string
	// Recovery is given the recovery key of a new server, to be shown to a person once.
	Recovery func(key string) error
	// Failed is told what went wrong within; nil: nobody is.
	Failed func(error)
}

// storeURL is where the store is.
func (c *Config) storeURL() string {
	if c.Store == "" {
		return filepath.Join(c.Dir, "store")
	}
	return c.Store
}

// inDatabase tells whether contents are kept with the store.
func (c *Config) inDatabase() bool { return strings.HasPrefix(c.Store, "postgres") }

// Ready is how a server is reached.
type Ready struct {
	URL       string
	Authority trust.Digest
	FirstFile string // with the password of the first person, if that was made now
}

// Server is a server that serves.
type Server struct {
	Config
	Authority   *authority.Authority
	Hosts       *enroll.Registry
	Sessions    *sessions.Sessions
	Deployments *deploy.Service
	Updates     *update.Service
	Sources     *follow.Service
	People      *access.Directory
	Contents    contents.Store
	Store       *store.Store

	term      store.Term
	isStandby bool // it serves reading, while another one is the active one
	hearing   atomic.Bool
	broker    broker.Broker
	embedded  *embedded.Broker // the broker, unless it is a cluster
	cluster   *cluster.Keeper
	api       *api.API
	pages     *web.Pages
	listener  net.Listener
	url       string
	closers   []func() error // the last one first

	evaluations       evaluations
	space             space
	agentEndpoints    []string // at the cluster
	brokerAuthorities [][]byte // its CAs
}

// Migrations are the tables of a server. What was released is never changed, and never moved.
func Migrations() []store.Migration {
	list := []store.Migration{contents.Migration()}
	for _, of := range [][]store.Migration{authority.Migrations(), access.Migrations(), enroll.Migrations(), sessions.Migrations(), deploy.Migrations(), {sessions.ProgramMigration()}, update.Migrations(), {deploy.PlanMigration(), sessions.UsageMigration(), deploy.ClusterMigration(), sessions.StreamMigration(), follow.Migration(), sessions.RunsMigration(), sessions.DriftMigration(), sessions.LinesMigration(), deploy.OutlineMigration(), deploy.MembersMigration(), sessions.ObjectionsMigration(), deploy.VersionMigration(), sessions.GapsMigration(), access.AuditIndexes(), enroll.ForgetMigration(), sessions.StartedMigration(), deploy.ClassMigration(), deploy.PolicyMigration()}} {
		list = append(list, of...)
	}
	return list
}

// Run runs a server until the context ends.
func Run(ctx context.Context, c Config) error {
	s, err := Open(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(s.Serve(ctx, nil), s.Close())
}

// Open opens a server. It waits while another one is the active one.
func Open(ctx context.Context, c Config) (_ *Server, err error) {
	if c.Listen == "" {
		c.Listen = ":8443"
	}
	if c.Agents == "" {
		c.Agents = ":8444"
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	if c.OTLP != "" {
		if _, err := telemetry.ParseURL(c.OTLP); err != nil {
			return nil, &diag.HintError{Code: "otlp", Message: fmt.Sprintf("%.200q: %v", c.OTLP, err), Hint: "--otlp https://HOST:4318"}
		}
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil { // sites are evaluated in another directory
		return nil, err
	}
	s := &Server{Config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, step := range []func(context.Context) error{s.openStore, s.campaign, s.listen, s.openAuthority, s.openBroker, s.openHosts, s.openSessions, s.openDeployments, s.openAPI, s.hear} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// hear lets agents in, once there is somebody to hear them.
func (s *Server) hear(context.Context) error {
	if err := s.Sessions.Listen(); err != nil {
		return err
	}
	s.hearing.Store(true)
	return nil
}

// onClose has something done when the server is closed, before what was opened earlier.
func (s *Server) onClose(f func() error) { s.closers = append(s.closers, f) }

// Close lets go of everything.
func (s *Server) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func (s *Server) openStore(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if s.Store, err = openStore(ctx, s.Config, Migrations()); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	s.onClose(s.Store.Close)
	if s.inDatabase() {
		s.Contents = contents.InDatabase(s.Store)
		return nil
	}
	folder, err := contents.OpenFolder(filepath.Join(s.Dir, "contents"))
	if err != nil {
		return err
	}
	s.Contents = folder
	s.onClose(folder.Close)
	return nil
}

// campaign waits until this server is the active one. Meanwhile it stands by.
func (s *Server) campaign(ctx context.Context) (err error) {
	standing, stop := context.WithCancel(ctx)
	var wait fault.Group
	wait.Go(func() {
		select {
		case <-standing.Done():
		case <-time.After(standbyAfter):
			s.standBy(standing)
		}
	})
	s.term, err = s.Store.Campaign(ctx)
	stop()
	wait.Wait()
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	return nil
}

func (s *Server) openAuthority(ctx context.Context) (err error) {
	s.Authority, err = authority.Open(ctx, s.Dir, s.Store, authority.Options{
		Names: s.Names, Recovery: s.Recovery, CertificateFile: s.CertificateFile, KeyFile: s.KeyFile,
		Verbs: serverVerbs(),
	})
	return err
}

// listen takes the port: not while the server stands by, so that who asks it is refused at once and asks another one, and before keys are made
// and the recovery key is shown.
func (s *Server) listen(context.Context) (err error) {
	if s.listener, err = net.Listen("tcp", s.Listen); err != nil {
		return &diag.HintError{Err: err, Hint: "--listen HOST:PORT"}
	}
	s.onClose(func() error {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	s.url = "https://" + net.JoinHostPort(s.name(), port(s.listener.Addr().String()))
	return nil
}

// name is how hosts and people reach the server.
func (s *Server) name() string {
	if len(s.Names) > 0 {
		return s.Names[0]
	}
	if host, _, err := net.SplitHostPort(s.Listen); err == nil && host != "" && !net.ParseIP(host).IsUnspecified() {
		return host
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// Serve serves until the context ends. Ready, which may be nil, is called once it does.
func (s *Server) Serve(ctx context.Context, told func(Ready)) error {
	wanted := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ready := Ready{URL: s.url, Authority: s.Authority.AuthorityDigest()}
	file := filepath.Join(s.Dir, "admin.txt")
	made, err := s.People.MakeFirst(ctx, file)
	if err != nil {
		return err
	}
	if made {
		ready.FirstFile = file
	}
	config := s.Authority.TLS()
	web := newWeb(ctx, s.handler(), config)
	var wait fault.Group
	wait.Go(func() {
		if err := web.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	})
	loops := []func(){
		func() { s.Sessions.Run(ctx) }, func() { s.maintain(ctx) }, func() { s.Deployments.Run(ctx, s.Failed) }, func() { s.Updates.Run(ctx, s.Failed) }, func() { s.Sources.Run(ctx, s.Failed) },
	}
	if s.OTLP != "" {
		loops = append(loops, func() { s.export(ctx) })
	}
	for _, loop := range loops {
		keepUp(&wait, cancel, loop)
	}
	if told != nil {
		told(ready)
	}
	select {
	case <-ctx.Done():
	case <-s.term.Lost:
		cancel(&diag.HintError{Code: "deposed", Message: "this server is no longer the active one: another one has taken over, or the store was away", Hint: "start it again: it stands by where there is another"})
	}
	err = context.Cause(ctx)
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if web.Shutdown(stop) != nil {
		// Who still waits for an answer gets none: connections to hosts and streams of events do not end by themselves.
		web.Close()
	}
	wait.Wait()
	if wanted.Err() != nil { // it was to end
		return nil
	}
	return err
}

// newWeb makes what serves HTTPS, by HTTP/1.1.
func newWeb(ctx context.Context, h http.Handler, config *tls.Config) *http.Server {
	config.NextProtos = append([]string{"http/1.1"}, config.NextProtos...)
	return &http.Server{Handler: h, TLSConfig: config, ReadHeaderTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, ErrorLog: silence(),
		BaseContext: func(net.Listener) context.Context { return ctx }}
}

// keepUp runs a loop of the server, and has the server end where the loop does: one that serves people and does nothing else would look well.
func keepUp(wait *fault.Group, cancel context.CancelCauseFunc, loop func()) {
	wait.Go(func() {
		defer cancel(errors.New("a part of the server has ended"))
		loop()
	})
}

// handler serves people, programs and agents.
func (s *Server) handler() http.Handler {
	agents, rest := s.Hosts.Handler(), http.Handler(s.pages)
	broker := rest
	if s.embedded != nil {
		broker = s.embedded.Handler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A path that is not clean is nobody's: what is before it must not take it for another one than what is behind.
		switch isClean := path.Clean(r.URL.Path) == r.URL.Path; {
		case isClean && r.URL.Path == BrokerPath:
			broker.ServeHTTP(w, r)
		case isClean && strings.HasPrefix(r.URL.Path, "/v1/agent/"):
			agents.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}

func (s *Server) openHosts(ctx context.Context) (err error) {
	s.Hosts, err = enroll.Open(ctx, s.Store, s.Authority, s.Contents, enroll.Options{
		Addresses: []string{s.url}, Brokers: s.endpoints, BrokerAuthorities: s.brokerAuthorities, Credential: s.credential(), Hook: s.Hook, Failed: s.Failed, Changed: s.hostChanged, Rekeyed: s.hostRekeyed, Forget: s.forgetSteps(),
	})
	return err
}

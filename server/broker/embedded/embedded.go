// Package embedded is a broker within the server's process: nats-server, which keeps nothing. Agents come over TLS, or as WebSockets through the
// server's own HTTPS.
package embedded

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker"
	"github.com/tenetcm/tenet/server/broker/carrier"
	"github.com/tenetcm/tenet/server/limit"
)

// Config says how agents reach the broker, and who may.
type Config struct {
	// Address is where agents come over TLS: HOST:PORT. Empty: only over Handler.
	Address string
	// TLS has the certificate. Where it changes, its GetCertificate gives the one of the moment.
	TLS *tls.Config
	// Authorize tells whether a host may connect with a key, of which it has shown that it is its own. It is asked by many goroutines at once.
	Authorize func(host trust.ID, connection string) bool
	// ConnectsPerSecond is how many connections may begin: who comes on top is refused before that costs anything, and comes again. 0: 400 for
	// each processor; negative: any number. One address may begin a quarter of them.
	ConnectsPerSecond int
	// MaxConnections is how many there may be. 0: 200,000.
	MaxConnections int
	// HandshakeTimeout is how long TLS may take, and how long after it an agent to say who it is. 0: 10 s.
	HandshakeTimeout time.Duration
	// Report is told what nobody waits for, such as why agents are refused. It must not wait. nil: nobody is told.
	Report func(error)
}

const (
	// maxPending is how many bytes wait for an agent that is slow, before it is disconnected.
	maxPending = 4 << 20
	// maxPendingServer is the same for the server's own connection, to which all agents send. Once three quarters of it wait, agents that send
	// are slowed down.
	maxPendingServer = 64 << 20
	// maxPayload is more than tenet's frames have: clients take eight times as much in one frame of a WebSocket, and all that waits comes in one.
	maxPayload = 1 << 20

	perProcessor   = 400
	sourceShare    = 4 // of the connections that may begin in a second, one address may begin one in so many
	maxConnections = 200_000
	// maxSubscriptions is what an agent needs, and something to spare.
	maxSubscriptions = 4
	pingInterval     = 2 * time.Minute
	handshakeTimeout = 10 * time.Second
	writeDeadline    = 20 * time.Second
	// banTime is how long a host is kept out that has flooded the broker.
	banTime = time.Minute
)

// Broker is the broker.
type Broker struct {
	*carrier.Carrier
	server  *server.Server
	gate    *gate
	limiter *limiter
	sources *limit.Limiter // by address; nil: any number
	tunnels tunnels
	report  func(error)
}

var _ broker.Broker = (*Broker)(nil)

// Open starts the broker.
func Open(c Config) (*Broker, error) {
	if c.Authorize == nil || c.Address != "" && c.TLS == nil {
		return nil, errors.New("a broker needs Authorize, and TLS for its address")
	}
	if c.Report == nil {
		c.Report = func(error) {}
	}
	if c.ConnectsPerSecond == 0 {
		c.ConnectsPerSecond = perProcessor * runtime.GOMAXPROCS(0)
	}
	if c.HandshakeTimeout == 0 {
		c.HandshakeTimeout = handshakeTimeout
	}
	b := &Broker{limiter: &limiter{rate: float64(c.ConnectsPerSecond), now: time.Now}, report: c.Report}
	if c.ConnectsPerSecond > 0 {
		share := max(1, c.ConnectsPerSecond/sourceShare)
		b.sources = limit.New(time.Now, share, time.Second/time.Duration(share))
	}
	b.gate = &gate{authorize: c.Authorize, token: rand.Text(), hosts: map[trust.ID]map[uint64]visit{}, banned: map[trust.ID]time.Time{}}
	options, err := b.options(c)
	if err != nil {
		return nil, err
	}
	if b.server, err = server.NewServer(options); err != nil {
		return nil, fmt.Errorf("cannot make the broker: %w", err)
	}
	b.gate.server = b.server
	if err := b.start(options, c.Address != ""); err != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
		return nil, err
	}
	return b, nil
}

// options are all that nats-server is told. Whatever authenticates beside the gate stays out: users, verify_and_map, no_auth_user.
func (b *Broker) options(c Config) (*server.Options, error) {
	o := &server.Options{
		ServerName: "tenet", Host: "127.0.0.1", DontListen: true,
		NoLog: true, NoSigs: true, NoSystemAccount: true, NoSublistCache: true, NoHeaderSupport: true,
		CustomClientAuthentication: b.gate, AlwaysEnableNonce: true,
		MaxConn: c.MaxConnections, MaxSubs: maxSubscriptions, MaxPayload: maxPayload, MaxPending: maxPendingServer, MaxClosedClients: 100,
		PingInterval: pingInterval, MaxPingsOut: 2, WriteDeadline: writeDeadline,
		TLSTimeout: c.HandshakeTimeout.Seconds(), AuthTimeout: c.HandshakeTimeout.Seconds(), ConnectErrorReports: 1,
		Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: -1, NoTLS: true, HandshakeTimeout: c.HandshakeTimeout, AuthTimeout: c.HandshakeTimeout.Seconds()},
	}
	if o.MaxConn == 0 {
		o.MaxConn = maxConnections
	}
	if c.Address == "" {
		return o, nil
	}
	host, port, err := net.SplitHostPort(c.Address)
	if err == nil {
		o.Port, err = strconv.Atoi(port)
	}
	if err != nil || o.Port < 0 || o.Port > 65535 {
		return nil, &diag.HintError{Code: "invalid_address", Message: fmt.Sprintf("%.200q is no address to listen at", c.Address), Hint: "write HOST:PORT; port 0 is any that is free"}
	}
	if o.Host = host; host == "" {
		o.Host = everywhere()
	}
	if o.Port == 0 {
		o.Port = -1
	}
	o.TLSConfig, o.TLSHandshakeFirst = b.tls(c.TLS), true
	return o, nil
}

// tls refuses in a handshake what comes too fast: nats-server's own limit cannot be set by a program.
func (b *Broker) tls(from *tls.Config) *tls.Config {
	config := from.Clone()
	config.MinVersion = tls.VersionTLS13
	config.SessionTicketsDisabled = true // no agent resumes a session
	former := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if !b.allows(hello.Conn.RemoteAddr().String()) {
			return nil, errBusy
		}
		if former == nil {
			return nil, nil
		}
		return former(hello)
	}
	return config
}

// allows tells whether a connection from an address may begin. Each address has a share of its own, so that none keeps all others out: but for this
// machine, whose programs may be a proxy of all.
func (b *Broker) allows(address string) bool {
	if b.sources != nil && !isLoopback(address) && b.sources.Take(limit.Source(address)) > 0 {
		return false
	}
	return b.limiter.allow()
}

func isLoopback(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// everywhere is the address to listen at for both IPv6 and IPv4, or IPv4 where the machine has nothing else.
func everywhere() string {
	l, err := net.Listen("tcp6", "[::]:0")
	if err != nil {
		return "0.0.0.0"
	}
	_ = l.Close() // it has been there: that is all
	return "::"
}

var errBusy = errors.New("too many connections begin at once")

// start has the server connect before any agent can: what may wait for its own connection is decided when it begins.
func (b *Broker) start(options *server.Options, listens bool) error {
	log := &logger{report: b.report}
	b.server.SetLoggerV2(log, false, false, false)
	b.server.Start()
	if err := log.failure(); err != nil {
		return err
	}
	conn, err := nats.Connect("", append(carrier.Options(b.report), nats.InProcessServer(b.server), nats.Token(b.gate.token))...)
	if err != nil {
		return fmt.Errorf("the server cannot connect to its own broker: %w", err)
	}
	if b.Carrier, err = carrier.New(conn, b.floods); err != nil {
		return err
	}
	options.MaxPending = maxPending
	if listens {
		b.server.AcceptLoop(make(chan struct{}))
	}
	if err := log.failure(); err != nil {
		b.Carrier.Close()
		return err
	}
	return nil
}

// Addr is where agents come over TLS: HOST:PORT. Empty: nowhere.
func (b *Broker) Addr() string {
	if a := b.server.Addr(); a != nil {
		return a.String()
	}
	return ""
}

// Connections is how many there are, with the server's own.
func (b *Broker) Connections() int { return b.server.NumClients() }

// Disconnect is broker.Broker's.
func (b *Broker) Disconnect(host link.Address) error {
	for _, id := range b.gate.connections(host) {
		// The error says that it has gone by itself.
		_ = b.server.DisconnectClientByID(id)
	}
	return nil
}

// floods ends the connections of a host that sends more than an agent can have to say, and keeps it out for a while.
func (b *Broker) floods(host trust.ID) {
	if !b.gate.ban(host, time.Now().Add(banTime)) {
		return
	}
	fault.Go(func() { // a connection that is to end may be waiting for ours
		b.report(fmt.Errorf("broker: the host %s floods it, and is kept out for %s", host, banTime))
		_ = b.Disconnect(link.Address{Host: host}) // never fails
	})
}

// Close is broker.Broker's.
func (b *Broker) Close() error {
	b.Carrier.Close()
	b.server.Shutdown()
	b.server.WaitForShutdown()
	b.tunnels.close()
	return nil
}

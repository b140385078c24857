package embedded

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker/brokertest"
)

const patience = 2 * time.Minute

// member is an agent that is connected, and tells of it.
type member struct {
	link.Link
	address      link.Address
	connected    chan bool
	disconnected chan error
	packets      chan link.Packet
}

func join(t testing.TB, s *site) *member {
	t.Helper()
	m := &member{address: link.Address{Host: brokertest.Host(t), Instance: "i"}}
	m.connected, m.disconnected, m.packets = make(chan bool, 1000), make(chan error, 1000), make(chan link.Packet, 10_000)
	m.Link = s.dial(t, m.address, link.Handler{
		Connected:    func() { m.connected <- true },
		Disconnected: func(reason error) { m.disconnected <- reason },
		Receive:      func(p link.Packet) { m.packets <- p },
	})
	await(t, m.connected, "a connection")
	return m
}

func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s does not come", what)
		panic("unreachable")
	}
}

// works has an agent connect and get something.
func works(t testing.TB, s *site) *member {
	t.Helper()
	m := join(t, s)
	must(t, s.Send(m.address, link.Packet{Data: []byte("hello")}))
	if p := await(t, m.packets, "a packet"); string(p.Data) != "hello" {
		t.Errorf("%q", p.Data)
	}
	return m
}

func (s *site) bareTLS(t testing.TB) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: s.authority.pool})
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // the broker may have closed it
	return conn
}

// ends reads until the broker hangs up, and gives what it said.
func ends(t testing.TB, conn net.Conn) string {
	t.Helper()
	must(t, conn.SetReadDeadline(time.Now().Add(patience)))
	said, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the broker does not hang up; it said %q", said)
	}
	return string(said)
}

// Who does not say who he is, or only letter by letter, is out after a while, and holds up nobody meanwhile.
func TestWhoIsSlowIsOut(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.HandshakeTimeout = time.Second })
	silent, err := net.Dial("tcp", s.Addr()) // no TLS
	must(t, err)
	defer func() { must(t, silent.Close()) }()
	nameless := s.bareTLS(t)
	dripping := s.bareTLS(t)
	stop := make(chan struct{})
	var group sync.WaitGroup
	defer group.Wait()
	defer close(stop)
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				_, _ = io.WriteString(dripping, "C") // it is closed in the end
			}
		}
	})
	works(t, s)
	for _, conn := range []net.Conn{silent, nameless, dripping} {
		ends(t, conn)
	}
	works(t, s)
}

// What agents say before they are known is bounded, and nothing can be done without being known.
func TestNothingBeforeTheName(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	victim := works(t, s)
	for _, says := range []string{
		"SUB > 1\r\nPING\r\n",
		"PUB " + link.Subject(link.Up, victim.address, "") + " 1\r\nx\r\n",
		"CONNECT {}\r\nSUB > 1\r\nPING\r\n",
		"CONNECT {\"user\":\"server\",\"pass\":\"\",\"auth_token\":\"\"}\r\nPING\r\n",
		"CONNECT {\"auth_token\":\"" + s.gate.token + "\"}\r\nPING\r\n", // the server's own token is of no use from outside
		fmt.Sprintf("CONNECT {\"name\":%q}\r\nPING\r\n", victim.address),
		fmt.Sprintf("CONNECT {\"name\":%q,\"nkey\":\"UAAA\",\"sig\":\"AAAA\"}\r\nPING\r\n", victim.address),
		"CONNECT {\"name\":\"" + strings.Repeat("x", 1<<20) + "\"}\r\n",
		strings.Repeat("x", 1<<20),
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x00\xff\x00\xff\r\n",
	} {
		conn := s.bareTLS(t)
		_, _ = io.WriteString(conn, says) // the broker may hang up before it has read all
		said := ends(t, conn)
		lines := strings.Split(said, "\r\n")
		if slices.Contains(lines, "PONG") || slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimPrefix(line, "H"), "MSG ") }) {
			t.Errorf("%.60q is answered with %q", says, said)
		}
	}
	if len(victim.disconnected) > 0 {
		t.Error("somebody else is disconnected")
	}
	works(t, s)
}

// Those who connect too fast are turned away, over TLS and HTTPS alike, and those who come again get in.
func TestTooManyConnects(t *testing.T) {
	t.Parallel()
	l := &limiter{rate: 10, now: func() time.Time { return time.Time{}.Add(time.Hour) }}
	for i := range 11 {
		if l.allow() != (i < 10) {
			t.Errorf("attempt %d", i)
		}
	}
	l.now = func() time.Time { return time.Time{}.Add(time.Hour + 250*time.Millisecond) }
	let := 0
	for range 5 {
		if l.allow() {
			let++
		}
	}
	if let != 2 {
		t.Errorf("a quarter of a second lets %d in", let)
	}
	for name, begin := range map[string]func(testing.TB, func(*Config)) *site{"tls": open, "https": overHTTPS} {
		s := begin(t, func(c *Config) { c.ConnectsPerSecond = 1 })
		refused := 0
		for range 12 {
			if err := connectOnce(s); err != nil {
				refused++
			}
		}
		if refused < 3 {
			t.Errorf("%s: %d of 12 are refused", name, refused)
		}
		if name == "tls" { // by HTTPS they would wait as long as they are told
			works(t, s)
		}
	}
}

func connectOnce(s *site) error {
	if s.https == nil {
		conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: s.authority.pool})
		if err != nil {
			return err
		}
		return conn.Close()
	}
	request, err := http.NewRequest(http.MethodGet, s.https.URL+"/v1/agent/broker", nil)
	if err != nil {
		return err
	}
	request.Header = http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Version": {"13"}}
	response, err := s.https.Client().Transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		err = errors.New(response.Status + response.Header.Get("Retry-After"))
	}
	return errors.Join(err, response.Body.Close())
}

// Other requests than those of agents are answered, and reach nothing.
func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, header := range []http.Header{nil, {"Upgrade": {"h2c"}}, {"Upgrade": {"websocket"}}} {
		request := httptest.NewRequest(http.MethodGet, "/v1/agent/broker", nil)
		request.Header = header
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, request)
		if answer.Code != http.StatusUpgradeRequired {
			t.Errorf("%v: %d", header, answer.Code)
		}
	}
	request := httptest.NewRequest(http.MethodGet, "/v1/agent/broker", nil)
	request.Header = http.Header{"Upgrade": {"websocket"}, "Sec-Websocket-Key": {"no key"}}
	answer := httptest.NewRecorder() // cannot be taken over
	s.Handler().ServeHTTP(answer, request)
	if answer.Code != http.StatusBadGateway {
		t.Errorf("%d", answer.Code)
	}
}

// A certificate that is renewed counts from the next connection on; those that are there stay.
func TestTheCertificateChanges(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[tls.Certificate]
	s := open(t, func(c *Config) {
		c.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.Load(), nil }}
	})
	former := s.authority
	current.Store(&former.cert)
	m := works(t, s)
	next := newAuthority(t)
	current.Store(&next.cert)
	if _, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: former.pool}); err == nil {
		t.Error("the former certificate is still given")
	}
	conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: next.pool})
	must(t, err)
	if v := conn.ConnectionState().Version; v != tls.VersionTLS13 {
		t.Errorf("version %x", v)
	}
	must(t, conn.Close())
	must(t, s.Send(m.address, link.Packet{Data: []byte("still here")}))
	await(t, m.packets, "a packet")
}

// A host that is locked while it connects is not connected afterwards, whichever comes first.
func TestLockedWhileConnecting(t *testing.T) {
	t.Parallel()
	var locked atomic.Pointer[trust.ID]
	asked, goOn := make(chan bool, 1000), make(chan bool)
	s := open(t, func(c *Config) {
		known := c.Authorize
		c.Authorize = func(host trust.ID, key string) bool {
			ok := known(host, key) && (locked.Load() == nil || *locked.Load() != host)
			asked <- true
			<-goOn
			return ok
		}
	})
	a := link.Address{Host: brokertest.Host(t), Instance: "i"}
	refused := make(chan error, 1000)
	s.dial(t, a, link.Handler{Disconnected: func(reason error) { refused <- reason }})
	await(t, asked, "a question")
	locked.Store(&a.Host) // after the question was answered, before that counts
	must(t, s.Disconnect(link.Address{Host: a.Host}))
	close(goOn)
	await(t, refused, "the end of the connection")
	await(t, asked, "another question")
	await(t, refused, "a refusal")
}

// Connections that have ended are forgotten.
func TestEndedConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	m := works(t, s)
	g := s.gate
	for i := range 2000 {
		g.enter(link.Address{Host: trust.ID(fmt.Sprint(i)), Instance: "i"}, uint64(1_000_000+i))
	}
	g.mu.Lock()
	count, hosts := g.count, len(g.hosts)
	g.mu.Unlock()
	if count > 1500 || hosts > 1500 {
		t.Errorf("%d connections of %d hosts are kept", count, hosts)
	}
	if len(g.connections(m.address)) != 1 {
		t.Error("one that is there is forgotten")
	}
}

// A host that connects over and over uses up its own connections, and no others; who only claims to be a host uses up none.
func TestManyConnectionsOfOneHost(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	m := works(t, s)
	victim := works(t, s)
	for range 2 * maxVisits { // by a key that is not the victim's
		conn := s.bareTLS(t)
		if err := introduce(conn, bufio.NewReader(conn), victim.address, newKey(t)); err == nil {
			t.Fatal("somebody else is let in")
		}
	}
	evil := link.Address{Host: brokertest.Host(t), Instance: "evil"}
	var conns []*tls.Conn
	for range 2 * maxVisits {
		conn := s.bareTLS(t)
		must(t, introduce(conn, bufio.NewReader(conn), evil, s.know(t, evil.Host)))
		conns = append(conns, conn)
	}
	for _, conn := range conns[:maxVisits] {
		ends(t, conn)
	}
	if n := s.Connections(); n > maxVisits+3 {
		t.Errorf("there are %d connections", n)
	}
	if len(m.disconnected)+len(victim.disconnected) > 0 {
		t.Error("another host is disconnected")
	}
	for _, conn := range conns[maxVisits:] {
		must(t, conn.Close())
	}
}

func TestOpenExplains(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	config := Config{Authorize: s.authorize, TLS: &tls.Config{Certificates: []tls.Certificate{s.authority.cert}}}
	for _, address := range []string{s.Addr(), "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:-1"} {
		config.Address = address
		if b, err := Open(config); err == nil {
			t.Errorf("%q: it opens", address)
			must(t, b.Close())
		}
	}
	if _, err := Open(Config{Address: "127.0.0.1:0", Authorize: s.authorize}); err == nil {
		t.Error("it opens without TLS")
	}
}

// All that waits for an agent comes in one frame of a WebSocket, of which clients take as much as eight payloads.
func TestWhatWaitsFitsIntoAFrame(t *testing.T) {
	if 8*maxPayload < maxPending+maxPending/2 {
		t.Errorf("%d bytes may wait", maxPending)
	}
}

// An agent that floods is out, and stays out for a while; the others go on.
func TestAFlood(t *testing.T) {
	s := open(t, nil)
	got := make(chan link.Address, 1_000_000)
	must(t, s.Listen(func(from link.Address, _ link.Packet) { got <- from }))
	m := works(t, s)
	evil := link.Address{Host: brokertest.Host(t), Instance: "evil"}
	conn := s.bareTLS(t)
	must(t, introduce(conn, bufio.NewReader(conn), evil, s.know(t, evil.Host)))
	ended := make(chan error, 1)
	go func() {
		line := strings.Repeat("PUB "+link.Subject(link.Up, evil, "")+" 2\r\n\x00x\r\n", 1000)
		for {
			if _, err := io.WriteString(conn, line); err != nil {
				ended <- err
				return
			}
		}
	}()
	begun := time.Now()
	for range 50 {
		must(t, m.Send(link.Packet{Data: []byte("heard?")}))
		for await(t, got, "a packet") != m.address {
			continue
		}
	}
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("fifty packets take %s", took)
	}
	await(t, ended, "the end of the flood")
	again := s.bareTLS(t)
	if err := introduce(again, bufio.NewReader(again), evil, s.know(t, evil.Host)); err == nil {
		t.Error("it is back")
	}
	if s.gate.isBanned(evil.Host, time.Now().Add(2*banTime)) {
		t.Error("it is out for ever")
	}
	if len(m.disconnected) > 0 {
		t.Error("another agent is disconnected")
	}
}

package nats

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

const patience = 2 * time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// authority is a CA, with the certificate of broker.test.
func authority(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"broker.test"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// broker is a server of NATS with users of its own, as far as the link is concerned.
func broker(t testing.TB, cert tls.Certificate, key string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, Nkeys: []*server.NkeyUser{{Nkey: key}},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}, TLSHandshakeFirst: true, TLSTimeout: 10, AuthTimeout: 10,
	})
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// told is what a handler was told.
type told struct {
	connected    chan bool
	disconnected chan error
}

func handler() (told, link.Handler) {
	o := told{connected: make(chan bool, 1000), disconnected: make(chan error, 1000)}
	return o, link.Handler{Connected: func() { o.connected <- true }, Disconnected: func(err error) { o.disconnected <- err }}
}

func config(t testing.TB, pool *x509.CertPool, endpoint string) Config {
	t.Helper()
	key, err := nkeys.CreateUser()
	must(t, err)
	public, err := key.PublicKey()
	must(t, err)
	identity, err := trust.GenerateKey()
	must(t, err)
	return Config{
		Address: link.Address{Host: identity.ID(), Instance: "i"}, Connection: func() string { return public }, Sign: key.Sign, MaxWait: 20 * time.Millisecond,
		Endpoints:   func() ([]string, error) { return []string{endpoint}, nil },
		Authorities: func() (*x509.CertPool, error) { return pool, nil },
		Proxy:       func(*url.URL) (*url.URL, error) { return nil, nil },
	}
}

func dial(t testing.TB, c Config, h link.Handler) *Link {
	t.Helper()
	l, err := Dial(c, h)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func TestEndpointsAreChecked(t *testing.T) {
	for text, ok := range map[string]bool{
		"tls://h:1": true, "nats://h:1": true, "wss://h/v1/agent/broker": true, "wss://h:8443/x": true, "tls://[::1]:4222": true,
		"": false, "h:1": false, "http://h:1": false, "ws://h/x": false, "tls://h": false, "tls://:1": false, "tls://u:p@h:1": false, "tls://h:1/x": false, "wss://h/x?y": false,
	} {
		c := Config{Endpoints: func() ([]string, error) { return []string{text}, nil }, Authorities: func() (*x509.CertPool, error) { return x509.NewCertPool(), nil }}
		e, err := c.endpoint(&turns{})
		if (err == nil) != ok || err != nil && diag.HintOf(err) == "" && text != "h:1" {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && (e.tls.VerifyConnection == nil || e.tls.ServerName != e.Hostname()) {
			t.Errorf("%q is not verified", text)
		}
	}
	c := Config{Endpoints: func() ([]string, error) { return []string{"tls://h:1"}, nil }, Authorities: func() (*x509.CertPool, error) { return nil, nil }}
	if _, err := c.endpoint(&turns{}); err == nil {
		t.Error("without a CA the system's would count")
	}
}

func TestWaitsAreSpread(t *testing.T) {
	c := Config{}
	for failed, limit := range []time.Duration{4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 60 * time.Second, 60 * time.Second} {
		low, high := time.Hour, time.Duration(0)
		for range 2000 {
			w := c.wait(failed)
			low, high = min(low, w), max(high, w)
		}
		if high > limit || high < limit*9/10 || low > limit/10 {
			t.Errorf("after %d attempts: from %s to %s", failed, low, high)
		}
	}
	if w := c.wait(1 << 20); w > time.Minute {
		t.Error(w)
	}
}

// A server that is busy says when to come again.
func TestRetryAfter(t *testing.T) {
	cert, pool := authority(t)
	var calls atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy\x1b[2J", http.StatusServiceUnavailable)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	o, h := handler()
	begun := time.Now()
	dial(t, config(t, pool, strings.Replace(s.URL, "https", "wss", 1)+"/v1/agent/broker"), h)
	if reason := await(t, o.disconnected, "a refusal").Error(); !strings.Contains(reason, "503 Service Unavailable") {
		t.Error(reason)
	}
	await(t, o.disconnected, "a second refusal")
	if took := time.Since(begun); took < time.Second || calls.Load() != 2 {
		t.Errorf("%d attempts after %s", calls.Load(), took)
	}
}

func TestTheServerSendsAway(t *testing.T) {
	cert, pool := authority(t)
	c := config(t, pool, "")
	s := broker(t, cert, c.Connection())
	c.Endpoints = func() ([]string, error) { return []string{"tls://" + s.Addr().String()}, nil }
	o, h := handler()
	l := dial(t, c, h)
	await(t, o.connected, "a connection")
	begun := time.Now()
	l.RetryAfter(300 * time.Millisecond)
	await(t, o.disconnected, "the end of the connection")
	await(t, o.connected, "a connection")
	if took := time.Since(begun); took < 300*time.Millisecond {
		t.Errorf("it is back after %s", took)
	}
}

// The CAs, the endpoints and the key's signature are asked for anew each time.
func TestAuthoritiesChange(t *testing.T) {
	cert, pool := authority(t)
	_, other := authority(t)
	c := config(t, pool, "")
	s := broker(t, cert, c.Connection())
	c.Endpoints = func() ([]string, error) { return []string{"tls://127.0.0.1:1", "tls://" + s.Addr().String()}, nil }
	var trusted atomic.Pointer[x509.CertPool]
	trusted.Store(other)
	c.Authorities = func() (*x509.CertPool, error) { return trusted.Load(), nil }
	o, h := handler()
	dial(t, c, h)
	for {
		if reason := await(t, o.disconnected, "a refusal"); errors.As(reason, new(x509.UnknownAuthorityError)) {
			break
		}
	}
	if len(o.connected) > 0 {
		t.Error("it is connected")
	}
	trusted.Store(pool)
	await(t, o.connected, "a connection")
}

// A broker that accepts a connection and then takes nothing: what is sent waits up to a limit, and neither Send nor Close waits.
func TestAStalledConnection(t *testing.T) {
	cert, pool := authority(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	must(t, err)
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- stall(listener, stop) }()
	o, h := handler()
	c := config(t, pool, "tls://"+listener.Addr().String())
	c.patience = time.Hour // no time ends what waits: Close does
	l, err := Dial(c, h)
	must(t, err)
	await(t, o.connected, "a connection")
	sent := 0
	for err = nil; err == nil && sent < 200; sent++ {
		if err = l.Send(link.Packet{Data: make([]byte, 1<<20)}); err == nil {
			time.Sleep(time.Millisecond) // the system's own buffers fill
		}
	}
	if !errors.Is(err, link.ErrFull) {
		t.Errorf("after %d MiB: %v", sent, err)
	}
	closes(t, l)
	close(stop)
	must(t, errors.Join(listener.Close(), <-done))
}

// stall greets as a server of NATS, and reads no more than that takes.
func stall(listener net.Listener, stop <-chan struct{}) (err error) {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the other side has gone
	if _, err := fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":\"2.0.0\",\"proto\":1,\"max_payload\":1048576,\"nonce\":\"abc\",\"tls_required\":true}\r\n"); err != nil {
		return err
	}
	reader := bufio.NewReader(conn)
	for pings := 0; pings < 2; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.HasPrefix(line, "PING") {
			pings++
			if _, err := io.WriteString(conn, "PONG\r\n"); err != nil {
				return err
			}
		}
	}
	<-stop
	return nil
}

// A broker that says nothing holds nobody who closes.
func TestCloseWhileConnecting(t *testing.T) {
	_, pool := authority(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { must(t, listener.Close()) }()
	for _, scheme := range []string{"tls", "nats", "wss"} {
		c := config(t, pool, scheme+"://"+listener.Addr().String())
		c.patience = time.Hour // no time ends the attempt: Close does
		l, err := Dial(c, link.Handler{})
		must(t, err)
		conn, err := listener.Accept()
		must(t, err)
		closes(t, l)
		must(t, conn.Close())
	}
}

// closes closes a link, which ends at once what it waits for. A machine that is busy may take its time for that.
func closes(t *testing.T, l *Link) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- l.Close() }()
	must(t, await(t, done, "the end of the link"))
}

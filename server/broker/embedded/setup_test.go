package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/link/nats"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker/brokertest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// authority is a CA with a certificate for loopback.
type authority struct {
	pool *x509.CertPool
	cert tls.Certificate
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost", "broker.test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	a := authority{pool: x509.NewCertPool(), cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}
	a.pool.AddCert(leaf)
	return a
}

// site is a broker with the hosts that it knows.
type site struct {
	*Broker
	authority authority
	mu        sync.Mutex
	keys      map[trust.ID]nkeys.KeyPair
	reported  []string
	https     *httptest.Server // nil: agents come over TLS
}

func (s *site) authorize(host trust.ID, connection string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.keys[host]
	if key == nil {
		return false
	}
	public, err := key.PublicKey()
	return err == nil && public == connection
}

// know gives the key of a host, which the broker lets in from now on.
func (s *site) know(t testing.TB, host trust.ID) nkeys.KeyPair {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[host] == nil {
		s.keys[host] = newKey(t)
	}
	return s.keys[host]
}

func newKey(t testing.TB) nkeys.KeyPair {
	t.Helper()
	key, err := nkeys.CreateUser()
	must(t, err)
	return key
}

func open(t testing.TB, change func(*Config)) *site {
	t.Helper()
	s := &site{authority: newAuthority(t), keys: map[trust.ID]nkeys.KeyPair{}}
	c := Config{
		Address: "127.0.0.1:0", Authorize: s.authorize, ConnectsPerSecond: -1,
		TLS:    &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.authority.cert, nil }},
		Report: func(err error) { s.mu.Lock(); defer s.mu.Unlock(); s.reported = append(s.reported, err.Error()) },
	}
	if change != nil {
		change(&c)
	}
	b, err := Open(c)
	must(t, err)
	s.Broker = b
	t.Cleanup(func() { must(t, b.Close()) })
	return s
}

// overHTTPS has agents come by Handler.
func overHTTPS(t testing.TB, change func(*Config)) *site {
	t.Helper()
	s := open(t, func(c *Config) {
		c.Address = ""
		if change != nil {
			change(c)
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/v1/agent/broker", s.Handler())
	s.https = httptest.NewUnstartedServer(mux)
	s.https.TLS = &tls.Config{Certificates: []tls.Certificate{s.authority.cert}}
	s.https.StartTLS()
	t.Cleanup(s.https.Close)
	return s
}

func (s *site) endpoint() string {
	if s.https != nil {
		return strings.Replace(s.https.URL, "https:", "wss:", 1) + "/v1/agent/broker"
	}
	return "tls://" + s.Addr()
}

func (s *site) config(a link.Address, key nkeys.KeyPair) nats.Config {
	public, err := key.PublicKey()
	if err != nil {
		panic(err)
	}
	return nats.Config{
		Address: a, Connection: func() string { return public }, Sign: key.Sign, MaxWait: 50 * time.Millisecond,
		Endpoints:   func() ([]string, error) { return []string{s.endpoint()}, nil },
		Authorities: func() (*x509.CertPool, error) { return s.authority.pool, nil },
		Proxy:       func(*url.URL) (*url.URL, error) { return nil, nil },
	}
}

func connect(t testing.TB, c nats.Config, h link.Handler) link.Link {
	t.Helper()
	l, err := nats.Dial(c, h)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func (s *site) dial(t testing.TB, a link.Address, h link.Handler) link.Link {
	t.Helper()
	return connect(t, s.config(a, s.know(t, a.Host)), h)
}

// refused are the ways to be somebody who is not let in.
func (s *site) refused() map[string]func(testing.TB, link.Address, link.Handler) link.Link {
	type dial = func(testing.TB, link.Address, link.Handler) link.Link
	return map[string]dial{
		"unknown host": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return connect(t, s.config(link.Address{Host: brokertest.Host(t), Instance: a.Instance}, newKey(t)), h)
		},
		"known host with another key": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return connect(t, s.config(a, newKey(t)), h)
		},
		"key of another known host": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return connect(t, s.config(a, s.know(t, brokertest.Host(t))), h)
		},
		"signature by another key": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			c := s.config(a, s.know(t, a.Host))
			c.Sign = newKey(t).Sign
			return connect(t, c, h)
		},
		"signature of another nonce": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			c := s.config(a, s.know(t, a.Host))
			c.Sign = func([]byte) ([]byte, error) { return s.know(t, a.Host).Sign([]byte("a nonce of yesterday")) }
			return connect(t, c, h)
		},
		"no CA in common": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			c := s.config(a, s.know(t, a.Host))
			other := newAuthority(t)
			c.Authorities = func() (*x509.CertPool, error) { return other.pool, nil }
			return connect(t, c, h)
		},
	}
}

// raw is a connection by the client of NATS alone.
func (s *site) raw(t testing.TB, a link.Address) *brokertest.Raw {
	t.Helper()
	key := s.know(t, a.Host)
	public, err := key.PublicKey()
	must(t, err)
	options := []natsgo.Option{
		natsgo.Name(a.String()), natsgo.Nkey(public, key.Sign), natsgo.NoReconnect(),
		natsgo.Secure(&tls.Config{RootCAs: s.authority.pool}), natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}),
	}
	to := s.endpoint()
	if s.https == nil {
		options = append(options, natsgo.TLSHandshakeFirst())
	}
	conn, err := natsgo.Connect(to, options...)
	must(t, err)
	t.Cleanup(conn.Close)
	return &brokertest.Raw{
		// Errors are what the broker is to give.
		Publish: func(subject string, data []byte) { _ = writeRaw(conn, subject, data) },
		Subscribe: func(subject string, got func([]byte)) {
			name, queue, _ := strings.Cut(subject, " ")
			_, _ = conn.QueueSubscribe(name, queue, func(m *natsgo.Msg) { got(m.Data) })
		},
		Flush: func() { _ = conn.FlushTimeout(5 * time.Second) },
		Close: conn.Close,
	}
}

func writeRaw(conn *natsgo.Conn, subject string, data []byte) error {
	return conn.Publish(subject, data)
}

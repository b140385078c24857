package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
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

func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// cluster is servers of NATS, configured by what Generate makes.
type cluster struct {
	servers []*server.Server
	at      []string // their addresses
	files   map[string][]byte
	pool    *x509.CertPool
}

func newCluster(t testing.TB, size int) *cluster {
	t.Helper()
	files, err := Generate(time.Now())
	must(t, err)
	cert, pool := certificate(t)
	c := &cluster{files: map[string][]byte{}, pool: pool}
	for _, f := range files {
		c.files[f.Name] = f.Data
	}
	name := filepath.Join(t.TempDir(), ConfigFile)
	must(t, os.WriteFile(name, c.files[ConfigFile], 0o600))
	for i := range size {
		o, err := server.ProcessConfigFile(name)
		must(t, err)
		o.ServerName, o.Host, o.Port, o.NoSigs, o.NoLog = fmt.Sprintf("n%d", i), "127.0.0.1", -1, true, true
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
		if size > 1 {
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: -1}
			for _, other := range c.servers {
				o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: other.ClusterAddr().String()})
			}
		}
		s, err := server.NewServer(o)
		must(t, err)
		s.Start()
		if !s.ReadyForConnections(2 * time.Minute) {
			t.Fatal("the cluster does not start")
		}
		c.servers, c.at = append(c.servers, s), append(c.at, s.Addr().String())
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	for _, s := range c.servers {
		for deadline := time.Now().Add(2 * time.Minute); size > 1 && s.NumRoutes() < size-1; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the servers do not find one another")
			}
		}
	}
	return c
}

// endpoints are those of the servers from one on.
func (c *cluster) endpoints(scheme string, from int) (out []string) {
	for i := range c.at {
		out = append(out, scheme+"://"+c.at[(from+i)%len(c.at)])
	}
	return out
}

// site is a server's broker at a cluster, with the hosts that it knows.
type site struct {
	*Broker
	cluster *cluster
	mu      sync.Mutex
	keys    map[trust.ID]nkeys.KeyPair
	revoked map[trust.ID]bool
}

func (s *site) authorize(host trust.ID, connection string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.keys[host]
	if key == nil || s.revoked[host] {
		return false
	}
	public, err := key.PublicKey()
	return err == nil && public == connection
}

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

func open(t testing.TB, c *cluster) *site {
	t.Helper()
	s := &site{cluster: c, keys: map[trust.ID]nkeys.KeyPair{}, revoked: map[trust.ID]bool{}}
	b, err := Open(Config{
		Endpoints: c.endpoints("tls", 0), TLS: &tls.Config{RootCAs: c.pool}, Credentials: c.files[CredentialsFile], Authorize: s.authorize,
	})
	must(t, err)
	s.Broker = b
	t.Cleanup(func() { must(t, b.Close()) })
	return s
}

// config is that of an agent whose JWT is for a host and a key.
func (s *site) config(a link.Address, key nkeys.KeyPair, credential func() (string, error)) nats.Config {
	public, err := key.PublicKey()
	if err != nil {
		panic(err)
	}
	if credential == nil {
		credential = func() (string, error) {
			text, _, err := s.Credential(a.Host, public)
			return text, err
		}
	}
	return nats.Config{
		Address: a, Connection: func() string { return public }, Sign: key.Sign, Credential: credential, MaxWait: 50 * time.Millisecond,
		Endpoints:   func() ([]string, error) { return s.cluster.endpoints("nats", 0), nil },
		Authorities: func() (*x509.CertPool, error) { return s.cluster.pool, nil },
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
	return connect(t, s.config(a, s.know(t, a.Host), nil), h)
}

func (s *site) raw(t testing.TB, a link.Address) *brokertest.Raw {
	t.Helper()
	key := s.know(t, a.Host)
	public, err := key.PublicKey()
	must(t, err)
	credential, _, err := s.Credential(a.Host, public)
	must(t, err)
	conn, err := natsgo.Connect(s.cluster.endpoints("tls", 0)[0], natsgo.Name(a.String()), natsgo.NoReconnect(),
		natsgo.UserJWT(func() (string, error) { return credential, nil }, key.Sign),
		natsgo.Secure(&tls.Config{RootCAs: s.cluster.pool}), natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}))
	must(t, err)
	t.Cleanup(conn.Close)
	return &brokertest.Raw{
		// Errors are what the broker is to give.
		Publish: func(subject string, data []byte) { _ = conn.Publish(subject, data) },
		Subscribe: func(subject string, got func([]byte)) {
			_, _ = conn.Subscribe(subject, func(m *natsgo.Msg) { got(m.Data) })
		},
		Flush: func() { _ = conn.FlushTimeout(5 * time.Second) },
		Close: conn.Close,
	}
}

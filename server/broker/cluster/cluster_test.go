package cluster

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker/brokertest"
)

func TestBroker(t *testing.T) {
	brokertest.Run(t, func(t testing.TB) *brokertest.Setup {
		s := open(t, newCluster(t, 1))
		return &brokertest.Setup{Broker: s, Dial: s.dial, Raw: s.raw, Refused: s.refused(), Outlives: true}
	})
}

// refused are the ways to be somebody whom the cluster does not let in.
func (s *site) refused() map[string]func(testing.TB, link.Address, link.Handler) link.Link {
	with := func(t testing.TB, a link.Address, h link.Handler, key nkeys.KeyPair, change func(*jwt.UserClaims) nkeys.KeyPair) link.Link {
		return connect(t, s.config(a, key, func() (string, error) {
			public, err := key.PublicKey()
			must(t, err)
			claims := jwt.NewUserClaims(public)
			claims.Name, claims.IssuerAccount = string(a.Host), s.issuer.account
			claims.SetScoped(true)
			return claims.Encode(change(claims))
		}), h)
	}
	return map[string]func(testing.TB, link.Address, link.Handler) link.Link{
		"JWT of another issuer": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return with(t, a, h, s.know(t, a.Host), func(*jwt.UserClaims) nkeys.KeyPair {
				other, err := nkeys.CreateAccount()
				must(t, err)
				return other
			})
		},
		"JWT that has expired": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return with(t, a, h, s.know(t, a.Host), func(c *jwt.UserClaims) nkeys.KeyPair {
				c.Expires = time.Now().Add(-time.Minute).Unix()
				return s.issuer.key
			})
		},
		"JWT with subjects of its own": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return with(t, a, h, s.know(t, a.Host), func(c *jwt.UserClaims) nkeys.KeyPair {
				c.Sub.Allow.Add(">")
				return s.issuer.key
			})
		},
		"JWT for another key": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			return connect(t, s.config(a, newKey(t), func() (string, error) {
				public, err := s.know(t, a.Host).PublicKey()
				must(t, err)
				text, _, err := s.Credential(a.Host, public)
				return text, err
			}), h)
		},
		"JWT of another host": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			key := s.know(t, a.Host)
			return connect(t, s.config(a, key, func() (string, error) {
				public, err := key.PublicKey()
				must(t, err)
				text, _, err := s.Credential(brokertest.Host(t), public)
				return text, err
			}), h)
		},
		"no JWT": func(t testing.TB, a link.Address, h link.Handler) link.Link {
			c := s.config(a, s.know(t, a.Host), nil)
			c.Credential = nil
			return connect(t, c, h)
		},
	}
}

// A host whose JWT is valid, but which the server no longer knows, is out at once, and stays out.
func TestARevokedHostIsOut(t *testing.T) {
	s := open(t, newCluster(t, 2))
	a := link.Address{Host: brokertest.Host(t), Instance: "i"}
	connected, disconnected := make(chan bool, 1000), make(chan error, 1000)
	s.dial(t, a, link.Handler{Connected: func() { connected <- true }, Disconnected: func(reason error) { disconnected <- reason }})
	<-connected
	s.mu.Lock()
	s.revoked[a.Host] = true
	s.mu.Unlock()
	must(t, s.Disconnect(link.Address{Host: a.Host}))
	for range 3 { // each time that it comes back
		select {
		case <-disconnected:
		case <-time.After(2 * time.Minute):
			t.Fatal("it stays connected")
		}
	}
}

// A server that begins finds who is connected already, and ends what may not be.
func TestAServerThatBeginsLooks(t *testing.T) {
	s := open(t, newCluster(t, 2))
	connected, disconnected := make(chan bool, 1000), make(chan error, 1000)
	a := link.Address{Host: brokertest.Host(t), Instance: "i"}
	config := s.config(a, s.know(t, a.Host), nil)
	config.Endpoints = func() ([]string, error) { return s.cluster.endpoints("nats", 1)[:1], nil }
	connect(t, config, link.Handler{Connected: func() { connected <- true }, Disconnected: func(reason error) { disconnected <- reason }})
	<-connected
	open(t, s.cluster) // it knows no host
	select {
	case <-disconnected:
	case <-time.After(2 * time.Minute):
		t.Error("it stays connected")
	}
}

// One server of three ends during traffic: agents and the server come over the others, and go on.
func TestOneOfThreeEnds(t *testing.T) {
	c := newCluster(t, 3)
	s := open(t, c)
	got := make(chan link.Address, 100_000)
	must(t, s.Listen(func(from link.Address, p link.Packet) {
		_ = s.Send(from, p) // an echo; what is lost is told again
		got <- from
	}))
	const agents = 6
	links, echoes := map[link.Address]link.Link{}, make(chan uint32, 100_000)
	for i := range agents {
		a := link.Address{Host: brokertest.Host(t), Instance: "i"}
		config := s.config(a, s.know(t, a.Host), nil)
		config.Endpoints = func() ([]string, error) { return c.endpoints("nats", i), nil }
		links[a] = connect(t, config, link.Handler{Receive: func(p link.Packet) { echoes <- binary.BigEndian.Uint32(p.Data) }})
	}
	// round sends until each agent was heard and echoed, as often as it takes.
	round := func(n uint32) {
		t.Helper()
		heard, echoed := map[link.Address]bool{}, 0
		for deadline := time.Now().Add(2 * time.Minute); len(heard) < agents || echoed < agents; {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: %d of %d agents are heard", n, len(heard), agents)
			}
			for _, l := range links {
				if err := l.Send(link.Packet{Data: binary.BigEndian.AppendUint32(nil, n)}); err != nil && !errors.Is(err, link.ErrFull) {
					t.Fatal(err)
				}
			}
			for wait := time.After(50 * time.Millisecond); wait != nil; {
				select {
				case from := <-got:
					heard[from] = true
				case m := <-echoes:
					if m == n {
						echoed++
					}
				case <-wait:
					wait = nil
				}
			}
		}
	}
	round(1)
	c.servers[0].Shutdown()
	c.servers[0].WaitForShutdown()
	round(2)
	round(3)
}

func TestCredentialsAreLimited(t *testing.T) {
	files, err := Generate(time.Now())
	must(t, err)
	var s *secrets
	for _, f := range files {
		if f.Secret != (f.Name != ConfigFile) {
			t.Errorf("%s: secret is %v", f.Name, f.Secret)
		}
		if f.Name == ConfigFile && (strings.Contains(string(f.Data), "SEED") || strings.Contains(string(f.Data), "\nS")) {
			t.Errorf("a seed stands in %s", f.Name)
		}
		if f.Name == CredentialsFile {
			s, err = parseSecrets(f.Data)
			must(t, err)
		}
	}
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	i := &issuer{account: s.Account, key: s.signing, now: func() time.Time { return now }}
	host := brokertest.Host(t)
	public, err := newKey(t).PublicKey()
	must(t, err)
	text, expires, err := i.credential(host, public)
	must(t, err)
	claims, err := jwt.DecodeUserClaims(text)
	must(t, err)
	if !expires.Equal(now.Add(Validity)) || claims.Expires != expires.Unix() || claims.Name != string(host) || claims.Subject != public || claims.IssuerAccount != s.Account {
		t.Errorf("%+v until %s", claims, expires)
	}
	for _, bad := range []trust.ID{"", ">", "*", "a.b", host + ".>"} {
		if _, _, err := i.credential(bad, public); err == nil {
			t.Errorf("a JWT is issued for %q", bad)
		}
	}
	if _, _, err := i.credential(host, s.Account); err == nil {
		t.Error("a JWT is issued for an account's key")
	}
}

func TestWrongCredentialsAreExplained(t *testing.T) {
	c := newCluster(t, 1)
	foreign, err := Generate(time.Now())
	must(t, err)
	for name, data := range map[string][]byte{"none": nil, "garbage": []byte("{"), "other format": []byte(`{"format":"tenet.broker/2"}`), "foreign": foreign[1].Data} {
		_, err := Open(Config{
			Endpoints: c.endpoints("tls", 0), TLS: &tls.Config{RootCAs: c.pool}, Credentials: data,
			Authorize: func(trust.ID, string) bool { return true },
		})
		if err == nil || diag.HintOf(err) == "" || diag.CodeOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

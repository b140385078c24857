// Package nats is an agent's link over NATS: to the broker within a server, or to a cluster beside it; directly, as a WebSocket over the port of
// HTTPS, and through proxies.
package nats

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"golang.org/x/net/http/httpproxy"
)

// Config says how an agent connects. Its functions are called before each attempt, so that what they give may change.
type Config struct {
	Address link.Address
	// Endpoints lists where brokers are, one of which is tried at a time. A WebSocket, which costs the server twice as much, is tried where nothing
	// else is reached:
	//
	//	tls://HOST:PORT        NATS within TLS from the first byte
	//	nats://HOST:PORT       NATS that begins TLS after its greeting, as clusters do where nothing else was configured
	//	wss://HOST:PORT/PATH   NATS in a WebSocket
	Endpoints func() ([]string, error)
	// Authorities are the CAs of which one must have signed the certificate of the broker. No other is trusted.
	Authorities func() (*x509.CertPool, error)
	// Connection gives the public half of the key by which the host connects, and Sign signs the broker's nonce with the other one.
	Connection func() string
	Sign       func(nonce []byte) ([]byte, error)
	// Credential gives the JWT that a cluster wants, and is empty elsewhere. nil: none.
	Credential func() (string, error)
	// Proxy gives the proxy for a URL of https; no URL: none. nil: as HTTPS_PROXY and NO_PROXY say. It is asked for wss, and with ProxyTLS for
	// the others, too.
	Proxy    func(*url.URL) (*url.URL, error)
	ProxyTLS bool
	// ProxyAuthorities are the CAs for proxies of https. nil: those of the system.
	ProxyAuthorities *x509.CertPool
	// MaxWait is how long to wait at most between two attempts. 0: 60 s.
	MaxWait time.Duration

	// patience is how long an attempt, and a write, may take. 0: 20 s.
	patience time.Duration
}

const (
	firstWait   = 4 * time.Second
	defaultWait = 60 * time.Second
	// steady is how long a connection lasts after which the next attempt counts as the first.
	steady = 30 * time.Second
	// defaultPatience is how long an attempt may take, and how long nothing may be written, before a connection counts as broken.
	defaultPatience = 20 * time.Second
	pingInterval    = 60 * time.Second
)

func (c *Config) check() error {
	if err := c.Address.Check(); err != nil {
		return err
	}
	if c.Connection == nil || c.Sign == nil || c.Endpoints == nil || c.Authorities == nil {
		return errors.New("a link needs Connection, Sign, Endpoints and Authorities")
	}
	if key := c.Connection(); !nkeys.IsValidPublicUserKey(key) {
		return fmt.Errorf("%.80q is no public key by which a host can connect", key)
	}
	return nil
}

// wait is how long to wait before an attempt, after so many that failed: anything up to a limit that doubles ("full jitter"), so that agents
// that lose their server together do not come back together.
func (c *Config) wait(failed int) time.Duration {
	limit := c.MaxWait
	if limit == 0 {
		limit = defaultWait
	}
	return rand.N(min(limit, firstWait<<min(failed, 10)) + 1)
}

// endpoint is where a broker is.
type endpoint struct {
	*url.URL
	tls *tls.Config
}

func (c *Config) endpoint(turn *turns) (endpoint, error) {
	all, err := c.Endpoints()
	if err != nil {
		return endpoint{}, fmt.Errorf("where the broker is, is not known: %w", err)
	}
	if len(all) == 0 {
		return endpoint{}, errors.New("where the broker is, is not known")
	}
	u, err := url.Parse(turn.choose(all))
	if err != nil {
		return endpoint{}, fmt.Errorf("the address of a broker: %w", err)
	}
	u, err = checkEndpoint(u)
	if err != nil {
		return endpoint{}, err
	}
	pool, err := c.Authorities()
	if err != nil {
		return endpoint{}, fmt.Errorf("the CAs of the server: %w", err)
	}
	if pool == nil {
		return endpoint{}, errors.New("no CA is known that may have signed the broker's certificate")
	}
	var protocols []string
	if u.Scheme == "wss" {
		protocols = []string{"http/1.1"}
	}
	return endpoint{URL: u, tls: trust.Pinned(pool, u.Hostname(), nil, protocols...)}, nil
}

func checkEndpoint(u *url.URL) (*url.URL, error) {
	if u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
		return nil, errEndpoint(u)
	}
	switch u.Scheme {
	case "wss":
		if u.Port() == "" {
			u.Host += ":443"
		}
	case "tls", "nats":
		if u.Port() == "" || u.Path != "" && u.Path != "/" {
			return nil, errEndpoint(u)
		}
	default:
		return nil, errEndpoint(u)
	}
	return u, nil
}

func errEndpoint(u *url.URL) error {
	return &diag.HintError{
		Code: "invalid_endpoint", Message: fmt.Sprintf("%.200q is no address of a broker", u.Redacted()),
		Hint: "write tls://HOST:PORT, nats://HOST:PORT or wss://HOST/v1/agent/broker",
	}
}

// proxy gives the proxy by which an endpoint is reached; nil: none.
func (c *Config) proxy(e endpoint) (*url.URL, error) {
	if e.Scheme != "wss" && !c.ProxyTLS {
		return nil, nil
	}
	ask := c.Proxy
	if ask == nil {
		ask = httpproxy.FromEnvironment().ProxyFunc()
	}
	u, err := ask(&url.URL{Scheme: "https", Host: e.Host})
	if err != nil {
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	return u, nil
}

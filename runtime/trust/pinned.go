package trust

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// AgentProtocol is what agents name among the protocols of a TLS connection (ALPN), and never speak. A server that has a certificate
// for people's browsers, which no CA of a trust document has issued, knows by it to show its own.
const AgentProtocol = "tenet-agent"

// ServerError says that a server is not the one that is meant.
type ServerError struct{ Err error }

// Error says why.
func (e *ServerError) Error() string { return "this is not the server that is meant: " + e.Err.Error() }

// Unwrap gives the reason.
func (e *ServerError) Unwrap() error { return e.Err }

// TLS gives the configuration of a connection to the server at a name or address: it trusts the document's CAs alone; what it refuses is a *ServerError.
// A clock that lags behind, as on a host that begins in 1970, does not matter: no certificate is refused since it is not valid yet. Clock is the
// time of day; nil: time.Now. Protocols are those that are spoken over HTTPS, such as "http/1.1"; none: NATS, which negotiates none.
func (d *Document) TLS(name string, clock func() time.Time, protocols ...string) (*tls.Config, error) {
	roots := x509.NewCertPool()
	for _, der := range d.Authorities {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		roots.AddCert(cert)
	}
	if len(d.Authorities) == 0 {
		return nil, errors.New("the trust document names no CA")
	}
	return Pinned(roots, name, clock, protocols...), nil
}

// Pinned gives the configuration of a connection that trusts some CAs alone, as Document.TLS does.
func Pinned(roots *x509.CertPool, name string, clock func() time.Time, protocols ...string) *tls.Config {
	return pinned(name, protocols, func(shown []*x509.Certificate) error { return verifyServer(shown, roots, name, clock) })
}

// TLS gives the configuration of the first connection to a server: it trusts the CA alone that the token names.
func (t *Token) TLS(name string, clock func() time.Time, protocols ...string) *tls.Config {
	return pinned(name, protocols, func(shown []*x509.Certificate) error {
		i := slices.IndexFunc(shown, func(c *x509.Certificate) bool { return DigestOf(c.Raw) == t.Authority })
		if i < 0 || !shown[i].IsCA {
			return errors.New("the server does not show the CA that the token names: it is another server, or its CA was replaced since")
		}
		roots := x509.NewCertPool()
		roots.AddCert(shown[i])
		return verifyServer(shown, roots, name, clock)
	})
}

// pinned is a configuration whose certificates a function verifies.
func pinned(name string, protocols []string, verify func([]*x509.Certificate) error) *tls.Config {
	return &tls.Config{ServerName: name, MinVersion: tls.VersionTLS13, NextProtos: append(slices.Clone(protocols), AgentProtocol),
		InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
			err := errors.New("it shows no certificate")
			if len(s.PeerCertificates) > 0 {
				err = verify(s.PeerCertificates)
			}
			if err != nil {
				return &ServerError{err}
			}
			return nil
		}}
}

// verifyServer verifies the certificate that a server has shown, as that of a name.
func verifyServer(shown []*x509.Certificate, roots *x509.CertPool, name string, clock func() time.Time) error {
	if clock == nil {
		clock = time.Now
	}
	now, intermediates := clock(), x509.NewCertPool()
	for i, c := range shown {
		if i > 0 {
			intermediates.AddCert(c)
		}
		if c.NotBefore.After(now) { // the clock lags behind
			now = c.NotBefore
		}
	}
	_, err := shown[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

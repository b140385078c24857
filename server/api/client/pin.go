package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// httpProtocol is what is spoken. A server with another certificate for browsers shows its own to
// whoever names trust.AgentProtocol besides, as configurations of package trust do.
const httpProtocol = "http/1.1"

// newHTTP makes the client of a server, whose CA has to have a digest; zero: which this machine has to trust.
func newHTTP(base *url.URL, authority trust.Digest) *http.Client {
	config := &tls.Config{ServerName: base.Hostname(), MinVersion: tls.VersionTLS13}
	if !authority.IsZero() {
		config = (&trust.Token{Authority: authority}).TLS(base.Hostname(), nil, httpProtocol)
		verify := config.VerifyConnection
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if err := verify(s); err != nil {
				return &pinError{err}
			}
			return nil
		}
	}
	return overTLS(config)
}

// pinError says why a server is not the one whose CA is known.
type pinError struct{ error }

func overTLS(config *tls.Config) *http.Client {
	const patience = 15 * time.Second
	dialer := &net.Dialer{Timeout: patience}
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSClientConfig: config,
			TLSHandshakeTimeout: patience, ResponseHeaderTimeout: 11 * time.Minute, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute},
		// Nobody else gets to see the secret.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errSeen ends a connection that was made to look at the server's certificates.
var errSeen = errors.New("seen")

// Authority asks a server for its CA, without trusting it: who is asked has to compare the digest
// with what the server itself says. It is zero where this machine trusts the server's certificate already.
func Authority(ctx context.Context, address string) (trust.Digest, error) {
	base, err := parseURL(address)
	if err != nil {
		return trust.Digest{}, err
	}
	var digest trust.Digest
	look := func(shown []*x509.Certificate) error {
		for _, c := range shown {
			if c.IsCA {
				digest = trust.DigestOf(c.Raw) // the last one is the root
			}
		}
		return errSeen
	}
	open := newHTTP(base, trust.Digest{})
	defer open.CloseIdleConnections()
	err = touch(ctx, open, base)
	if _, isCertificate := errors.AsType[*tls.CertificateVerificationError](err); !isCertificate {
		return digest, unreachable(base, err)
	}
	blind := overTLS(&tls.Config{ServerName: base.Hostname(), MinVersion: tls.VersionTLS13, NextProtos: []string{httpProtocol, trust.AgentProtocol}, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error { return look(s.PeerCertificates) }})
	defer blind.CloseIdleConnections()
	if err := touch(ctx, blind, base); !errors.Is(err, errSeen) {
		return digest, unreachable(base, err)
	}
	if digest.IsZero() {
		return digest, &diag.HintError{Code: CodeAuthority, Message: "the server shows no CA", Hint: "is it a server of tenet? it has to show its CA with its certificate"}
	}
	return digest, nil
}

// touch makes a connection, by whichever proxy.
func touch(ctx context.Context, h *http.Client, base *url.URL) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String()+"/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := h.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// unreachable says why a server was not asked.
func unreachable(base *url.URL, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the path, which says nothing
	}
	return &diag.HintError{Code: CodeUnreachable, Message: fmt.Sprintf("%s cannot be reached: %s", base.Host, diag.Clean(err.Error(), "", '�')), Err: err,
		Hint: "is the address right, and the server running? HTTPS_PROXY names a proxy"}
}

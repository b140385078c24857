package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// silenceError is the cause of a context that a server's silence ended.
type silenceError struct{ patience time.Duration }

func (e *silenceError) Error() string { return fmt.Sprintf("nothing has come for %s", e.patience) }

// NetworkError says in plain words why nobody could be reached, or trusted.
type NetworkError struct {
	What string // a URL without what is secret, or an address
	Why  string
	Err  error
}

// Error gives both.
func (e *NetworkError) Error() string { return e.What + ": " + e.Why }

// Unwrap gives what it was made of.
func (e *NetworkError) Unwrap() error { return e.Err }

// IsLost reports whether an error came after a request was on its way, so that
// nobody knows what has become of it.
func IsLost(err error) bool {
	e, ok := errors.AsType[*NetworkError](err)
	if !ok {
		return false
	}
	op, ok := errors.AsType[*net.OpError](e.Err)
	dialing := ok && op.Op == "dial"
	_, name := errors.AsType[*net.DNSError](e.Err)
	_, trust := errors.AsType[*tls.CertificateVerificationError](e.Err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](e.Err)
	return !dialing && !name && !trust && !noTLS && !errors.Is(e.Err, http.ErrSchemeMismatch)
}

func explainFetch(ctx context.Context, r Request, err error) error {
	what := "the URL"
	if u, wrong := url.Parse(r.URL); wrong == nil {
		u.RawQuery, u.Fragment = "", "" // where tokens stand
		what = u.Redacted()
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		if _, quiet := errors.AsType[*silenceError](cause); !quiet {
			return cause
		}
		return &NetworkError{what, cause.Error(), cause}
	}
	return &NetworkError{what, plainWords(err), err}
}

func explainDial(ctx context.Context, address string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return &NetworkError{address, plainWords(err), err}
}

func plainWords(err error) string {
	var (
		name    *net.DNSError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		noTLS   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("the name %q is not known", name.Name)
	case errors.As(err, &name):
		return fmt.Sprintf("the name %q cannot be looked up: %s", name.Name, name.Err)
	case errors.As(err, &unknown):
		return "its certificate is signed by nobody whom this host trusts"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate is not valid now: " + invalid.Detail
	case errors.As(err, &host):
		return "its certificate is for another name: " + strings.TrimPrefix(host.Error(), "x509: ")
	case errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to that host"
	case errors.Is(err, syscall.ECONNRESET):
		return "the connection was reset"
	case errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return "it took too long to connect"
	}
	return err.Error()
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

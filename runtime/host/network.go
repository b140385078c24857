package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// localNetwork is the network of the machine that the program runs on. It reads
// no environment: a proxy is what a request says, and who is trusted is what the
// host's files say at the time.
type localNetwork struct{ local *Local }

// Network is Machine.Network: that of the machine, below a root too.
func (l *Local) Network() (Network, error) { return localNetwork{l}, nil }

const (
	headerTimeout = 30 * time.Second
	dialTimeout   = 15 * time.Second
	maxRedirects  = 10
)

// Fetch is Network.Fetch. Only a request that Reads follows redirects, and none from
// https to http; on the way to another host its header stays behind. There are no
// cookies, and the body comes as it was sent.
func (n localNetwork) Fetch(ctx context.Context, r Request) (*Response, error) {
	transport, err := n.transport(r)
	if err != nil {
		return nil, err
	}
	request, err := r.prepare()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	patience := cmp.Or(r.Timeout, headerTimeout)
	late := time.AfterFunc(patience, func() { cancel(&silenceError{patience}) })
	response, err := (&http.Client{Transport: transport, CheckRedirect: r.redirect}).Do(request.WithContext(ctx))
	if err != nil {
		late.Stop()
		err = explainFetch(ctx, r, err)
		cancel(nil)
		return nil, err
	}
	late.Reset(patience)
	return &Response{
		Status: response.StatusCode, Header: response.Header, URL: response.Request.URL.String(),
		Body: &patientBody{ctx: ctx, body: response.Body, late: late, patience: patience, cancel: cancel},
	}, nil
}

// prepare makes the request.
func (r Request) prepare() (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	out, err := http.NewRequest(r.Method, r.URL, body)
	if err != nil || out.URL.Scheme != "http" && out.URL.Scheme != "https" || out.URL.Host == "" {
		return nil, errors.New("it is no URL of http or https, or its method is none")
	}
	out.Header = http.Header{"User-Agent": {"tenet"}}
	for name, value := range r.Header {
		if strings.EqualFold(name, "Host") {
			out.Host = value
			continue
		}
		out.Header.Set(name, value)
	}
	return out, nil
}

// redirect is http.Client.CheckRedirect.
func (r Request) redirect(to *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case r.Stay || !r.Reads:
		return http.ErrUseLastResponse
	case len(via) >= maxRedirects:
		return fmt.Errorf("it was sent on more than %d times", maxRedirects)
	case from.Scheme == "https" && to.URL.Scheme != "https":
		return fmt.Errorf("it was sent on from https to %s, where anybody could answer", to.URL.Redacted())
	case from.Scheme != to.URL.Scheme || from.Host != to.URL.Host:
		to.Header = http.Header{"User-Agent": to.Header["User-Agent"], "Accept": to.Header["Accept"]}
	}
	return nil
}

func (n localNetwork) transport(r Request) (*http.Transport, error) {
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 1 << 20,
	}
	if r.Proxy != "" {
		proxy, err := url.Parse(r.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("the proxy is no URL")
		}
		t.Proxy = http.ProxyURL(proxy)
	}
	if strings.HasPrefix(strings.ToLower(r.URL), "https:") || r.Reads && !r.Stay {
		roots, err := n.local.rootCertificates(r.CA)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

// patientBody ends a body from which nothing comes any more.
type patientBody struct {
	ctx      context.Context
	body     io.ReadCloser
	late     *time.Timer
	patience time.Duration
	cancel   context.CancelCauseFunc
	since    int // bytes since patience began anew
}

// minSteps is how many bytes have to come within the patience: what comes by single bytes
// would go on for ever. Slow but steady is more than that.
const minSteps = 1024

func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.since += n; b.since >= minSteps {
		b.since = 0
		b.late.Reset(b.patience)
	}
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *patientBody) Close() error {
	b.late.Stop()
	b.cancel(nil)
	return b.body.Close()
}

// Dial is Network.Dial, by TCP and Echo only.
func (n localNetwork) Dial(ctx context.Context, network, address string) (io.ReadWriteCloser, error) {
	if network == Echo {
		return n.echo(ctx, address)
	}
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return nil, fmt.Errorf("connections by %q are not offered", network)
	}
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, explainDial(ctx, address, err)
	}
	return c, nil
}

// Near reports whether a name or address is the machine's own.
func (n localNetwork) Near(ctx context.Context, name string) bool {
	addresses := []netip.Addr{}
	if a, err := netip.ParseAddr(name); err == nil {
		addresses = append(addresses, a)
	} else if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", name); err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		a = a.Unmap()
		return a.IsLoopback() || slices.ContainsFunc(own, func(o net.Addr) bool {
			prefix, err := netip.ParsePrefix(o.String())
			return err == nil && prefix.Addr().Unmap() == a
		})
	})
}

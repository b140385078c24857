package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Limits of a request.
const (
	dialTimeout = 20 * time.Second
	askTimeout  = 60 * time.Second
	maxAnswer   = 32 << 20
	// idleTimeout is short: an agent asks for a few things at once, and then for an hour for nothing, while a server keeps what is open of all.
	idleTimeout = 5 * time.Second
)

// client keeps connections to the server, as long as the same CAs count.
type client struct {
	mu     sync.Mutex
	of     *trust.Document
	by     map[string]*http.Client // by address
	failed int                     // how often an address has failed: the next one is tried first
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.by {
		h.CloseIdleConnections()
	}
	c.by = nil
}

// HTTP gives a client for one of the server's addresses that accepts nobody but the server, as the newest trust document says. It goes by the proxy of Options.
func (i *Identity) HTTP(address string) (*http.Client, error) {
	i.mu.Lock()
	document, token := i.chain.Newest(), i.kept.Token
	i.mu.Unlock()
	c := &i.client
	c.mu.Lock()
	if c.of != document || c.by == nil {
		for _, h := range c.by {
			h.CloseIdleConnections()
		}
		c.of, c.by = document, map[string]*http.Client{}
	}
	h := c.by[address]
	c.mu.Unlock()
	if h != nil {
		return h, nil
	}
	h, err := i.newClient(address, document, token)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == document && c.by != nil {
		c.by[address] = h
	}
	return h, nil
}

// newClient makes a client that trusts a document, or before there is one what the token says.
func (i *Identity) newClient(address string, document *trust.Document, token string) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%.200q is no address of a server", address)
	}
	proxy := i.options.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	transport := &http.Transport{Proxy: proxy, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: askTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: 2, DisableCompression: true}
	if document != nil {
		transport.TLSClientConfig, err = document.TLS(u.Hostname(), i.options.Clock, "http/1.1")
	} else {
		var t *trust.Token
		if t, err = trust.ParseToken(token); err == nil {
			transport.TLSClientConfig = t.TLS(u.Hostname(), i.options.Clock, "http/1.1")
		}
	}
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// ask posts a request with its proof to one address of the server after the other, until one answers.
func (i *Identity) ask(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	addresses := i.Addresses()
	if len(addresses) == 0 {
		return &diag.HintError{Code: "not_joined", Message: "this host has not joined a server", Hint: "tenet agent join"}
	}
	var failed []error
	for n := range addresses {
		i.client.mu.Lock()
		address := addresses[(i.client.failed+n)%len(addresses)]
		i.client.mu.Unlock()
		err := i.askOne(ctx, address, path, body, answer)
		var refused *ServerError
		if err == nil || errors.As(err, &refused) && refused.Code != CodeStandby || ctx.Err() != nil {
			return err
		}
		failed = append(failed, err)
	}
	i.client.mu.Lock()
	i.client.failed++
	i.client.mu.Unlock()
	return errors.Join(failed...)
}

// CodeStandby is the code of a server that stands by: another address may be the active one's.
const CodeStandby = "standby"

func (i *Identity) askOne(ctx context.Context, address, path string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		proof := &Proof{Method: http.MethodPost, Path: path, Nonce: locked(i, func() string { return i.nonce }), Body: trust.DigestOf(body)}
		r, err := i.send(ctx, address, proof, bytes.NewReader(body), nil)
		if err != nil {
			return err
		}
		err = decodeAnswer(r, answer)
		var refused *ServerError
		if errors.As(err, &refused) && refused.Code == CodeNonce && attempt == 0 {
			continue
		}
		return err
	}
}

// send sends a request with its proof. The caller closes the body of the answer.
func (i *Identity) send(ctx context.Context, address string, proof *Proof, body io.Reader, header http.Header) (*http.Response, error) {
	h, err := i.HTTP(address)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, proof.Method, strings.TrimSuffix(address, "/")+proof.Path, body)
	if err != nil {
		return nil, err
	}
	text, err := encodeProof(proof, locked(i, func() trust.PrivateKey { return i.keys.identity }))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set(ProofHeader, text)
	r.Header.Set("Content-Type", "application/json")
	answer, err := h.Do(r)
	if err != nil {
		return nil, unreached(address, err)
	}
	if nonce := answer.Header.Get(NonceHeader); nonce != "" && len(nonce) <= maxNonce {
		i.mu.Lock()
		i.nonce = nonce
		i.mu.Unlock()
	}
	return answer, nil
}

const maxNonce = 200

// unreached says what to do about a server that cannot be reached.
func unreached(address string, err error) error {
	var other *trust.ServerError
	if errors.As(err, &other) {
		return &diag.HintError{Code: "other_server", Err: err, Hint: "is the address right, and the clock of this host? A proxy that looks into TLS cannot be used. After the server's CA was replaced, ask for another token"}
	}
	return &diag.HintError{Code: "unreachable", Err: err, Hint: "is " + address + " reachable from here? A proxy is taken from HTTPS_PROXY and NO_PROXY"}
}

// decodeAnswer reads an answer, or why there is none.
func decodeAnswer(r *http.Response, answer any) error {
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the server's answer broke off: %w", err)
	case len(data) > maxAnswer:
		return errors.New("the server's answer is too long")
	case r.StatusCode == http.StatusOK:
		if err := json.Unmarshal(data, answer); err != nil {
			return fmt.Errorf("the server's answer cannot be read: %w", err)
		}
		return nil
	}
	return problem(r, data)
}

func problem(r *http.Response, data []byte) error {
	refused := &ServerError{}
	if json.Unmarshal(data, &refused.Problem) != nil || refused.Code == "" {
		return fmt.Errorf("the server, or a proxy before it, answers %s", r.Status)
	}
	refused.Detail, refused.Hint = diag.Safe(diag.Shorten(refused.Detail)), diag.Safe(diag.Shorten(refused.Hint))
	refused.After = time.Duration(min(max(refused.RetryAfter, 0), 24*3600)) * time.Second
	return &diag.HintError{Code: refused.Code, Hint: refused.Hint, Err: refused}
}

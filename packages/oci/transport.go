package oci

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

const maxRedirects = 5

// httpClient makes a client for requests to one registry.
func (c *Client) httpClient(ref Reference) *http.Client {
	base := c.Transport
	if base == nil {
		base = newTransport()
	}
	policy := &retry.GenericPolicy{Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff, MinWait: 200 * time.Millisecond, MaxWait: 2 * time.Second, MaxRetry: 3}
	return &http.Client{
		Transport:     &retry.Transport{Base: base, Policy: func() retry.Policy { return policy }},
		CheckRedirect: c.redirectRule(ref),
	}
}

func newTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  time.Minute,
		IdleConnTimeout:        10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		// What is sent is compressed already, and what comes is not to grow on its way.
		DisableCompression: true,
	}
}

// redirectRule says where a registry may send a request on to, as it does for layers that lie elsewhere: by HTTPS, and not to this machine or to what
// only its network reaches, unless the registry is there as well. Credentials stay behind, and nothing that is sent goes elsewhere.
func (c *Client) redirectRule(ref Reference) func(*http.Request, []*http.Request) error {
	return func(request *http.Request, via []*http.Request) error {
		to := request.URL
		switch {
		case len(via) > maxRedirects:
			return errors.New("the registry sends from one place to another without an end")
		case request.Method != http.MethodGet && request.Method != http.MethodHead:
			return fmt.Errorf("the registry wants what is pushed to be sent to %s", to.Host)
		case to.Scheme != "https" && !(to.Scheme == "http" && c.plain(ref)):
			return fmt.Errorf("the registry sends to %s without encryption", to.Host)
		case isLoopback(to.Host) && !isLoopback(ref.Registry):
			return fmt.Errorf("the registry sends to %s, which is this machine", to.Host)
		}
		return nil
	}
}

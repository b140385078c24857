package simulated

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// Answer is what somebody on the network answers to requests.
type Answer struct {
	URL    string // whole, as it is asked for
	Method string // empty: any
	// Exists and Missing are paths: where one is given, the answer counts only
	// while something, or nothing, is there.
	Exists, Missing string

	Status int // 0: 200
	Header map[string]string
	Body   string
}

// Port is an address at which somebody listens, such as 127.0.0.1:5432, or, without a port, one whose machine
// answers echo requests. Where there is an Answer, somebody listens.
type Port struct {
	Address         string
	Exists, Missing string // as those of Answer
}

// network is what a machine can reach.
type network struct {
	h       host.Reader
	answers []Answer
	ports   []Port
}

// Connect gives the machine a network of these answers and ports, and of nothing
// else. Of several answers that fit, the first one counts.
func Connect(h *host.Memory, answers []Answer, ports []Port) {
	h.SetNetwork(&network{h, answers, ports})
}

// connectionRefused says that nobody is there.
func connectionRefused(what string) error {
	return &host.NetworkError{What: what, Why: "the simulated network has nobody there"}
}

// Fetch is host.Network.Fetch. An answer with an ETag or Last-Modified that the
// request names is 304.
func (n *network) Fetch(ctx context.Context, r host.Request) (*host.Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	method := cmp.Or(r.Method, "GET")
	for _, a := range n.answers {
		if a.URL != r.URL || a.Method != "" && a.Method != method || !n.counts(a.Exists, a.Missing) {
			continue
		}
		header := textproto.MIMEHeader{}
		for name, value := range a.Header {
			header.Set(name, value)
		}
		out := &host.Response{Status: cmp.Or(a.Status, 200), Header: header, URL: a.URL}
		body := a.Body
		asked := textproto.MIMEHeader{}
		for name, value := range r.Header {
			asked.Set(name, value)
		}
		same := header.Get("ETag") != "" && header.Get("ETag") == asked.Get("If-None-Match") ||
			header.Get("Last-Modified") != "" && header.Get("Last-Modified") == asked.Get("If-Modified-Since")
		if same && out.Status == 200 {
			out.Status, body = 304, ""
		}
		if method == "HEAD" {
			body = ""
		}
		out.Body = io.NopCloser(strings.NewReader(body))
		return out, nil
	}
	return nil, connectionRefused(fmt.Sprintf("%s %s", method, r.URL))
}

// Dial is host.Network.Dial: what is sent is lost, and nothing comes back.
func (n *network) Dial(ctx context.Context, _, address string) (io.ReadWriteCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, p := range n.ports {
		if p.Address == address && n.counts(p.Exists, p.Missing) {
			return connection{&bytes.Buffer{}}, nil
		}
	}
	for _, a := range n.answers {
		if u, err := url.Parse(a.URL); err == nil && portOf(u) == address && n.counts(a.Exists, a.Missing) {
			return connection{&bytes.Buffer{}}, nil
		}
	}
	return nil, connectionRefused(address)
}

// counts reports whether an answer is given now.
func (n *network) counts(exists, missing string) bool {
	return (exists == "" || Exists(n.h, exists)) && (missing == "" || !Exists(n.h, missing))
}

func portOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Hostname() + ":" + port
}

type connection struct{ *bytes.Buffer }

func (connection) Close() error { return nil }

package margo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// client asks a manager. Each request makes its own connection: so the certificates of both are always those of now.
type client struct {
	base        *url.URL
	files       Files
	now         func() time.Time
	credentials *credentials
	transport   *http.Transport
}

// Times that a manager has for its answers, and how long it can send the device away by Retry-After.
const (
	dialTime     = 30 * time.Second
	answerTime   = time.Minute
	downloadTime = 10 * time.Minute
	maxRetryTime = 24 * time.Hour
)

// newClient makes a client of the manager at margo+https://HOST[:PORT].
func newClient(address string, files Files, now func() time.Time) (*client, error) {
	u, err := url.Parse(strings.TrimPrefix(address, "margo+"))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, &diag.HintError{Message: fmt.Sprintf("%.200q is no address of a manager", address), Hint: "it is margo+https://HOST or margo+https://HOST:PORT"}
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return &client{base: u, files: files, now: now}, nil
}

// identify reads the credentials where they have changed, and gives who the device is. A pair of files of which only one has been
// replaced yet does not count while the former is there.
func (c *client) identify() (Identity, error) {
	loaded, err := c.files.load(c.credentials)
	if err != nil {
		if c.credentials != nil && c.now().Before(c.credentials.own.Leaf.NotAfter) {
			return c.credentials.identity, nil
		}
		return Identity{}, &diag.HintError{Err: fmt.Errorf("the credentials of the device: %w", err), Hint: "whoever owns the device makes certificate, key and trust bundle"}
	}
	if loaded != c.credentials {
		c.credentials = loaded
		c.transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSClientConfig:        loaded.config(c.now),
			TLSHandshakeTimeout:    dialTime,
			ResponseHeaderTimeout:  answerTime,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true,
			DisableCompression:     true,
		}
	}
	return loaded.identity, nil
}

// answer is what a manager has said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request is one to a manager.
type request struct {
	method, path string
	header       map[string]string
	body         []byte
	limit        int64 // of the answer's body
	time         time.Duration
}

// do sends a request. Redirects are not followed: nothing of the API has any.
func (c *client) do(ctx context.Context, r request) (answer, error) {
	if _, err := c.identify(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.time)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+r.path, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", "tenet")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	limit := r.limit
	if res.StatusCode >= 300 {
		limit = rc2.MaxProblem
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return answer{}, err
	}
	if int64(len(body)) > limit {
		return answer{}, fmt.Errorf("the answer to %s %s has more than %d bytes", r.method, r.path, limit)
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return answer{}, fmt.Errorf("the answer to %s %s is encoded as %.40q, which was not asked for", r.method, r.path, encoding)
	}
	return answer{res.StatusCode, res.Header, body}, nil
}

// is tells whether an answer has a media type, whatever its parameters.
func (a answer) is(mediaType string) bool {
	is, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && is == mediaType
}

// failure makes one of an answer that is not what was hoped for.
func (a answer) failure(what string) *Failure {
	f := &Failure{Status: a.status, After: retryAfter(a.header.Get("Retry-After"), time.Now()), Reason: fmt.Sprintf("%s: the manager answers %d %s", what, a.status, http.StatusText(a.status))}
	if !a.is(rc2.TypeProblem) {
		return f
	}
	p, err := rc2.ReadProblem(a.body)
	if err != nil {
		f.Reason += ", and a problem that cannot be read: " + firstLine(err.Error())
		return f
	}
	f.Problem = &p
	for _, text := range []string{p.Title, p.Detail} {
		if text != "" {
			f.Reason += ": " + diag.Shorten(diag.Safe(text))
		}
	}
	return f
}

// failed makes a failure of an error.
func failed(what string, err error) *Failure {
	return &Failure{Reason: what + ": " + diag.Safe(err.Error()), Hint: diag.HintOf(err)}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return diag.Shorten(line)
}

// retryAfter reads the header of the name: seconds, or a time.
func retryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryTime)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryTime)
	}
	return 0
}

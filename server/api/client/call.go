package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

const (
	attempts   = 6
	maxAnswer  = 64 << 20
	maxProblem = 64 << 10
	firstWait  = 500 * time.Millisecond
	// longWait is how long a call waits because a server asks for it; where that is longer, who calls is told.
	longWait = 30 * time.Second
	// shortWait is the same for who logs in, and sits before it.
	shortWait = 3 * time.Second
)

// problem is what a server answers in place of what was asked for.
type problem struct {
	Status     int    `json:"status"`
	Code       string `json:"code"`
	Detail     string `json:"detail"`
	Hint       string `json:"hint"`
	Retryable  bool   `json:"retryable"`
	RetryAfter int    `json:"retry_after"`
	ID         string `json:"id"`
	Errors     []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

func (p *problem) err() error {
	message := p.Detail
	for _, e := range p.Errors {
		message += "; " + e.Location + ": " + e.Message
	}
	if p.ID != "" {
		message += " (" + p.ID + ")"
	}
	clean := func(text string) string { return diag.Clean(diag.Shorten(text), "", '�') }
	return &diag.HintError{Code: clean(p.Code), Message: clean(message), Hint: clean(p.Hint)}
}

// Call asks for one thing, and reads the answer into a value; O is struct{} where there is none.
// What the server says to be retryable is tried again, and what was certainly not begun; whatever
// else was asked for, and has no answer, is an error with CodeUncertain, unless it only reads.
func Call[O any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (out O, err error) {
	var text []byte
	if body != nil {
		if text, err = plainjson.Marshal(body); err != nil {
			return out, err
		}
	}
	for attempt := 0; ; attempt++ {
		wait, err := c.once(ctx, method, path, query, text, &out)
		if err == nil || wait < 0 || attempt+1 == attempts {
			return out, err
		}
		wait = max(wait, time.Duration(c.random()*float64(firstWait<<attempt)))
		if slept := c.sleep(ctx, wait); slept != nil {
			return out, err
		}
	}
}

// once asks once. With an error, wait is how long to wait at least before it is of use to ask again; negative: it is of none.
func (c *Client) once(ctx context.Context, method, path string, query url.Values, body []byte, out any) (wait time.Duration, err error) {
	answer, err := c.send(ctx, method, path, query, body, nil)
	if err != nil {
		return c.failed(ctx, method, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return c.readProblem(answer)
	}
	if answer.StatusCode == http.StatusNoContent {
		return 0, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return c.failed(ctx, method, err)
	}
	if err := json.Unmarshal(text, out); err != nil || len(text) > maxAnswer {
		return -1, noAnswer(answer)
	}
	return 0, nil
}

func (c *Client) send(ctx context.Context, method, path string, query url.Values, body []byte, header http.Header) (*http.Response, error) {
	u := c.base.String() + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if c.saved.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+c.saved.Secret)
	}
	if len(body) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(r)
}

// failed says what it means that there is no answer.
func (c *Client) failed(ctx context.Context, method string, err error) (time.Duration, error) {
	if cause := context.Cause(ctx); cause != nil {
		return -1, &diag.HintError{Code: CodeCancelled, Message: cause.Error(), Err: cause}
	}
	dial, isDial := errors.AsType[*net.OpError](err)
	isDial = isDial && dial.Op == "dial"
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isPin := errors.AsType[*pinError](err)
	switch {
	case isCertificate || isPin:
		return -1, c.otherServer(err)
	case isDial || method == http.MethodGet:
		return 0, unreachable(c.base, err)
	}
	return -1, &diag.HintError{Code: CodeUncertain, Message: fmt.Sprintf("%s was asked and has not answered: it may have done it or not", c.base.Host), Err: err,
		Hint: "look at how things stand before you try again"}
}

// otherServer is about a certificate that is not as it was at the login.
func (c *Client) otherServer(err error) error {
	message, hint := fmt.Sprintf("%s shows a certificate that this machine does not trust", c.base.Host), "log in again, with the digest of the server's CA: tenet login URL --ca-digest DIGEST"
	if c.saved.Authority != (trust.Digest{}) {
		message = fmt.Sprintf("%s does not show the CA that is known to be its own", c.base.Host)
		hint = "somebody may be in between; if the CA was replaced, log in again: tenet login URL --ca-digest DIGEST"
	}
	return &diag.HintError{Code: CodeAuthority, Message: message, Hint: hint, Err: err}
}

func (c *Client) readProblem(answer *http.Response) (time.Duration, error) {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	var p problem
	if err != nil || json.Unmarshal(text, &p) != nil || p.Code == "" || p.Detail == "" {
		return -1, noAnswer(answer)
	}
	if !p.Retryable || p.RetryAfter > int(c.patience.Seconds()) {
		return -1, p.err()
	}
	return time.Duration(max(p.RetryAfter, 0)) * time.Second, p.err()
}

func noAnswer(answer *http.Response) error {
	return &diag.HintError{Code: CodeNoAnswer, Message: fmt.Sprintf("the answer, with the status %d, is not one of a server of tenet", answer.StatusCode),
		Hint: "is there a proxy in between, or another program at this address?"}
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// Items gives all of a list, page by page as they are wanted. After an error there is no more.
func Items[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := url.Values{}
		for name, values := range query {
			page[name] = values
		}
		for {
			list, err := Call[List[T]](ctx, c, http.MethodGet, path, page, nil)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range list.Items {
				if !yield(item, nil) {
					return
				}
			}
			if list.Next == "" {
				return
			}
			page.Set("cursor", list.Next)
		}
	}
}

// setList gives a parameter of several values.
func setList(query url.Values, name string, values []string) {
	if len(values) > 0 {
		query.Set(name, strings.Join(values, ","))
	}
}

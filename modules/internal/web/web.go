// Package web makes the requests of modules that use a network.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// URL checks an address of the web: http or https, and no password in it, which
// would show wherever the address does.
func URL(attribute, text string) error {
	e := &states.AttributeError{Attribute: attribute}
	u, err := url.Parse(text)
	switch {
	case text == "":
		e.Message = "a URL is required"
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		e.Message = fmt.Sprintf("%.80q is no URL", text)
		e.Hint = "blanks and control characters are written as in %20: urlencode(…)"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		e.Message = fmt.Sprintf("%.80q is no URL of http or https", text)
		e.Hint = "write https://HOST/PATH"
	case u.User != nil:
		e.Message = "a URL with a name or password in it is refused, since URLs are shown"
		e.Hint = `write headers = { Authorization = "Basic ${base64encode("NAME:PASSWORD")}" }`
	default:
		return nil
	}
	return e
}

// OptionalURL checks one that need not be given.
func OptionalURL(attribute string, text *string) error {
	if text == nil {
		return nil
	}
	return URL(attribute, *text)
}

// Headers checks the fields that go with a request.
func Headers(attribute string, headers map[string]string) error {
	const extra = "!#$%&'*+-.^_`|~"
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		odd := strings.ContainsFunc(name, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			return !letter && !strings.ContainsRune(extra, r)
		})
		broken := strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
		own := slices.ContainsFunc([]string{"Content-Length", "Transfer-Encoding", "Connection"},
			func(s string) bool { return strings.EqualFold(s, name) })
		switch {
		case name == "" || odd:
			return states.InvalidAttribute(attribute, fmt.Sprintf("%.80q is no name of a field", name), "")
		case broken:
			return states.InvalidAttribute(attribute, "the value of "+name+" cannot contain a line break or another control character", "")
		case own:
			return states.InvalidAttribute(attribute, name+" is made from the request itself", "")
		}
	}
	return nil
}

// maxCA bounds a file of certificates.
const maxCA = 1 << 20

// CA reads the file of trusted certificates that a part names, if it does.
func CA(h host.Reader, path *string) ([]byte, error) {
	if path == nil {
		return nil, nil
	}
	text, err := host.ReadFile(h, *path, maxCA+1)
	if err != nil {
		return nil, fmt.Errorf("the trusted certificates: %w", err)
	}
	if len(text) == 0 || len(text) > maxCA {
		return nil, fmt.Errorf("%s holds %d bytes, and no certificates to trust", *path, len(text))
	}
	return text, nil
}

// MaxText is how much of an answer is held in memory.
const MaxText = 1 << 20

// Text is an answer whose body is held in memory.
type Text struct {
	*host.Response
	Text      string
	Truncated bool // the body is longer
}

// Get makes a request, and reads up to MaxText of the answer's body.
func Get(ctx context.Context, h host.Host, r host.Request) (*Text, error) {
	n, err := host.NetworkOf(h)
	if err != nil {
		return nil, err
	}
	response, err := n.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxText+1))
	out := &Text{Response: response, Text: string(body[:min(len(body), MaxText)]), Truncated: len(body) > MaxText}
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return out, fmt.Errorf("reading the answer of %s: %w", Shown(r.URL), err)
	}
	return out, nil
}

// Shown is a URL as messages have it: without what may be secret.
func Shown(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the URL"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

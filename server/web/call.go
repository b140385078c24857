package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/server/api"
)

// get asks the API as the browser's session may. An error is an *api.Problem.
func get[T any](v *view, path string, query url.Values) (out T, err error) {
	answer, err := v.call(http.MethodGet, path, query, nil)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(answer.body.Bytes(), &out); err != nil {
		return out, fmt.Errorf("GET %s: %w", path, err)
	}
	return out, nil
}

// send has the API do something; what it answers is left in out, unless that is nil.
func (v *view) send(method, path string, body, out any) error {
	answer, err := v.call(method, path, nil, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer.body.Bytes(), out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// call passes a request to the API, with what shows it who asks and from where.
func (v *view) call(method, path string, query url.Values, body any) (*answer, error) {
	var reader io.Reader = http.NoBody // a server's requests have one
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(v.r.Context(), method, target, reader)
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr = v.r.Host, v.r.RemoteAddr
	for _, name := range []string{"Cookie", "Origin", "Sec-Fetch-Site", "User-Agent"} {
		if values := v.r.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	v.o.API.ServeHTTP(a, r)
	if a.status < http.StatusBadRequest {
		return a, nil
	}
	problem := &api.Problem{}
	if json.Unmarshal(a.body.Bytes(), problem) != nil || problem.Status == 0 {
		return nil, fmt.Errorf("%s %s: the API answered %d", method, path, a.status)
	}
	return nil, problem
}

// problemOf gives what the API has answered; nil: it is another error.
func problemOf(err error) *api.Problem {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem
	}
	return nil
}

// hasStatus tells whether the API has answered by a problem with one of these statuses.
func hasStatus(err error, list ...int) bool {
	problem := problemOf(err)
	return problem != nil && slices.Contains(list, problem.Status)
}

// isMissing tells that the API has no such thing, or shows none.
func isMissing(err error) bool { return hasStatus(err, http.StatusNotFound) }

// isLacking tells that this server is not set up for something.
func isLacking(err error) bool { return hasStatus(err, http.StatusNotImplemented) }

// isNothing tells that there is nothing to be shown of something, for this person or on this server. Any other problem says nothing
// about what was asked for: it is shown in its place.
func isNothing(err error) bool {
	return hasStatus(err, http.StatusForbidden, http.StatusNotFound, http.StatusNotImplemented)
}

// route makes a path of the API or of a page: each part is one element of it, whatever it holds.
func route(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/" + strings.Join(parts, "/")
}

// answer is what the API has answered.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is http.ResponseWriter's.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader is http.ResponseWriter's.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write is http.ResponseWriter's.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

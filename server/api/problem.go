package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/update"
)

const problemMediaType = "application/problem+json"

// Problem is the answer to a request that was not carried out: RFC 9457.
type Problem struct {
	Title      string `json:"title" doc:"What the status means."`
	Status     int    `json:"status" doc:"The HTTP status."`
	Code       string `json:"code" doc:"A word for programs."`
	Detail     string `json:"detail" doc:"What is wrong, in one line."`
	Hint       string `json:"hint,omitempty" doc:"What to do about it."`
	Retryable  bool   `json:"retryable" doc:"Whether the same request may have success later."`
	RetryAfter int    `json:"retry_after,omitempty" doc:"After how many seconds to try again."`
	ID         string `json:"id,omitempty" doc:"Names a fault of the server in its log."`
	Errors     []Flaw `json:"errors,omitempty" doc:"What is wrong with the request, one by one."`
}

// Flaw is one thing that is wrong with a request. What was given is not repeated: it may be secret.
type Flaw struct {
	Location string `json:"location,omitempty" doc:"Such as body.name or query.limit."`
	Message  string `json:"message"`
}

// Error gives the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is for huma.
func (p *Problem) ContentType(string) string { return problemMediaType }

// GetHeaders is for huma.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	return h
}

func problemType() reflect.Type { return reflect.TypeFor[Problem]() }

// Codes that the frame itself gives.
const (
	codeFault     = "fault"      // something is wrong inside
	codeStandby   = "standby"    // another server is active
	codeUncertain = "uncertain"  // it may have been done or not
	codeTimeout   = "timeout"    // it took too long
	codeNoRoute   = "no_route"   // there is no such operation
	codeMethod    = "method"     // there is one with another method
	codeTooLarge  = "too_large"  // the request has too many bytes
	codeOrigin    = "origin"     // another site has sent it by somebody's browser
	codeCursor    = "cursor"     // it is not one of this list
	codeMediaType = "media_type" // it is no JSON
	codeUnhealthy = "unhealthy"  // the server should get no requests
	codeRefused   = "refused"    // a host that was asked has not done it
)

// status is the one place where codes of errors become statuses. A code that is not here comes
// from a package whose errors are about what was asked: 400.
func status(code string) int {
	switch code {
	case access.CodeUnknown:
		return http.StatusUnauthorized
	case access.CodeForbidden, access.CodeSamePerson, codeOrigin:
		return http.StatusForbidden
	case access.CodeNotFound, codeNoRoute:
		return http.StatusNotFound
	case codeMethod:
		return http.StatusMethodNotAllowed
	case access.CodeExists, access.CodeLastAdmin, access.CodeBroken, "conflict", "locked", "state", codeRefused, enroll.CodeNameTaken, sessions.CodeAway, sessions.CodeRecovering, sessions.CodePosition, deploy.ErrPhase, deploy.ErrPlan, deploy.ErrPinned, deploy.ErrEmpty, deploy.ErrSign, deploy.ErrPolicy, update.CodeBusy, update.CodeLacking:
		return http.StatusConflict
	case "gone", "expired":
		return http.StatusGone
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeMediaType:
		return http.StatusUnsupportedMediaType
	case access.CodeTooMany:
		return http.StatusTooManyRequests
	case access.CodeNotSupported:
		return http.StatusNotImplemented
	case codeStandby, codeTimeout, codeUnhealthy, access.CodeUnavailable, deploy.ErrFull:
		return http.StatusServiceUnavailable
	case codeFault, codeUncertain:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// newProblem makes a problem of a code.
func newProblem(code, detail, hint string) *Problem {
	s := status(code)
	return &Problem{Title: http.StatusText(s), Status: s, Code: code, Detail: diag.Shorten(detail), Hint: diag.Shorten(hint),
		Retryable: s == http.StatusServiceUnavailable || s == http.StatusTooManyRequests}
}

// problem makes a problem of an error. An error without a code is the server's own: what it says
// stays inside.
func (a *API) problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	_, isDeposed := errors.AsType[*store.DeposedError](err)
	_, isCommit := errors.AsType[*store.CommitError](err)
	code := diag.CodeOf(err)
	switch {
	case isDeposed || errors.Is(err, store.ErrStandby) || errors.Is(err, store.ErrClosed):
		p := newProblem(codeStandby, "this server is not the active one", "ask the active one, or try again: another server may take over")
		p.RetryAfter = 2
		return p
	case isCommit:
		return newProblem(codeUncertain, "the server does not know whether it was done", "look at how things stand before you try again")
	case code == "" && errors.Is(err, store.ErrText):
		return newProblem(access.CodeInvalid, store.ErrText.Error(), "leave that out")
	case code == "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return newProblem(codeTimeout, "it took too long", "try again")
	case code == "":
		return a.fault(err)
	}
	p := newProblem(code, err.Error(), diag.HintOf(err))
	if many, ok := errors.AsType[*access.TooManyError](err); ok {
		p.RetryAfter = int(math.Ceil(many.After.Seconds()))
	}
	return p
}

// fault keeps what is wrong inside to the server's log, and gives the name under which it is there.
func (a *API) fault(err error) *Problem {
	random := make([]byte, 8)
	rand.Read(random)
	id := hex.EncodeToString(random)
	if a.o.OnFault != nil {
		a.o.OnFault(id, err)
	}
	a.metrics.fault()
	p := newProblem(codeFault, "something went wrong in the server", "the server's log says what, under the id "+id)
	p.ID = id
	return p
}

// write writes a problem where huma does not.
func (p *Problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemMediaType)
	w.Header().Del("ETag")
	w.WriteHeader(p.Status)
	// Who does not read the answer gets none.
	_ = plainjson.NewEncoder(w).Encode(p)
}

// toProblem makes problems of huma's own errors, which are about the form of requests. They name
// what was given, which may be a password: that is left out.
func toProblem(_ huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := access.CodeInvalid
	switch e.Status {
	case http.StatusRequestEntityTooLarge:
		code = codeTooLarge
	case http.StatusRequestTimeout:
		code = codeTimeout
	case http.StatusUnsupportedMediaType:
		code = codeMediaType
	}
	p := newProblem(code, e.Detail, "/v1/openapi.json says what the operation takes")
	p.Status, p.Title = e.Status, http.StatusText(e.Status)
	const most = 20
	for _, d := range e.Errors[:min(most, len(e.Errors))] {
		const longest = 300
		location := d.Location
		if len(location) > longest {
			location = location[:longest] + "…"
		}
		message := d.Message
		if d.Location == "body" && e.Status == http.StatusBadRequest {
			message = "it is no JSON of the form that the operation takes"
		}
		p.Errors = append(p.Errors, Flaw{diag.Clean(location, "", '�'), diag.Clean(diag.Shorten(message), "", '�')})
	}
	return p, nil
}

// example is what a problem with a code looks like.
func example(code string) *Problem {
	p := newProblem(code, "what is wrong, in one line", "what to do about it")
	if p.Retryable {
		p.RetryAfter = int((20 * time.Second).Seconds())
	}
	return p
}

// jsonFormat writes JSON as it is written everywhere, and reads one value and nothing after it.
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error { return plainjson.NewEncoder(w).Encode(v) },
		Unmarshal: func(data []byte, v any) error {
			if depth(data) > maxDepth {
				return fmt.Errorf("more than %d lists and objects within one another", maxDepth)
			}
			return json.Unmarshal(bytes.TrimSpace(data), v)
		},
	}
}

// maxDepth is how deep requests are nested at most; none needs half of it.
const maxDepth = 32

// depth is how deep a text of JSON is nested at most; in texts within it brackets count for nothing.
func depth(data []byte) (most int) {
	now, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			now++
			most = max(most, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return most
}

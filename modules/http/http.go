// Package http is the module "http": one request, and what is expected of its
// answer.
package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// HTTP is one request, and what was answered.
type HTTP struct {
	URL     *string           `state:"url,required" doc:"Where it goes: http or https."`
	Method  *string           `state:"method" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE" doc:"GET by default."`
	Headers map[string]string `state:"headers" doc:"Fields of the request's header."`
	Send    *string           `state:"send" doc:"Body of the request, as it is."`
	JSON    json.RawMessage   `state:"json" doc:"Value that is sent as JSON, in place of send."`
	Plan    *bool             `state:"plan" doc:"Promises that the request only reads, though its method is not GET, HEAD or OPTIONS. It is then made in a plan too, and is never a change."`
	Expect  []string          `state:"expect" doc:"Statuses that are right: \"204\", or \"2xx\" for all that begin so. By default 2xx."`
	Matches *string           `state:"matches" doc:"Regular expression (RE2) that the answer's body must match; of an answer over 1 MiB, its first MiB."`
	Follow  *bool             `state:"follow" doc:"Whether a request that only reads goes on where a redirect leads, at most 10 times and never from https to http; true by default."`
	CA      *string           `state:"ca,path" doc:"File on the host with the certificates (PEM) that are trusted in place of the host's own."`
	Proxy   *string           `state:"proxy" doc:"URL of the proxy to go through. Without it there is none: the environment is not asked."`

	ChangedIf *states.Condition `state:"changed_if,in" doc:"Whether the request has changed something, decided by its answer: an expression over result, such as result.status == 201."`
	FailedIf  *states.Condition `state:"failed_if,in" doc:"Whether it has failed though its status is right: an expression over result, such as jsondecode(result.body).ready != true."`

	Status  *int              `state:"status,out" doc:"Status of the answer."`
	Body    *string           `state:"body,out" doc:"Body of the answer, up to 1 MiB; without one that is no UTF-8 text."`
	Answers map[string]string `state:"answer_headers,out" doc:"Fields of the answer's header; the names are in lower case, and several values of one name are joined by a comma."`
}

const doc = `Makes one HTTP request, and holds the answer to what is expected.

GET, HEAD and OPTIONS only read: they are made in a plan too, and change nothing. Any other request has changed something, as far as anybody can know, and is made each time: give it a guard (only_if, unless), or changed_if. What others use of the answer is result.status, result.body and result.answer_headers of this part.

It is made once; retry = { attempts = 5, delay = "2s" } makes it again where it fails. Where the answer to a request that changes something got lost on the way nobody knows what has become of it: the outcome is unknown, and without retry it is made up to three times. To wait until something answers, use wait_for.

A server that says nothing for 30 s has failed. Certificates are checked against those that the host trusts, or ca. On the way to another host the fields in headers are left out. A request that may change something follows no redirect.`

const example = `http "health" {
  url     = "http://127.0.0.1/health"
  expect  = ["200"]
  matches = "ok"
}

http "announce" {
  method  = "POST"
  url     = "http://127.0.0.1/announce"
  headers = { Accept = "application/json" }
  json    = { domain = var.domain }
}`

// Module is the module "http".
var Module = states.Define(states.Type[HTTP]{
	Name: "http", Doc: doc, Example: example,
	NoAbsent: "A request that was made cannot be taken back.",
	Validate: validate, Act: act, Effects: effects,
})

func validate(want HTTP) error {
	if want.Send != nil && want.JSON != nil {
		return states.InvalidAttribute("json", "it cannot be given beside send", "leave json for a value, or send for text as it is")
	}
	return errors.Join(
		web.OptionalURL("url", want.URL),
		web.OptionalURL("proxy", want.Proxy),
		web.Headers("headers", want.Headers),
		web.Statuses("expect", want.Expect),
		check.Pattern("matches", want.Matches),
		check.OptionalPath("ca", want.CA),
	)
}

func valueOr(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

// request makes what is sent.
func (want HTTP) request(h host.Reader) (host.Request, error) {
	r := host.Request{Method: "GET", URL: *want.URL, Header: map[string]string{}, Stay: !valueOr(want.Follow, true)}
	if want.Method != nil {
		r.Method = *want.Method
	}
	r.Reads = want.readsOnly()
	switch {
	case want.Send != nil:
		r.Body = []byte(*want.Send)
	case want.JSON != nil:
		r.Body = want.JSON
		r.Header["Content-Type"] = "application/json"
	}
	for name, value := range want.Headers {
		if strings.EqualFold(name, "Content-Type") {
			delete(r.Header, "Content-Type")
		}
		r.Header[name] = value
	}
	if want.Proxy != nil {
		r.Proxy = *want.Proxy
	}
	var err error
	r.CA, err = web.CA(h, want.CA)
	return r, err
}

// effects are none of a request that only reads; of others nobody knows, as this machine may be asked.
func effects(want HTTP, _ bool) states.Effects {
	return states.Effects{Anything: !want.readsOnly()}
}

// readsOnly reports whether the request changes nothing.
func (want HTTP) readsOnly() bool {
	return valueOr(want.Plan, false) || want.Method == nil || slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, *want.Method)
}

func act(ctx context.Context, h host.Host, want HTTP) (bool, HTTP, error) {
	r, err := want.request(h)
	if err != nil {
		return false, want, err
	}
	answer, err := web.Get(ctx, h, r)
	if err != nil {
		if !r.Reads && (answer != nil || host.IsLost(err)) {
			err = fmt.Errorf("%w: %w", err, states.ErrUnknown)
		}
		return false, want, err
	}
	out := want
	out.Status = &answer.Status
	if utf8.ValidString(answer.Text) {
		out.Body = &answer.Text
	}
	out.Answers = map[string]string{}
	for name, values := range answer.Header {
		out.Answers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return !r.Reads, out, want.judge(r, answer)
}

// judge holds the answer to what is expected.
func (want HTTP) judge(r host.Request, answer *web.Text) error {
	what := fmt.Sprintf("%s %s", r.Method, web.Shown(r.URL))
	if err := web.Expected(want.Expect, answer.Status); err != nil {
		return fmt.Errorf("%s was answered by %w%s", what, err, firstLines(answer))
	}
	if want.Matches != nil && !regexp.MustCompile(*want.Matches).MatchString(answer.Text) {
		return fmt.Errorf("the answer to %s does not match %q%s", what, *want.Matches, firstLines(answer))
	}
	return nil
}

// firstLines gives the first lines of what was answered.
func firstLines(answer *web.Text) string {
	if location := answer.Header["Location"]; len(location) > 0 && answer.Status/100 == 3 {
		return ": it leads to " + web.Shown(location[0])
	}
	if !utf8.ValidString(answer.Text) {
		return ""
	}
	lines := strings.SplitN(answer.Text, "\n", 11) // of any length: who shows them hides secrets, and cuts
	text := process.Tail([]byte(strings.Join(lines[:min(len(lines), 10)], "\n")), 10)
	if text == "" {
		return ""
	}
	return ":\n" + text
}

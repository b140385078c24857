package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/store"
)

func body(name, password string) string {
	return fmt.Sprintf(`{"name":%q,"password":%q}`, name, password)
}

func TestLogin(t *testing.T) {
	w := start(t, nil)
	r := w.ask("POST", "/v1/login", "", body("alice", password))
	if r.status != 200 || !strings.Contains(r.text, `"secret":"tenet_s_`) || r.header.Get("Set-Cookie") != "" {
		t.Fatal(r)
	}
	wrong, none := w.ask("POST", "/v1/login", "", body("alice", "wrong")), w.ask("POST", "/v1/login", "", body("mallory", "wrong"))
	w.wantProblem(wrong, 401, access.CodeUnknown)
	if wrong.text != none.text {
		t.Error("names can be told apart", wrong.text, none.text)
	}
	for range 20 {
		r = w.ask("POST", "/v1/login", "", body("alice", "wrong"))
	}
	w.wantProblem(r, 429, access.CodeTooMany)
	if r.header.Get("Retry-After") == "" || r.problem.RetryAfter == 0 || !r.problem.Retryable {
		t.Error(r)
	}
}

// A session in a browser cannot be used by another site, and its secret is in no answer.
func TestCookies(t *testing.T) {
	w := start(t, nil)
	r := w.ask("POST", "/v1/login", "", `{"name":"alice","password":"`+password+`","cookie":true}`, "Origin", w.server.URL)
	cookie := r.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-tenet=tenet_s_", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(cookie, want) {
			t.Fatal(cookie)
		}
	}
	if strings.Contains(cookie, "Domain") || strings.Contains(r.text, "tenet_s_") {
		t.Error(r)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	if r := w.ask("GET", "/v1/session", "", "", "Cookie", pair); r.status != 200 {
		t.Error(r)
	}
	role := func(headers ...string) reply {
		return w.ask("PUT", "/v1/roles/r", "", `{"grants":[]}`, append([]string{"Cookie", pair}, headers...)...)
	}
	w.wantProblem(role(), 403, "origin")
	w.wantProblem(role("Origin", "https://evil.example"), 403, "origin")
	w.wantProblem(role("Origin", "null"), 403, "origin")
	w.wantProblem(role("Sec-Fetch-Site", "cross-site"), 403, "origin")
	w.wantProblem(role("Sec-Fetch-Site", "same-site", "Origin", w.server.URL), 403, "origin")
	if r := role("Origin", w.server.URL); r.status != 204 {
		t.Error(r)
	}
	// Another site cannot log somebody in, or out.
	w.wantProblem(w.ask("POST", "/v1/login", "", body("alice", password), "Origin", "https://evil.example"), 403, "origin")
	w.wantProblem(w.ask("DELETE", "/v1/session", "", "", "Cookie", pair, "Sec-Fetch-Site", "cross-site"), 403, "origin")
	// A form has no JSON.
	w.wantProblem(w.ask("POST", "/v1/login", "", body("alice", password), "Content-Type", "text/plain"), 415, "media_type")
	if r := w.ask("DELETE", "/v1/session", "", "", "Cookie", pair, "Origin", w.server.URL); r.status != 204 || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/session", "", "", "Cookie", pair), 401, access.CodeUnknown)
}

// Who logs in with a session that somebody else has put there gets a new one.
func TestSessionFixation(t *testing.T) {
	w := start(t, nil)
	planted := w.login("nobody")
	r := w.ask("POST", "/v1/login", "", `{"name":"alice","password":"`+password+`","cookie":true}`, "Cookie", "__Host-tenet="+planted, "Origin", w.server.URL)
	if strings.Contains(r.header.Get("Set-Cookie"), planted) {
		t.Fatal("the planted session was taken on")
	}
	if r := w.ask("GET", "/v1/session", planted, ""); !strings.Contains(r.text, `"name":"nobody"`) {
		t.Error(r)
	}
	w.wantProblem(w.ask("POST", "/v1/login", "", body("alice", "wrong"), "Cookie", "__Host-tenet="+w.login("alice")), 401, access.CodeUnknown)
}

// One way to show who one is counts, and a bad one is not made good by another.
func TestAuthorization(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	for _, value := range []string{"Basic " + alice, alice, "Bearer", "Bearer x", "Bearer " + alice + " x", "Bearer\t" + alice, "Bearer " + alice + "," + alice} {
		w.wantProblem(w.ask("GET", "/v1/session", "", "", "Authorization", value, "Cookie", "__Host-tenet="+alice), 401, access.CodeUnknown)
	}
	if r := w.ask("GET", "/v1/session", "", "", "Authorization", "bearer "+alice); r.status != 200 {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/session", "", "", "Cookie", "tenet="+alice), 401, access.CodeUnknown)
	w.wantProblem(w.ask("GET", "/v1/session?access_token="+alice, "", ""), 401, access.CodeUnknown)
}

func TestBadBodies(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	for text, want := range map[string]int{
		"": 400, "{": 400, "[]": 422, "null": 422, "{}": 422, `{"grants":1}`: 422, `{"grants":[],"more":1}`: 422, `{"grants":[]} {}`: 400, "\xff": 400, `{"grants":[` + "\x00]}": 400,
		`{"grants":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`: 400,
		`{"grants":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`:           400,
		strings.Repeat(`{"grants":`, 50_000):                                             400,
		`{"grants":[],"reason":"` + strings.Repeat("x", 2000) + `"}`:                     422,
	} {
		r := w.ask("PUT", "/v1/roles/r", alice, text)
		if r.status != want || len(r.text) > 4000 || want == 400 && text != "" && !strings.Contains(r.text, "it is no JSON of the form") {
			t.Errorf("%.40q: %d %.300s", text, r.status, r.text)
		}
	}
	w.wantProblem(w.ask("PUT", "/v1/roles/r", alice, `{"grants":[],"reason":"`+strings.Repeat("x", 2<<20)+`"}`), 413, "too_large")
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}

// What was sent is not sent back: it may be a password, wherever it stands.
func TestNothingIsRepeated(t *testing.T) {
	w := start(t, nil)
	const secret = "hunter2hunter2"
	for _, text := range []string{`{"name":"alice","password":["` + secret + `"]}`, `{"password":"` + secret + `"}`, `{"name":"alice","password":"` + secret, `"` + secret + `"`,
		`{"name":"` + secret + `","password":"wrong"}`, `{"name":"a","password":"` + strings.Repeat(secret, 1000) + `"}`} {
		if r := w.ask("POST", "/v1/login", "", text); r.status < 400 || strings.Contains(r.text, secret) {
			t.Errorf("%.100s: %s", text, r.text)
		}
	}
	alice := w.login("alice")
	for _, r := range []reply{w.ask("GET", "/v1/people?limit="+alice, alice, ""), w.ask("GET", "/v1/x/"+alice, alice, ""), w.ask("GET", "/v1/people?cursor="+alice, alice, "")} {
		if r.status < 400 || strings.Contains(r.text, alice) {
			t.Error(r)
		}
	}
}

func TestRoutes(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/nothing", "/v1/people/", "//v1/people", "/v1//people", "/v1/./people", "/v1/x/../people", "/v1/%2e%2e/people", "/v1/people/..%2fpeople/", "/v1/people/..%2f..%2fetc%2fpasswd", "/V1/people", "/v2/people"} {
		w.wantProblem(w.ask("GET", path, alice, ""), 404, "no_route")
	}
	r := w.ask("DELETE", "/v1/people", alice, "")
	w.wantProblem(r, 405, "method")
	if !strings.Contains(r.header.Get("Allow"), "GET") {
		t.Error(r.header)
	}
	for _, name := range []string{"etc%2fpasswd", "%00", "%0d%0aSet-Cookie:%20x=1", "%e2%80%ae", strings.Repeat("x", 150)} {
		w.wantProblem(w.ask("GET", "/v1/people/"+name, alice, ""), 404, access.CodeNotFound)
	}
	for _, query := range []string{"?limit=0", "?limit=1001", "?limit=-1", "?limit=x", "?unknown=1", "?cursor=" + strings.Repeat("x", 5000)} {
		w.wantProblem(w.ask("GET", "/v1/people"+query, alice, ""), 422, access.CodeInvalid)
	}
}

// Line ends in what a request names make no headers, and no events.
func TestHeaderInjection(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	for _, r := range []reply{
		w.ask("GET", "/v1/people?cursor=%0d%0aX-Evil:%201", alice, ""),
		w.ask("GET", "/v1/people/%0d%0aX-Evil:%201", alice, ""),
		w.ask("GET", "/v1/people", alice, "", "If-None-Match", `"x", X-Evil: 1`),
	} {
		if r.header.Get("X-Evil") != "" {
			t.Error(r)
		}
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
		for _, path := range []string{"/v1/people", "/nothing", "/healthz"} {
			if got := w.ask("GET", path, "", "").header.Get(name); got != want {
				t.Errorf("%s: %s: %q", path, name, got)
			}
		}
	}
	if r := w.ask("GET", "/v1/people", alice, "", "Origin", "https://evil.example"); r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other sites may read")
	}
}

// A cursor is good for the caller who got it, the list and the filters.
func TestCursors(t *testing.T) {
	w := start(t, nil)
	for i := range 5 {
		w.add(fmt.Sprint("p", i))
	}
	w.add("bob", access.AllGrants()...)
	alice, bob := w.login("alice"), w.login("bob")
	var names []string
	next := func(r reply) string {
		_, cursor, _ := strings.Cut(r.text, `"next":"`)
		cursor, _, _ = strings.Cut(cursor, `"`)
		for part := range strings.SplitSeq(r.text, `{"name":"`) {
			name, _, _ := strings.Cut(part, `"`)
			if name != "{" {
				names = append(names, name)
			}
		}
		return cursor
	}
	cursor := next(w.ask("GET", "/v1/people?limit=3", alice, ""))
	first := cursor
	for cursor != "" {
		cursor = next(w.ask("GET", "/v1/people?limit=3&cursor="+cursor, alice, ""))
	}
	if got := strings.Join(names, " "); got != "alice bob nobody p0 p1 p2 p3 p4" {
		t.Error(got)
	}
	w.wantProblem(w.ask("GET", "/v1/people?limit=3&cursor="+first, bob, ""), 400, "cursor")
	w.wantProblem(w.ask("GET", "/v1/audit?cursor="+first, alice, ""), 400, "cursor")
	for _, bad := range []string{first[:len(first)-4], first + "AAAA", "AAAA" + first[4:], "x", strings.Repeat("A", 100)} {
		w.wantProblem(w.ask("GET", "/v1/people?cursor="+bad, alice, ""), 400, "cursor")
	}
	audit := next(w.ask("GET", "/v1/audit?limit=1&actor=server", alice, ""))
	if r := w.ask("GET", "/v1/audit?limit=1&actor=server&cursor="+audit, alice, ""); r.status != 200 {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/audit?limit=1&actor=alice&cursor="+audit, alice, ""), 400, "cursor")
}

// What goes wrong inside stays there: the answer has an id, under which the log has the rest.
func TestFaults(t *testing.T) {
	w := start(t, nil)
	what := "disk at /var/lib/tenet is full of secrets"
	register := func(id string, fail func() error) {
		api.Register(w.api, api.Operation{ID: id, Method: "GET", Path: "/v1/" + id, Scope: api.Self, Tag: "t"}, func(context.Context, *access.Caller, *struct{}) (*struct{}, error) { return nil, fail() })
	}
	register("fails", func() error { return errors.New(what) })
	register("panics", func() error { panic(what) })
	register("standby", func() error { return fmt.Errorf("x: %w", store.ErrStandby) })
	register("deposed", func() error { return &store.DeposedError{Term: 1, Now: 2} })
	register("uncertain", func() error { return &store.CommitError{Err: errors.New(what)} })
	register("text", func() error { return fmt.Errorf("argument $1: %w", store.ErrText) })
	register("slow", func() error { return context.DeadlineExceeded })
	alice := w.login("alice")
	for _, path := range []string{"/v1/fails", "/v1/panics"} {
		r := w.ask("GET", path, alice, "")
		w.wantProblem(r, 500, "fault")
		if r.problem.ID == "" || strings.Contains(r.text, "disk") || strings.Contains(r.text, "/") && !strings.Contains(r.text, "application") || r.problem.Retryable {
			t.Error(r)
		}
	}
	if len(w.faults) != 2 || !strings.Contains(w.faults[0].Error(), what) {
		t.Error(w.faults)
	}
	r := w.ask("GET", "/v1/standby", alice, "")
	w.wantProblem(r, 503, "standby")
	if !r.problem.Retryable || r.header.Get("Retry-After") == "" {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/text", alice, ""), 400, access.CodeInvalid)
	w.wantProblem(w.ask("GET", "/v1/deposed", alice, ""), 503, "standby")
	w.wantProblem(w.ask("GET", "/v1/uncertain", alice, ""), 500, "uncertain")
	w.wantProblem(w.ask("GET", "/v1/slow", alice, ""), 503, "timeout")
}

package web

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// fakeAPI answers by path, with its query or without, and notes what it was asked to do.
type fakeAPI struct {
	mu      sync.Mutex
	t       *testing.T
	takes   *contract      // what it would refuse is a fault of the page
	answers map[string]any // by path; an *api.Problem is one
	done    []string       // METHOD PATH BODY
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock() // hosts are asked at the same time
	defer f.mu.Unlock()
	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(r.Body)
		f.done = append(f.done, r.Method+" "+r.URL.Path+" "+string(body))
		if wrong := f.takes.check(r.Method, r.URL.Path, body); wrong != "" {
			f.t.Errorf("%s %s %s: %s", r.Method, r.URL.Path, body, wrong)
		}
	}
	if c, err := r.Cookie(api.SessionCookie); r.URL.Path != "/v1/login" && (err != nil || c.Value != "secret") {
		f.answer(w, &api.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized", Detail: "nobody is logged in"})
		return
	}
	a, known := f.answers[r.URL.RequestURI()]
	if !known {
		a, known = f.answers[r.URL.Path]
	}
	if !known {
		a = &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "there is none"}
	}
	f.answer(w, a)
}

func (f *fakeAPI) answer(w http.ResponseWriter, a any) {
	if p, ok := a.(*api.Problem); ok {
		w.WriteHeader(p.Status)
	}
	_ = json.NewEncoder(w).Encode(a)
}

// noon is the time in these tests.
func noon() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) }

// newTest makes pages over a fake API, in which somebody has these grants.
func newTest(t *testing.T, grants []access.Grant, answers map[string]any) (*Pages, *fakeAPI) {
	t.Helper()
	takes, err := readContract()
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeAPI{t: t, takes: takes, answers: map[string]any{
		"/v1/session": api.Session{Name: "ada", Kind: access.Person, ID: "s1", Grants: grants},
		"/v1/status":  api.FleetStatus{}, "/v1/deployments": list(), "/v1/hosts": list(), "/v1/sites": list(), "/v1/server": api.ServerStatus{}, "/v1/tokens": list(), "/v1/runs": list(), "/v1/sources": list(), "/v1/clusters": list(),
	}}
	for path, a := range answers {
		f.answers[path] = a
	}
	p, err := New(Options{API: f, Clock: noon, Version: "test", OnFault: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

// list is an answer of the API with these items.
func list(items ...any) map[string]any {
	if items == nil {
		items = []any{}
	}
	return map[string]any{"items": items}
}

// request asks for a page as somebody who has logged in, unless headers say otherwise.
func request(p *Pages, method, target string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://tenet.test"+target, strings.NewReader(form.Encode()))
	r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: "secret"})
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// tokenOf finds the token of the forms of a page.
func tokenOf(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no form with a token:\n%s", page)
	}
	return found[1]
}

// TestLogin checks the way in: who is not logged in comes back to the page for which they asked, and to no other server.
func TestLogin(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), nil)
	w := request(p, "GET", "/hosts?phase=help", nil, "Cookie", "")
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != "/login?next=%2Fhosts%3Fphase%3Dhelp" {
		t.Errorf("without a session: %d to %q", w.Code, at)
	}
	for path, wanted := range map[string]string{"/hosts/web1/lock?a=b": "/login?next=%2Fhosts%2Fweb1%2Flock%3Fa%3Db", "/logout": "/login"} { // an act is there when one has logged in; nobody logs in to log out
		w := request(p, "POST", path, url.Values{}, "Cookie", "")
		if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != wanted {
			t.Errorf("%s without a session: %d to %q", path, w.Code, at)
		}
	}
	for _, c := range []struct{ next, wanted string }{{"/hosts?phase=help", "/hosts?phase=help"}, {"", "/"}, {"https://evil.test/", "/"}, {"//evil.test/", "/"}, {`/\evil.test`, "/"}, {"/\tevil", "/"}} {
		f.answers["/v1/login"] = api.SessionStart{}
		shown := request(p, "GET", "/login?next="+url.QueryEscape(c.next), nil, "Cookie", "")
		cookie := shown.Result().Cookies()[0]
		w := request(p, "POST", "/login", url.Values{"token": {tokenOf(t, shown.Body.String())}, "name": {"ada"}, "password": {"x"}, "next": {c.next}}, "Cookie", cookie.Name+"="+cookie.Value)
		if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != c.wanted {
			t.Errorf("next %q: %d to %q, wanted %q", c.next, w.Code, at, c.wanted)
		}
	}
	f.done = nil
	w = request(p, "POST", "/login", url.Values{"name": {"ada"}, "password": {"x"}}, "Cookie", "")
	if w.Code != http.StatusForbidden || len(f.done) > 0 {
		t.Errorf("a login by another site's form: %d, and the API was asked %q", w.Code, f.done)
	}
	f.answers["/v1/login"] = &api.Problem{Status: http.StatusUnauthorized, Detail: "the name or the password is wrong"}
	shown := request(p, "GET", "/login", nil, "Cookie", "")
	cookie := shown.Result().Cookies()[0]
	w = request(p, "POST", "/login", url.Values{"token": {tokenOf(t, shown.Body.String())}, "name": {"ada"}, "password": {"hunter2"}}, "Cookie", cookie.Name+"="+cookie.Value)
	if body := w.Body.String(); w.Code != http.StatusUnauthorized || !strings.Contains(body, "the password is wrong") || !strings.Contains(body, `value="ada"`) || strings.Contains(body, "hunter2") {
		t.Errorf("a wrong password: %d\n%s", w.Code, body)
	}
}

// TestForgedForms checks that nothing is done by a form of a page that this login was not shown.
func TestForgedForms(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/tokens": map[string]any{"secret": "s3cret", "names": "web*"}})
	good := tokenOf(t, request(p, "GET", "/enrolment/tokens/new", nil).Body.String())
	other, _ := newTest(t, access.AllGrants(), nil)
	foreign := tokenOf(t, request(other, "GET", "/enrolment/tokens/new", nil).Body.String())
	form := url.Values{"uses": {"1"}, "hours": {"1"}}
	for _, token := range []string{"", "x", foreign} {
		form.Set("token", token)
		if w := request(p, "POST", "/enrolment/tokens/new", form); w.Code != http.StatusForbidden || len(f.done) > 0 {
			t.Errorf("the token %q: %d, the API was asked %q", token, w.Code, f.done)
		}
	}
	form.Set("token", good)
	if w := request(p, "POST", "/enrolment/tokens/new", form); w.Code != http.StatusOK || len(f.done) != 1 || !strings.Contains(w.Body.String(), "s3cret") {
		t.Errorf("the form itself: %d, the API was asked %q", w.Code, f.done)
	}
}

// TestActProblem checks that an act that was refused is shown again, with what was filled in.
func TestActProblem(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), nil)
	f.answers["/v1/session/password"] = &api.Problem{Status: http.StatusForbidden, Title: "Forbidden", Detail: "the former password is wrong", Hint: "try again"}
	token := tokenOf(t, request(p, "GET", "/account/password", nil).Body.String())
	w := request(p, "POST", "/account/password", url.Values{"token": {token}, "former": {"hunter2"}, "password": {"hunter3"}, "again": {"hunter3"}})
	if body := w.Body.String(); w.Code != http.StatusForbidden || !strings.Contains(body, "the former password is wrong") || strings.Contains(body, "hunter") {
		t.Errorf("%d\n%s", w.Code, body)
	}
	w = request(p, "POST", "/enrolment/tokens/new", url.Values{"token": {token}, "uses": {"many"}, "hours": {"1"}, "note": {"for the <b>east</b>"}})
	if body := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, "for the &lt;b&gt;east&lt;/b&gt;") || !strings.Contains(body, "a whole number from 1") {
		t.Errorf("%d\n%s", w.Code, body)
	}
}

// TestHostileHosts checks that whatever a host is called stays text.
func TestHostileHosts(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/hosts": list(map[string]any{
		"id": strings.Repeat("a", 52), "name": "../" + evil, "state": "pending", "reason": evil, "source": evil, "labels": map[string]string{evil: "javascript:alert(1)"},
		"replaces": map[string]any{"id": strings.Repeat("q", 51) + "a", "difference": []any{map[string]string{"what": evil, "held": evil, "asks": evil}}},
		"status":   map[string]any{"sites": map[string]any{evil: map[string]any{"delivery": map[string]any{"revision": evil, "pending": evil}, "loop": map[string]any{"phase": evil, "reason": evil}}}}}),
		"/v1/runs":        list(map[string]any{"host": strings.Repeat("a", 52), "name": evil, "run": "../" + evil, "site": evil, "error": evil}),
		"/v1/deployments": list(map[string]any{"id": 7, "site": evil, "phase": evil, "message": evil, "by": evil}, map[string]any{"id": 8, "site": evil, "phase": "paused", "why": map[string]any{"text": evil, "ask": evil}})})
	for _, path := range []string{"/hosts", "/hosts?words=" + url.QueryEscape(evil) + "&select=" + url.QueryEscape(evil), "/enrolment", "/", "/" + url.PathEscape(evil)} {
		body := request(p, "GET", path, nil).Body.String()
		if strings.Contains(body, "<script>alert") || regexp.MustCompile(`(href|action)="javascript`).MatchString(body) {
			t.Errorf("%s lets it through:\n%s", path, body)
		}
		if path == "/" && (!strings.Contains(body, "/runs/..%2F") || !strings.Contains(body, "Deployment 8 of")) {
			t.Errorf("the overview does not show what failed and what waits:\n%s", body)
		}
		if strings.Contains(body, `href="/hosts/../`) {
			t.Errorf("%s leads out of the hosts", path)
		}
	}
}

// TestRights checks that what somebody may not do is not on the page.
func TestRights(t *testing.T) {
	all, ofAll := newTest(t, access.AllGrants(), nil)
	hosts, err := access.ParseSelector("web*")
	if err != nil {
		t.Fatal(err)
	}
	reader, ofReader := newTest(t, []access.Grant{{Verb: access.Read, Hosts: hosts, Site: "shop"}}, nil)
	for _, p := range []*fakeAPI{ofAll, ofReader} {
		p.answers["/v1/status"] = map[string]any{"states": map[string]int{"pending": 1}}
	}
	for _, link := range []string{`href="/enrolment"`, `href="/people"`, `href="/audit"`, `href="/server"`} {
		if body := request(all, "GET", "/", nil).Body.String(); !strings.Contains(body, link) {
			t.Errorf("who administers has no %s", link)
		}
		if body := request(reader, "GET", "/", nil).Body.String(); strings.Contains(body, link) {
			t.Errorf("who only reads has %s", link)
		}
	}
}

// TestRenewal checks that a page that has not changed is not sent again, however late it is, and that a part of it is no whole page.
func TestRenewal(t *testing.T) {
	now := noon()
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/hosts": list(map[string]any{"id": strings.Repeat("a", 52), "name": "web1", "state": "active", "status": map[string]any{"reachability": map[string]any{"connected": true, "seen": noon()}}})})
	p.o.Clock = func() time.Time { return now }
	var err error
	if p.templates, err = p.loadTemplates(); err != nil {
		t.Fatal(err)
	}
	w := request(p, "GET", "/hosts", nil, "HX-Request", "true")
	if body := w.Body.String(); strings.Contains(body, "<html") || !strings.Contains(body, `<main id="main"`) || !strings.Contains(body, "now</time>") {
		t.Errorf("a part of a page:\n%s", body)
	}
	tag := w.Header().Get("ETag")
	now = now.Add(time.Hour)
	if w := request(p, "GET", "/hosts", nil, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("Refresh-Wait") == "" {
		t.Errorf("an hour later: %d, %v", w.Code, w.Header())
	}
	f.answers["/v1/hosts"] = list()
	if w := request(p, "GET", "/hosts", nil, "If-None-Match", tag); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "No host has joined yet") {
		t.Errorf("after a change: %d", w.Code)
	}
}

// TestPolicy checks what browsers are told, and that templates hold to it.
func TestPolicy(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), nil)
	for _, path := range []string{"/", "/login", "/nowhere", "/assets/page.js"} {
		h := request(p, "GET", path, nil).Header()
		if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'; script-src 'self'; style-src 'self'") || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %v", path, h)
		}
	}
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	forbidden := regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<style|<script(?: [^>]*)?>[^<]|hx-on|hx-vals='js`)
	for _, e := range entries {
		text, err := templateFiles.ReadFile("templates/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.Find(text); found != nil {
			t.Errorf("%s has %q, which the policy forbids", e.Name(), found)
		}
	}
}

// TestAssets checks that browsers keep files until they change.
func TestAssets(t *testing.T) {
	p, _ := newTest(t, nil, nil)
	for name := range p.assets.content {
		w := request(p, "GET", p.assets.url(name), nil)
		if cache := w.Header().Get("Cache-Control"); w.Code != http.StatusOK || !strings.Contains(cache, "immutable") || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d, %q, %q", name, w.Code, cache, w.Header().Get("Content-Type"))
		}
		if w := request(p, "GET", "/assets/"+name, nil, "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s without its version: %d", name, w.Code)
		}
	}
	if w := request(p, "GET", "/assets/web.go", nil); w.Code != http.StatusNotFound {
		t.Errorf("a file that is none: %d", w.Code)
	}
}

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

var update = flag.Bool("update", false, "rewrite testdata")

const password = "correct horse battery"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a server with alice, who may do everything, and nobody, who may nothing.
type world struct {
	t      testing.TB
	api    *api.API
	people *access.Directory
	server *httptest.Server
	faults []error
	root   *access.Caller
}

func start(t testing.TB, change func(*api.Options)) *world {
	t.Helper()
	ctx := context.Background()
	e, err := sqlite.Open(ctx, t.TempDir())
	must(t, err)
	s, err := store.New(ctx, e, store.Options{Migrations: access.Migrations()})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(ctx)
	must(t, err)
	w := &world{t: t, root: &access.Caller{Name: "server", Kind: access.Person, Grants: access.AllGrants()}}
	w.people = access.NewDirectory(s, access.Options{Cost: access.Cost{Time: 1, Memory: 64, Threads: 1}})
	w.add("alice", access.AllGrants()...)
	w.add("nobody")
	o := api.Options{People: w.people, Version: "1.2.3", OnFault: func(_ string, err error) { w.faults = append(w.faults, err) }}
	if change != nil {
		change(&o)
	}
	w.api = api.New(o)
	w.server = httptest.NewTLSServer(w.api.Handler())
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) add(name string, grants ...access.Grant) {
	w.t.Helper()
	must(w.t, w.people.AddPerson(context.Background(), w.root, name, access.PersonChange{Password: new(password), Grants: &grants}))
}

func (w *world) login(name string) string {
	w.t.Helper()
	l, err := w.people.LogIn(context.Background(), name, password, "test")
	must(w.t, err)
	return l.Secret
}

// reply is an answer as tests look at it.
type reply struct {
	status  int
	header  http.Header
	text    string
	problem api.Problem
}

// ask sends a request; headers are pairs.
func (w *world) ask(method, path, secret, body string, headers ...string) reply {
	w.t.Helper()
	r, err := http.NewRequest(method, w.server.URL+path, strings.NewReader(body))
	must(w.t, err)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := *w.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(r)
	must(w.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(w.t, err)
	out := reply{status: answer.StatusCode, header: answer.Header, text: string(text)}
	if answer.Header.Get("Content-Type") == "application/problem+json" {
		must(w.t, json.Unmarshal(text, &out.problem))
		if out.problem.Status != out.status || out.problem.Code == "" || out.problem.Detail == "" || out.problem.Title == "" {
			w.t.Errorf("%s %s: %s", method, path, text)
		}
	} else if out.status >= 400 {
		w.t.Errorf("%s %s: %d is no problem: %.200s", method, path, out.status, text)
	}
	return out
}

func (w *world) wantProblem(r reply, status int, code string) {
	w.t.Helper()
	if r.status != status || r.problem.Code != code {
		w.t.Errorf("got %d %s, want %d with the code %s", r.status, r.text, status, code)
	}
}

func filled(path string) string {
	return regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(path, "x")
}

func TestDescription(t *testing.T) {
	w := start(t, nil)
	r := w.ask("GET", "/v1/openapi.json", "", "")
	const golden = "testdata/openapi.json"
	want, err := os.ReadFile(golden)
	if *update && string(want) != r.text { // tests of the pages may read it meanwhile
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(golden, []byte(r.text), 0o644))
		want, err = os.ReadFile(golden)
	}
	must(t, err)
	if r.text != string(want) {
		t.Error("the API is not as testdata/openapi.json says: go test ./server/api -update")
	}
}

// Each operation says what it does and what it demands, and has an example of its errors.
func TestOperationsAreDescribed(t *testing.T) {
	w := start(t, nil)
	open := map[string]bool{"hint-source": true, "login": true, "openapi": true, "health": true,
		"begin-identity-browser": true, "return-identity": true, "begin-identity-program": true, "finish-identity-program": true}
	self := map[string]bool{"show-session": true, "logout": true, "list-own-sessions": true, "end-own-session": true, "set-own-password": true,
		"list-grants": true, "list-rights": true, "list-programs": true, "add-program": true, "remove-program": true}
	seen := map[string]bool{}
	for _, op := range w.api.Operations() {
		if op.ID == "" || seen[op.ID] || op.Tag == "" || !strings.HasSuffix(op.Summary, ".") || !strings.HasSuffix(op.Description, ".") || len(op.Codes) == 0 {
			t.Errorf("%s %s is not described", op.Method, op.Path)
		}
		seen[op.ID] = true
		switch op.Scope {
		case api.Open:
			if !open[op.ID] {
				t.Errorf("%s is for everybody", op.ID)
			}
		case api.Self:
			if !self[op.ID] {
				t.Errorf("%s is for everybody who has logged in", op.ID)
			}
		case api.Somewhere, api.Everywhere:
			must(t, op.Verb.Check())
		default:
			t.Errorf("%s has the scope %q", op.ID, op.Scope)
		}
	}
	var spec struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Description string
			Responses   map[string]struct {
				Content map[string]struct{ Examples map[string]any }
			}
			Scope string `json:"x-tenet-scope"`
		}
	}
	must(t, json.Unmarshal([]byte(w.ask("GET", "/v1/openapi.json", "", "").text), &spec))
	described := 0
	for path, methods := range spec.Paths {
		for method, op := range methods {
			described++
			if op.Description == "" || op.Scope == "" || len(op.Responses["default"].Content["application/problem+json"].Examples) == 0 {
				t.Errorf("%s %s lacks something in the description", method, path)
			}
		}
	}
	if described != len(seen) {
		t.Errorf("%d of %d operations are described", described, len(seen))
	}
}

// No operation does anything for who has not logged in, or has no grant; a body or a query of theirs is not even read.
func TestOperationsDemandGrants(t *testing.T) {
	w := start(t, nil)
	nobody := w.login("nobody")
	for _, op := range w.api.Operations() {
		if op.Scope == api.Open {
			continue
		}
		for _, secret := range []string{"", "x", "tenet_s_" + strings.Repeat("A", 43)} {
			r := w.ask(op.Method, filled(op.Path)+"?nonsense=1", secret, "")
			w.wantProblem(r, http.StatusUnauthorized, access.CodeUnknown)
			if r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Error(op.ID, r.header)
			}
		}
		if op.Scope != api.Self {
			w.wantProblem(w.ask(op.Method, filled(op.Path)+"?nonsense=1", nobody, "{nonsense"), http.StatusForbidden, access.CodeForbidden)
		}
	}
}

// Who has a verb for some hosts has it not for what concerns all.
func TestEverywhere(t *testing.T) {
	w := start(t, nil)
	some, err := access.ParseSelector("web*")
	must(t, err)
	all, err := access.ParseSelector("*")
	must(t, err)
	w.add("clerk", access.Grant{Verb: access.Admin, Hosts: some, Site: "*"}, access.Grant{Verb: access.Admin, Hosts: all, Site: "shop"})
	secret := w.login("clerk")
	for _, path := range []string{"/v1/people", "/v1/audit", "/v1/grants?person=alice", "/v1/programs?all=true"} {
		w.wantProblem(w.ask("GET", path, secret, ""), http.StatusForbidden, access.CodeForbidden)
	}
	if r := w.ask("GET", "/v1/grants", secret, ""); r.status != 200 || strings.Count(r.text, `"verb":"admin"`) != 2 {
		t.Error(r)
	}
}

func TestPeopleAndRoles(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	if r := w.ask("PUT", "/v1/roles/readers", alice, `{"grants":[{"verb":"read","hosts":"web*,!web3","site":"*"}],"reason":"why"}`); r.status != 204 {
		t.Fatal(r)
	}
	r := w.ask("POST", "/v1/people", alice, `{"name":"bob","password":"another password","roles":["readers"]}`)
	if r.status != 201 || strings.Contains(r.text, "another") || !strings.Contains(r.text, `"source":"role readers"`) || !strings.Contains(r.text, `"hosts":"web*,!web3"`) {
		t.Fatal(r)
	}
	w.wantProblem(w.ask("POST", "/v1/people", alice, `{"name":"bob"}`), 409, access.CodeExists)
	w.wantProblem(w.ask("POST", "/v1/people", alice, `{"name":"a/b"}`), 400, access.CodeInvalid)
	w.wantProblem(w.ask("PATCH", "/v1/people/alice", alice, `{"grants":[]}`), 409, access.CodeLastAdmin)
	w.wantProblem(w.ask("PUT", "/v1/roles/x", alice, `{"grants":[{"verb":"fly","hosts":"*","site":"*"}]}`), 400, access.CodeInvalid)
	w.wantProblem(w.ask("PUT", "/v1/roles/x", alice, `{"grants":[{"verb":"read","hosts":"web[","site":"*"}]}`), 422, access.CodeInvalid)
	w.wantProblem(w.ask("GET", "/v1/people/none", alice, ""), 404, access.CodeNotFound)
	if r := w.ask("DELETE", "/v1/people/bob?reason=left", alice, ""); r.status != 204 {
		t.Fatal(r)
	}
	if r := w.ask("GET", "/v1/audit?limit=2", alice, ""); !strings.Contains(r.text, `"reason":"left"`) || !strings.Contains(r.text, `"actor":"alice"`) {
		t.Error(r)
	}
	if r := w.ask("GET", "/v1/roles", alice, ""); !strings.Contains(r.text, `"name":"readers"`) {
		t.Error(r)
	}
}

func TestProgramsOverHTTP(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	ends := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	r := w.ask("POST", "/v1/programs", alice, `{"name":"ci","grants":[{"verb":"read","hosts":"*","site":"*"}],"ends":"`+ends+`"}`)
	var made struct{ ID, Secret string }
	must(t, json.Unmarshal([]byte(r.text), &made))
	if r.status != 201 || made.Secret == "" {
		t.Fatal(r)
	}
	if r := w.ask("GET", "/v1/session", made.Secret, ""); !strings.Contains(r.text, `"name":"alice/ci","kind":"program"`) {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/people", made.Secret, ""), 403, access.CodeForbidden)
	w.wantProblem(w.ask("POST", "/v1/programs", made.Secret, `{"name":"more","grants":[{"verb":"read","hosts":"*","site":"*"}],"ends":"`+ends+`"}`), 403, access.CodeForbidden)
	w.wantProblem(w.ask("DELETE", "/v1/programs/"+made.ID, w.login("nobody"), ""), 404, access.CodeNotFound)
	if r := w.ask("GET", "/v1/programs", alice, ""); strings.Contains(r.text, made.Secret) || !strings.Contains(r.text, made.ID) {
		t.Error(r)
	}
	if r := w.ask("DELETE", "/v1/programs/"+made.ID, alice, ""); r.status != 204 {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/session", made.Secret, ""), 401, access.CodeUnknown)
}

func TestAuditOverHTTP(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	var head access.Head
	must(t, json.Unmarshal([]byte(w.ask("GET", "/v1/audit/head", alice, "").text), &head))
	known, err := json.Marshal(map[string]any{"heads": []access.Head{head}})
	must(t, err)
	if r := w.ask("POST", "/v1/audit/verify", alice, string(known)); r.status != 200 || !strings.Contains(r.text, head.Digest) {
		t.Error(r)
	}
	must(t, w.people.Store().Write(context.Background(), func(tx store.Tx) error {
		_, err := tx.Exec("UPDATE access_audit SET actor = 'mallory' WHERE n = 2")
		return err
	}))
	r := w.ask("POST", "/v1/audit/verify", alice, "{}")
	w.wantProblem(r, 409, access.CodeBroken)
	if !strings.Contains(r.problem.Detail, "entry 2") {
		t.Error(r.problem)
	}
}

func TestMetricsAndHealth(t *testing.T) {
	healthy := true
	w := start(t, func(o *api.Options) {
		o.Healthy = func() error {
			if healthy {
				return nil
			}
			return io.ErrUnexpectedEOF
		}
	})
	if r := w.ask("GET", "/healthz", "", ""); r.status != 200 || r.text != "ok\n" {
		t.Error(r)
	}
	healthy = false
	r := w.ask("GET", "/healthz", "", "")
	w.wantProblem(r, 503, "unhealthy")
	if strings.Contains(r.text, "EOF") || !r.problem.Retryable {
		t.Error(r)
	}
	alice := w.login("alice")
	w.ask("GET", "/v1/people/none", alice, "")
	w.ask("GET", "/v1/made/up/"+strings.Repeat("x", 100), alice, "")
	text := w.ask("GET", "/metrics", alice, "").text
	if !strings.Contains(text, `tenet_api_requests_total{operation="GET /v1/people/{name}",status="404"} 1`) || strings.Contains(text, "made/up") {
		t.Error(text)
	}
}

// Answers are the same, byte for byte, and a caller who has one already gets no other.
func TestETags(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	first := w.ask("GET", "/v1/people", alice, "")
	tag := first.header.Get("ETag")
	if tag == "" {
		t.Fatal(first)
	}
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if r := w.ask("GET", "/v1/people", alice, "", "If-None-Match", header); r.status != 304 || r.text != "" || r.header.Get("ETag") != tag {
			t.Error(header, r)
		}
	}
	w.add("bob")
	if r := w.ask("GET", "/v1/people", alice, "", "If-None-Match", tag); r.status != 200 || r.header.Get("ETag") == tag || !bytes.Contains([]byte(r.text), []byte(`"bob"`)) {
		t.Error(r)
	}
	// The tag of an answer lets nobody see it who may not.
	w.wantProblem(w.ask("GET", "/v1/people", w.login("nobody"), "", "If-None-Match", "*"), 403, access.CodeForbidden)
}

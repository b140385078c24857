package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/access/accesstest"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

const password = "correct horse battery"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if err == nil || diag.CodeOf(err) != code {
		t.Fatalf("got %v with the code %q, want %q", err, diag.CodeOf(err), code)
	}
}

// world is a server with alice. Before is called with each request, and may answer it: then it gives true.
type world struct {
	t        testing.TB
	people   *access.Directory
	api      *api.API
	server   *httptest.Server
	provider *accesstest.Provider
	root     *access.Caller
	before   func(w http.ResponseWriter, r *http.Request) bool
}

func start(t testing.TB) *world {
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
	all := access.AllGrants()
	must(t, w.people.AddPerson(ctx, w.root, "alice", access.PersonChange{Password: new(password), Grants: &all}))
	w.provider = accesstest.NewProvider(t)
	identity, err := access.NewProvider(w.people, access.ProviderOptions{Issuer: w.provider.URL, ClientID: accesstest.ClientID, ClientSecret: accesstest.ClientSecret,
		Callback: "https://127.0.0.1" + api.IdentityCallback})
	must(t, err)
	w.api = api.New(api.Options{People: w.people, Identity: identity})
	handler := w.api.Handler()
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.before == nil || !w.before(rw, r) {
			handler.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) authority() trust.Digest { return trust.DigestOf(w.server.Certificate().Raw) }

func (w *world) credentials() client.Credentials {
	return client.Credentials{URL: w.server.URL, Authority: w.authority(), Name: "alice", Password: password}
}

// client logs in, and waits for nothing; waits are what it would have waited.
func (w *world) client(waits *[]time.Duration) *client.Client {
	w.t.Helper()
	c, err := client.Login(context.Background(), w.t.TempDir(), w.credentials())
	must(w.t, err)
	c.SetSleep(func(_ context.Context, d time.Duration) error {
		if waits != nil {
			*waits = append(*waits, d)
		}
		return nil
	})
	return c
}

func TestLogin(t *testing.T) {
	ctx, w := context.Background(), start(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	_, err := client.Open(dir)
	wantCode(t, err, client.CodeNoLogin)
	wrong := w.credentials()
	wrong.Password = "wrong"
	_, err = client.Login(ctx, dir, wrong)
	wantCode(t, err, "unauthorized")
	if _, err := os.Stat(dir); err == nil {
		t.Error("what failed was kept")
	}
	_, err = client.Login(ctx, dir, w.credentials())
	must(t, err)
	file := filepath.Join(dir, "server.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	c, err := client.Open(dir)
	must(t, err)
	s, err := c.Session(ctx)
	if err != nil || s.Name != "alice" || s.Kind != "person" || len(s.Grants) != len(access.Verbs()) || c.Saved().Person != "alice" {
		t.Fatal(s, err)
	}
	must(t, os.Chmod(file, 0o640))
	_, err = client.Open(dir)
	wantCode(t, err, client.CodeInvalid)
	must(t, os.Chmod(file, 0o600))
	must(t, client.Logout(ctx, dir))
	_, err = c.Session(ctx)
	wantCode(t, err, "unauthorized")
	wantCode(t, client.Logout(ctx, dir), client.CodeNoLogin)
}

// Who cannot reach the server, or has been logged out by it, is logged out here nonetheless.
func TestLogoutAnyway(t *testing.T) {
	ctx, w, dir := context.Background(), start(t), t.TempDir()
	c, err := client.Login(ctx, dir, w.credentials())
	must(t, err)
	s, err := c.Session(ctx)
	must(t, err)
	must(t, w.people.EndSession(ctx, w.root, s.ID, ""))
	must(t, client.Logout(ctx, dir))
	_, err = client.Open(dir)
	wantCode(t, err, client.CodeNoLogin)
}

func TestLoginOfPrograms(t *testing.T) {
	ctx, w, dir := context.Background(), start(t), t.TempDir()
	alice := &access.Caller{Name: "alice", Kind: access.Person}
	secret, _, err := w.people.AddProgram(ctx, alice, "ci", access.AllGrants()[:1], time.Now().Add(time.Hour), "")
	must(t, err)
	_, err = client.Login(ctx, dir, client.Credentials{URL: w.server.URL, Authority: w.authority(), Token: secret + "x"})
	wantCode(t, err, "unauthorized")
	c, err := client.Login(ctx, dir, client.Credentials{URL: w.server.URL, Authority: w.authority(), Token: secret})
	if err != nil || c.Saved().Person != "alice/ci" {
		t.Fatal(c, err)
	}
	must(t, client.Logout(ctx, dir))
	_, err = c.Session(ctx)
	must(t, err) // the token goes on
}

// A server that is not the one that is known gets nothing, least of all the password.
func TestOtherServer(t *testing.T) {
	ctx, w := context.Background(), start(t)
	asked := false
	w.before = func(http.ResponseWriter, *http.Request) bool { asked = true; return false }
	for _, digest := range []trust.Digest{{}, trust.DigestOf([]byte("another"))} {
		with := w.credentials()
		with.Authority = digest
		_, err := client.Login(ctx, t.TempDir(), with)
		wantCode(t, err, client.CodeAuthority)
	}
	if asked {
		t.Error("it was asked")
	}
	digest, err := client.Authority(ctx, w.server.URL)
	if err != nil || digest != w.authority() || asked {
		t.Error(digest, err, asked)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "http://x", "https://", "https://u:p@x", "https://x/path", "https://x?q", "https://x#f", "ftp://x", "https://x:port", "a b"} {
		_, err := client.New(client.Saved{URL: bad})
		wantCode(t, err, client.CodeInvalid)
	}
	for text, want := range map[string]string{"x": "https://x", "x:8443/": "https://x:8443", "https://[::1]:1": "https://[::1]:1"} {
		c, err := client.New(client.Saved{URL: text})
		if err != nil || c.Saved().URL != want {
			t.Error(c, err)
		}
	}
}

func answerProblem(w http.ResponseWriter, status int, fields string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":%d,"title":"x","code":"standby","detail":"no","hint":"later",%s}`, status, fields)
}

func TestRetries(t *testing.T) {
	ctx, w := context.Background(), start(t)
	var waits []time.Duration
	c := w.client(&waits)
	left, fields := 2, `"retryable":true,"retry_after":7`
	w.before = func(rw http.ResponseWriter, r *http.Request) bool {
		if left == 0 {
			return false
		}
		left--
		answerProblem(rw, 503, fields)
		return true
	}
	if _, err := c.VerifyAudit(ctx, nil); err != nil || len(waits) != 2 || waits[0] < 7*time.Second {
		t.Fatal(err, waits)
	}
	left, waits = 100, nil
	_, err := c.Session(ctx)
	wantCode(t, err, "standby")
	if left != 94 || len(waits) != 5 || diag.HintOf(err) != "later" {
		t.Error(left, waits, err)
	}
	left, fields = 100, `"retryable":true,"retry_after":1000000000`
	if _, err := c.Session(ctx); err == nil || left != 99 {
		t.Error(err, left)
	}
	left, fields = 100, `"retryable":true,"retry_after":7` // too long for who sits before it
	if _, err := client.Login(ctx, t.TempDir(), w.credentials()); err == nil || left != 99 {
		t.Error(err, left)
	}
	left, fields = 100, `"retryable":false`
	_, err = c.Session(ctx)
	wantCode(t, err, "standby")
	if left != 99 {
		t.Error(left)
	}
}

// What may have been done is not done again; what only reads is asked for again.
func TestLostAnswers(t *testing.T) {
	ctx, w := context.Background(), start(t)
	c := w.client(nil)
	asked := 0
	w.before = func(http.ResponseWriter, *http.Request) bool { asked++; panic(http.ErrAbortHandler) }
	_, err := c.VerifyAudit(ctx, nil)
	wantCode(t, err, client.CodeUncertain)
	if asked != 1 {
		t.Error(asked)
	}
	_, err = c.Session(ctx)
	wantCode(t, err, client.CodeUnreachable)
	if asked < 5 {
		t.Error(asked)
	}
	w.server.Close()
	_, err = c.VerifyAudit(ctx, nil)
	wantCode(t, err, client.CodeUnreachable)
	ended, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("enough"))
	_, err = c.Session(ended)
	wantCode(t, err, client.CodeCancelled)
}

// Whatever answers, the terminal and the secret are safe, and memory is bounded.
func TestEvilServer(t *testing.T) {
	ctx, w := context.Background(), start(t)
	c := w.client(nil)
	var seen []string
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Get("Authorization")) }))
	defer other.Close()
	for name, answer := range map[string]func(rw http.ResponseWriter){
		"redirect": func(rw http.ResponseWriter) { rw.Header().Set("Location", other.URL); rw.WriteHeader(307) },
		"html":     func(rw http.ResponseWriter) { fmt.Fprint(rw, "<html>") },
		"error":    func(rw http.ResponseWriter) { rw.WriteHeader(502); fmt.Fprint(rw, "<html>\x1b[2J") },
		"no code":  func(rw http.ResponseWriter) { rw.WriteHeader(400); fmt.Fprint(rw, `{"detail":"x"}`) },
		"endless": func(rw http.ResponseWriter) {
			rw.WriteHeader(500)
			for range 1000 {
				fmt.Fprint(rw, strings.Repeat("x", 1<<10))
			}
		},
	} {
		w.before = func(rw http.ResponseWriter, _ *http.Request) bool { answer(rw); return true }
		_, err := c.Session(ctx)
		if err == nil || diag.CodeOf(err) != client.CodeNoAnswer {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.before = func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(400)
		return json.NewEncoder(rw).Encode(map[string]any{"code": "a\x1b", "detail": "b\x1b[2J\u202e\n", "hint": "c\x1b" + strings.Repeat("x", 60000)}) == nil
	}
	_, err := c.Session(ctx)
	if err == nil || strings.ContainsAny(err.Error()+diag.HintOf(err)+diag.CodeOf(err), "\x1b\u202e\n") || len(diag.HintOf(err)) > 5000 {
		t.Errorf("%q %q", err, diag.HintOf(err))
	}
	if len(seen) > 0 {
		t.Error("another server was asked", seen)
	}
}

func TestLists(t *testing.T) {
	ctx, w := context.Background(), start(t)
	c := w.client(nil)
	must(t, w.people.Store().Write(ctx, func(tx store.Tx) error {
		for range 250 {
			if err := access.Audit(tx, access.Entry{Actor: "bob", Action: "x"}); err != nil {
				return err
			}
		}
		return nil
	}))
	n := 0
	for e, err := range c.Audit(ctx, client.AuditFilter{Actor: "bob"}) {
		must(t, err)
		if e.Actor != "bob" {
			t.Fatal(e)
		}
		n++
	}
	if n != 250 {
		t.Error(n)
	}
	for range c.Audit(ctx, client.AuditFilter{}) {
		break
	}
	head, err := c.VerifyAudit(ctx, nil)
	must(t, err)
	_, err = c.VerifyAudit(ctx, []client.AuditHead{{N: head.N, Digest: "00"}})
	wantCode(t, err, "audit_broken")
}

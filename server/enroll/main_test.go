package enroll

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "25") }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError demands an error whose text matches; empty: none.
func wantError(t testing.TB, err error, pattern string) {
	t.Helper()
	switch {
	case pattern == "" && err != nil:
		t.Errorf("error: %v", err)
	case pattern != "" && (err == nil || !regexp.MustCompile(pattern).MatchString(err.Error())):
		t.Errorf("error %v, want one like %q", err, pattern)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if diag.CodeOf(err) != code || err == nil && code != "" {
		t.Errorf("error %v with the code %q, want %q", err, diag.CodeOf(err), code)
	}
}

// world is a server with what it needs, on a port of this machine.
type world struct {
	testing.TB
	ctx       context.Context
	store     *store.Store
	authority *authority.Authority
	contents  *contents.Folder
	registry  *Registry
	address   string
	failures  []error

	mu      sync.Mutex
	time    time.Time
	changed []trust.ID
	// before and after may cut a request off: before it is served, and before its answer is sent.
	before, after func(*http.Request) bool
	// wrap may change how contents are sent.
	wrap func(http.ResponseWriter) http.ResponseWriter
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

func newWorld(t testing.TB, change ...func(*Options)) *world {
	w := &world{TB: t, ctx: context.Background(), time: noon}
	e, err := sqlite.Open(w.ctx, t.TempDir())
	must(t, err)
	var migrations []store.Migration
	for _, list := range [][]store.Migration{authority.Migrations(), access.Migrations(), Migrations(), {ForgetMigration()}} {
		migrations = append(migrations, list...)
	}
	w.store, err = store.New(w.ctx, e, store.Options{Migrations: migrations})
	must(t, err)
	t.Cleanup(func() { w.store.Close() })
	_, err = w.store.Campaign(w.ctx)
	must(t, err)
	w.authority, err = authority.Open(w.ctx, t.TempDir(), w.store, authority.Options{Clock: w.now, Recovery: func(string) error { return nil }})
	must(t, err)
	w.contents, err = contents.OpenFolder(t.TempDir())
	must(t, err)
	t.Cleanup(func() { w.contents.Close() })
	w.listen(change...)
	return w
}

func (w *world) listen(change ...func(*Options)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(w, err)
	w.address = "https://" + l.Addr().String()
	o := Options{Addresses: []string{w.address}, Clock: w.now, Brokers: func() []string { return []string{"tls://broker"} },
		Changed: func(id trust.ID) { w.mu.Lock(); w.changed = append(w.changed, id); w.mu.Unlock() },
		Failed:  func(err error) { w.mu.Lock(); w.failures = append(w.failures, err); w.mu.Unlock() }}
	for _, f := range change {
		f(&o)
	}
	w.registry, err = Open(w.ctx, w.store, w.authority, w.contents, o)
	must(w, err)
	handler := w.registry.Handler()
	s := &http.Server{Handler: http.HandlerFunc(func(answer http.ResponseWriter, q *http.Request) {
		if w.before != nil && w.before(q) {
			panic(http.ErrAbortHandler)
		}
		if w.wrap != nil && q.Method == http.MethodGet {
			answer = w.wrap(answer)
		}
		if w.after == nil {
			handler.ServeHTTP(answer, q)
			return
		}
		kept := &heldAnswer{header: http.Header{}, status: http.StatusOK}
		handler.ServeHTTP(kept, q)
		if w.after(q) {
			panic(http.ErrAbortHandler)
		}
		for name, values := range kept.header {
			answer.Header()[name] = values
		}
		answer.WriteHeader(kept.status)
		answer.Write(kept.body)
	})}
	s.ErrorLog = log.New(io.Discard, "", 0)
	go s.Serve(tls.NewListener(l, w.authority.TLS()))
	w.Cleanup(func() { s.Close() })
}

// heldAnswer is an answer that is not sent yet.
type heldAnswer struct {
	header http.Header
	status int
	body   []byte
}

func (k *heldAnswer) Header() http.Header { return k.header }
func (k *heldAnswer) WriteHeader(s int)   { k.status = s }
func (k *heldAnswer) Write(p []byte) (int, error) {
	k.body = append(k.body, p...)
	return len(p), nil
}

var ada = By{Actor: "ada", Reason: "as asked"}

func (w *world) token(n NewToken) string {
	w.Helper()
	text, _, err := w.registry.NewToken(w.ctx, ada, n)
	must(w, err)
	return text
}

// once asks once, and tells nobody.
func once(name string, labels ...string) identity.Joining {
	j := identity.Joining{Name: name, Once: true, Labels: map[string]string{}}
	for k := 0; k+1 < len(labels); k += 2 {
		j.Labels[labels[k]] = labels[k+1]
	}
	return j
}

func (w *world) join(dir, token string, j identity.Joining) (*identity.Identity, error) {
	i, err := identity.Join(w.ctx, dir, token, j, identity.Options{Clock: func() time.Time { return time.Unix(0, 0) }})
	if err == nil {
		w.Cleanup(func() { i.Close() })
	}
	return i, err
}

// host joins, and is approved at once.
func (w *world) host(name string) (*identity.Identity, string) {
	w.Helper()
	dir := w.TempDir()
	must(w, os.Chmod(dir, 0o700))
	i, err := w.join(dir, w.token(NewToken{Auto: true}), once(name))
	must(w, err)
	return i, dir
}

func (w *world) wantState(id trust.ID, state State) *Host {
	w.Helper()
	h, err := w.registry.Get(w.ctx, id)
	must(w, err)
	if h.State != state {
		w.Errorf("the host %s is %s (%s), want %s", h.Name, h.State, h.Reason, state)
	}
	if inMemory, _, _ := w.registry.State(id); inMemory != h.State {
		w.Errorf("in memory the host %s is %s, and in the store %s", h.Name, inMemory, h.State)
	}
	return h
}

func (w *world) renew(i *identity.Identity) identity.Answer {
	w.Helper()
	a, err := i.Renew(w.ctx)
	must(w, err)
	return a
}

// audited lists the acts on a host, oldest first.
func (w *world) audited(host trust.ID) (acts []string) {
	w.Helper()
	must(w, w.store.Read(w.ctx, func(r store.Reader) error {
		list, err := access.ListAudit(r, access.AuditFilter{Host: string(host)})
		for _, e := range list {
			acts = append([]string{e.Action + " " + e.Actor}, acts...)
		}
		return err
	}))
	return acts
}

package identity

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

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
	if diag.CodeOf(err) != code {
		t.Errorf("error %v with the code %q, want %q", err, diag.CodeOf(err), code)
	}
}

func private(t testing.TB) string {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	return dir
}

// server answers as it is told.
type server struct {
	t         testing.TB
	authority *authority.Authority
	address   string
	asked     []string // the paths
	handle    func(w http.ResponseWriter, q *http.Request)
}

func newServer(t testing.TB) *server {
	ctx := context.Background()
	e, err := sqlite.Open(ctx, t.TempDir())
	must(t, err)
	s, err := store.New(ctx, e, store.Options{Migrations: authority.Migrations()})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(ctx)
	must(t, err)
	a, err := authority.Open(ctx, t.TempDir(), s, authority.Options{Recovery: func(string) error { return nil }})
	must(t, err)
	out := &server{t: t, authority: a}
	out.address = out.listen(func(w http.ResponseWriter, q *http.Request) {
		out.asked = append(out.asked, q.URL.Path)
		out.handle(w, q)
	})
	return out
}

// listen serves another address of the server.
func (s *server) listen(handle http.HandlerFunc) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(s.t, err)
	h := &http.Server{Handler: handle, ErrorLog: log.New(io.Discard, "", 0)}
	go h.Serve(tls.NewListener(l, s.authority.TLS()))
	s.t.Cleanup(func() { h.Close() })
	return "https://" + l.Addr().String()
}

func (s *server) token() string {
	s.t.Helper()
	token, err := trust.NewToken(s.address, s.authority.AuthorityDigest(), time.Now().Add(time.Hour))
	must(s.t, err)
	return token.String()
}

// answers has the server answer everything so.
func (s *server) answers(a Answer) {
	s.handle = func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(a) }
}

// refuses has the server answer a problem.
func (s *server) refuses(status int, p Problem) {
	s.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(p)
	}
}

// approved is the answer to a host that is taken in.
func (s *server) approved() Answer {
	return Answer{State: Approved, Name: "web1", Documents: s.authority.Chain().Signed(), Addresses: []string{s.address}}
}

// member is a host that has joined.
func (s *server) member() (*Identity, string) {
	s.t.Helper()
	dir := private(s.t)
	s.answers(s.approved())
	i, err := Join(context.Background(), dir, s.token(), Joining{Name: "web1"}, Options{})
	must(s.t, err)
	s.t.Cleanup(func() { i.Close() })
	return i, dir
}

func read(t testing.TB, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	must(t, err)
	return data
}

package gittest

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Server serves a repository over HTTPS or HTTP, by git http-backend.
type Server struct {
	*httptest.Server
	CAFile string // its certificate

	mu sync.Mutex
	// before is asked for each request, and tells whether it has answered it.
	before   func(http.ResponseWriter, *http.Request) bool
	requests int
}

// Serve serves a repository at URL + "/site.git", until the test ends.
func (r *Repository) Serve(encrypted bool) *Server {
	r.t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		r.t.Fatalf("git: %v (these tests need it: apt install git)", err)
	}
	program := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		r.t.Fatal(err)
	}
	s := &Server{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		before := s.before
		s.requests++
		s.mu.Unlock()
		if before != nil && before(w, req) {
			return
		}
		(&cgi.Handler{Path: program, Stderr: io.Discard, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL=" + req.Header.Get("Git-Protocol"),
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}}).ServeHTTP(w, req)
	})
	if encrypted {
		s.Server = httptest.NewTLSServer(handler)
		s.CAFile = filepath.Join(r.t.TempDir(), "ca.pem")
		if err := os.WriteFile(s.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
			r.t.Fatal(err)
		}
	} else {
		s.Server = httptest.NewServer(handler)
	}
	r.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Address is that of the repository.
func (s *Server) Address() string { return s.URL + "/site.git" }

// Before has a function asked for each request from now on, which tells whether it has answered it; nil: none.
func (s *Server) Before(f func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	s.before = f
	s.mu.Unlock()
}

// Requests is how many there were.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Hang is for Before: it answers nothing until who asks lets go.
func Hang(_ http.ResponseWriter, req *http.Request) bool {
	<-req.Context().Done()
	return true
}

// RequireToken is for Before: it lets in who has a token as its password.
func RequireToken(user, token string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, req *http.Request) bool {
		name, password, _ := req.BasicAuth()
		if name == user && password == token {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="site"`)
		http.Error(w, "who are you? "+password, http.StatusUnauthorized)
		return true
	}
}

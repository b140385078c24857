package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// reading asks a server that stands by.
type reading struct {
	*testing.T
	url, login string
	client     *http.Client
}

func (r *reading) ask(method, path string) (status int, body string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.url+path, strings.NewReader(""))
	must(r.T, err)
	request.Header.Set("Authorization", "Bearer "+r.login)
	answer, err := r.client.Do(request)
	must(r.T, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	must(r.T, err)
	return answer.StatusCode, string(data)
}

// newReading waits until a server that stands by serves reading.
func newReading(t *testing.T, said chan string, login string) *reading {
	t.Helper()
	for {
		if _, url, ok := strings.Cut(<-said, "reading is served at "); ok {
			return &reading{T: t, url: url, login: login, client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}}
		}
	}
}

// agents tells how hosts stand.
func (r *reading) agents() string {
	r.Helper()
	_, body := r.ask("GET", "/metrics")
	var lines []string
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "tenet_agents{reachability="); ok {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return strings.Join(lines, " ")
}

// standby opens a second server on the data of one that is active. What it says is sent, and what it becomes once it is active itself.
func standby(t *testing.T, c Config) (said chan string, next chan *Server) {
	t.Helper()
	said, next = make(chan string, 100), make(chan *Server, 1)
	c.Standby = "127.0.0.1:0"
	c.Failed = func(err error) { said <- err.Error() }
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s, err := Open(ctx, c)
		if err != nil {
			said <- err.Error()
		}
		next <- s
	}()
	t.Cleanup(func() {
		cancel()
		if s := <-next; s != nil {
			must(t, s.Close())
		}
	})
	return said, next
}

// A server that stands by shows what the active one keeps, and nothing else: it changes nothing, and opens no streams.
func TestStandbyServesReading(t *testing.T) {
	b := newTarget(t)
	host, _ := b.host("web1")
	must(t, b.logins.AddPerson(t.Context(), b.root, "jane", access.PersonChange{Password: new(hostilePassword), Grants: &b.root.Grants}))
	login, err := b.logins.LogIn(t.Context(), "jane", hostilePassword, "here")
	must(t, err)
	said, _ := standby(t, b.Config)
	r := newReading(t, said, login.Secret)
	var st struct {
		Standby bool
		Broker  struct{ Connected bool }
	}
	if code, body := r.ask("GET", "/v1/server"); code != 200 || json.Unmarshal([]byte(body), &st) != nil || !st.Standby || st.Broker.Connected {
		t.Errorf("%d: %s", code, body)
	}
	for _, refused := range []string{"POST /v1/tokens", "POST /v1/login", "DELETE /v1/session", "GET /v1/events", "GET /v1/hosts/" + string(host) + "/connection"} {
		method, path, _ := strings.Cut(refused, " ")
		if code, body := r.ask(method, path); code != http.StatusServiceUnavailable || !strings.Contains(body, `"standby"`) {
			t.Errorf("%s: %d: %s", refused, code, body)
		}
	}
	if code, body := r.ask("GET", "/v1/agent/renew"); code != http.StatusNotFound {
		t.Errorf("an agent gets %d: %s", code, body)
	}
	r.login = "nobody"
	if code, _ := r.ask("GET", "/v1/hosts"); code != http.StatusUnauthorized {
		t.Errorf("somebody gets %d", code)
	}

	// What changes is seen soon, hosts as the active server has seen them.
	r.login = login.Secret
	_, token, err := b.Hosts.NewToken(t.Context(), enroll.By{Actor: "jane"}, enroll.NewToken{Uses: 1})
	must(t, err)
	if _, body := r.ask("GET", "/v1/tokens"); !strings.Contains(body, token.ID) {
		t.Errorf("the new token is not seen: %s", body)
	}
	if before := r.agents(); strings.Contains(before, `"connected"} 1`) {
		t.Errorf("before anything is kept of them, agents are %s", before)
	}
	must(t, b.Sessions.SaveSeen(t.Context()))
	b.await("the agent is seen as connected", func() bool { return strings.Contains(r.agents(), `"connected"} 1`) })
	b.host("web2")
	b.await("the other host is known", func() bool {
		_, body := r.ask("GET", "/v1/hosts")
		return strings.Contains(body, `"web2"`)
	})
}

// It takes over when the active server ends, and serves nothing as a standby then.
func TestStandbyTakesOver(t *testing.T) {
	u := newUsed(t)
	said, next := standby(t, u.Config)
	r := newReading(t, said, u.login)
	if code, body := r.ask("GET", "/healthz"); code != http.StatusOK {
		t.Errorf("%d: %s", code, body)
	}
	must(t, u.Close())
	s := <-next
	next <- s
	if s == nil || s.term.Number != u.term.Number+1 || s.isStandby {
		t.Fatal("it does not take over")
	}
	must(t, s.Store.Write(t.Context(), func(store.Tx) error { return nil }))
	if answer, err := r.client.Get(r.url + "/healthz"); err == nil {
		answer.Body.Close()
		t.Error("it serves as a standby still")
	}
}

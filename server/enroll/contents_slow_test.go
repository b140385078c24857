package enroll

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
)

// slowHost asks for a large content on connections of its own, and reads of the answers no more than it wants.
type slowHost struct {
	*world
	server *httptest.Server
	header http.Header
	path   string
}

func newSlowHost(t *testing.T) *slowHost {
	t.Helper()
	w := newWorld(t)
	i, _ := w.host("web1")
	d := w.put(make([]byte, 64<<20)) // more than lies in the buffers of a connection
	tickets, err := w.registry.Ticket(i.ID(), d)
	must(t, err)
	h := &slowHost{world: w, path: identity.ContentsPath + d.String(), header: http.Header{}}
	signed, err := i.Sign(trust.KindProof, identity.Proof{Method: "GET", Path: h.path, Nonce: tickets[d], Body: trust.DigestOf(nil)})
	must(t, err)
	data, err := json.Marshal(signed)
	must(t, err)
	h.header.Set(identity.ProofHeader, base64.RawURLEncoding.EncodeToString(data))
	h.header.Set(identity.TicketHeader, tickets[d])
	h.server = httptest.NewServer(w.registry.Handler())
	t.Cleanup(h.server.Close)
	return h
}

// ask begins a request, and gives the head of its answer.
func (h *slowHost) ask() (*http.Response, net.Conn) {
	h.Helper()
	conn, err := net.Dial("tcp", h.server.Listener.Addr().String())
	must(h, err)
	h.Cleanup(func() { conn.Close() })
	q, err := http.NewRequest(http.MethodGet, h.server.URL+h.path, nil)
	must(h, err)
	q.Header = h.header
	must(h, q.Write(conn))
	answer, err := http.ReadResponse(bufio.NewReader(conn), q)
	must(h, err)
	return answer, conn
}

// runningCount is how many requests of hosts go on.
func (h *slowHost) runningCount() (n int) {
	f := &h.registry.fetches
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, count := range f.counts {
		n += count
	}
	return n
}

// wait waits until so many requests go on.
func (h *slowHost) wait(n int) {
	h.Helper()
	for limit := time.Now().Add(time.Minute); h.runningCount() != n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			h.Fatalf("%d requests go on, not %d", h.runningCount(), n)
		}
	}
}

// Who takes nothing of a content is dropped; who takes it slowly is not.
func TestContentsNobodyReads(t *testing.T) {
	h := newSlowHost(t)
	h.registry.patience = 500 * time.Millisecond
	h.ask()
	h.wait(0)
	answer, conn := h.ask()
	buffer := make([]byte, 8<<20)
	read := int64(0)
	for begin := time.Now(); time.Since(begin) < 3*h.registry.patience; time.Sleep(h.registry.patience / 10) {
		n, err := answer.Body.Read(buffer[:min(len(buffer), 1<<20)])
		must(t, err)
		read += int64(n)
	}
	for read < answer.ContentLength {
		n, err := answer.Body.Read(buffer)
		if read += int64(n); err != nil && read < answer.ContentLength {
			t.Fatalf("it ends after %d bytes: %v", read, err)
		}
	}
	conn.Close()
}

// A host has a few requests for contents at a time, and others once those have ended.
func TestContentsAtOnce(t *testing.T) {
	h := newSlowHost(t)
	var conns []net.Conn
	for n := range maxFetches {
		answer, conn := h.ask()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("request %d is answered by %s", n, answer.Status)
		}
		conns = append(conns, conn)
	}
	if answer, _ := h.ask(); answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
		t.Errorf("one more is answered by %s", answer.Status)
	}
	for _, conn := range conns {
		must(t, conn.Close())
	}
	h.wait(0)
	if answer, _ := h.ask(); answer.StatusCode != http.StatusOK {
		t.Errorf("after them it is answered by %s", answer.Status)
	}
}

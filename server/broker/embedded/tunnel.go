package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// tunnelBuffer is small, since an agent that is idle has two of them.
const tunnelBuffer = 4 << 10

// retryAfter is what agents are told in seconds that come too fast: they add as much again at random.
const retryAfter = "10"

// tunnels are the connections that go through Handler.
type tunnels struct {
	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
	group  fault.Group
}

// Handler lets agents in as WebSockets: for /v1/agent/broker of the server's HTTPS, over HTTP/1.1. The connections are the broker's, and end with
// it.
func (b *Broker) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Sec-WebSocket-Key")
		if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || key == "" || r.ProtoMajor != 1 {
			w.Header().Set("Upgrade", "websocket")
			http.Error(w, "agents connect here by a WebSocket over HTTP/1.1", http.StatusUpgradeRequired)
			return
		}
		if !b.allows(r.RemoteAddr) {
			w.Header().Set("Retry-After", retryAfter)
			http.Error(w, errBusy.Error(), http.StatusServiceUnavailable)
			return
		}
		if err := b.tunnel(w, r, key); err != nil {
			b.report(fmt.Errorf("broker: a WebSocket: %w", err))
			http.Error(w, "the broker cannot be reached", http.StatusBadGateway)
		}
	})
}

// tunnel connects an agent to the broker. After an error it can still be answered.
func (b *Broker) tunnel(w http.ResponseWriter, r *http.Request, key string) error {
	inner, answer, err := b.dial(r.Context(), key)
	if err != nil {
		return err
	}
	outer, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errors.Join(err, inner.Close())
	}
	begin, err := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err == nil {
		err = errors.Join(outer.SetDeadline(time.Time{}), send(outer, answer), send(inner, begin))
	}
	if err != nil || !b.tunnels.add(outer, inner) {
		_, _ = outer.Close(), inner.Close() // the agent comes again
	}
	return nil
}

func send(to net.Conn, data []byte) error {
	_, err := to.Write(data)
	return err
}

// dial opens a WebSocket to the broker, and gives what it answers. Of the agent's request only the key is passed on: no cookie and no origin
// means anything here.
func (b *Broker) dial(ctx context.Context, key string) (net.Conn, []byte, error) {
	u, err := url.Parse(b.server.WebsocketURL())
	if err != nil {
		return nil, nil, err
	}
	conn, err := (&net.Dialer{Timeout: handshakeTimeout}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, nil, err
	}
	request := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: u.Host, Header: http.Header{
		"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key},
	}}
	err = errors.Join(conn.SetDeadline(time.Now().Add(handshakeTimeout)), request.Write(conn))
	var answer []byte
	if err == nil {
		answer, err = head(conn)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, answer, nil
}

// head reads the answer, and what has come behind it.
func head(conn net.Conn) ([]byte, error) {
	var seen strings.Builder
	reader := bufio.NewReaderSize(io.TeeReader(conn, &seen), tunnelBuffer)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("it answers %s", response.Status), response.Body.Close())
	}
	return []byte(seen.String()), nil
}

// add passes on what comes from either side, until one has ended.
func (t *tunnels) add(outer, inner net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.open == nil {
		t.open = map[net.Conn]bool{}
	}
	t.open[outer] = true
	end := sync.OnceFunc(func() {
		_, _ = outer.Close(), inner.Close() // whatever becomes of it: both are over
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, outer)
	})
	for _, way := range [][2]net.Conn{{outer, inner}, {inner, outer}} {
		t.group.Go(func() {
			defer end()
			pass(way[0], way[1])
		})
	}
	return true
}

// pass copies with a buffer of our own: io.Copy would take a large one for each connection. Its end is what counts, not why.
func pass(from, to net.Conn) {
	buffer := make([]byte, tunnelBuffer)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if errors.Join(to.SetWriteDeadline(time.Now().Add(writeDeadline)), send(to, buffer[:n])) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *tunnels) close() {
	t.mu.Lock()
	t.closed = true
	for outer := range t.open {
		_ = outer.Close() // the functions that wait for it see to the rest
	}
	t.mu.Unlock()
	t.group.Wait()
}

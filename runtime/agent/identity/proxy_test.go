package identity

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Through a proxy the server is reached by CONNECT, and the proxy sees nothing of what is said; one that looks into TLS is refused.
func TestProxy(t *testing.T) {
	s, thief := newServer(t), newServer(t)
	s.answers(s.approved())
	thief.answers(thief.approved())
	to, connected := "", 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodConnect || q.Header.Get(ProofHeader) != "" {
			t.Errorf("the proxy is asked for %s %s", q.Method, q.URL)
		}
		connected++
		server, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		client, rest, err := http.NewResponseController(w).Hijack()
		must(t, err)
		io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			io.Copy(server, rest)
			server.Close()
		}()
		io.Copy(client, server)
		client.Close()
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	must(t, err)
	o := Options{Proxy: func(*http.Request) (*url.URL, error) { return at, nil }}
	for server, code := range map[*server]string{s: "", thief: "other_server"} {
		u, err := url.Parse(server.address)
		must(t, err)
		to = u.Host
		i, err := Join(context.Background(), private(t), s.token(), Joining{Name: "web1", Once: true}, o)
		wantCode(t, err, code)
		if err == nil {
			must(t, i.Close())
		}
	}
	if connected < 2 || len(thief.asked) > 0 {
		t.Errorf("%d connections, the thief was asked for %v", connected, thief.asked)
	}
	to = "127.0.0.1:1"
	_, err = Join(context.Background(), private(t), s.token(), Joining{Name: "web1", Once: true}, o)
	wantCode(t, err, "unreachable")
}

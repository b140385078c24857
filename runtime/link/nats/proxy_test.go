package nats

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// connectProxy serves CONNECT to one address, whatever is asked for, and counts.
func connectProxy(t testing.TB, to string, wants string) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodConnect || r.Host != "broker.test:443":
			http.Error(w, "what is "+r.Host, http.StatusBadRequest)
			return
		case r.Header.Get("Proxy-Authorization") != wants:
			http.Error(w, "who are you", http.StatusProxyAuthRequired)
			return
		}
		inner, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		outer, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		count.Add(1)
		_, _ = io.WriteString(outer, "HTTP/1.1 200 Connection established\r\n\r\n") // errors end the copies below
		go func() { _, _ = io.Copy(inner, buffered); _ = inner.Close() }()
		_, _ = io.Copy(outer, inner)
		_ = outer.Close()
	}))
	t.Cleanup(s.Close)
	return s, &count
}

func TestProxies(t *testing.T) {
	cert, pool := authority(t)
	for _, secure := range []bool{false, true} {
		c := config(t, pool, "tls://broker.test:443")
		s := broker(t, cert, c.Connection())
		const basic = "Basic dXNlcjpwYXNz" // user:pass
		proxy, count := connectProxy(t, s.Addr().String(), basic)
		if secure {
			proxy.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
			proxy.StartTLS()
			c.ProxyAuthorities = pool
		} else {
			proxy.Start()
		}
		at, err := url.Parse(proxy.URL)
		must(t, err)
		c.ProxyTLS = true
		c.Proxy = func(u *url.URL) (*url.URL, error) {
			if u.String() != "https://broker.test:443" {
				t.Errorf("the proxy for %s is asked for", u)
			}
			at := *at
			at.User = url.UserPassword("user", "pass")
			return &at, nil
		}
		o, h := handler()
		dial(t, c, h)
		await(t, o.connected, "a connection")
		if count.Load() != 1 {
			t.Errorf("%d connections went through the proxy", count.Load())
		}
		c.Proxy = func(*url.URL) (*url.URL, error) {
			at := *at
			at.User = url.UserPassword("user", "sesame")
			return &at, nil
		}
		o, h = handler()
		dial(t, c, h)
		reason := await(t, o.disconnected, "a refusal").Error()
		if !strings.Contains(reason, "407 Proxy Authentication Required") || strings.Contains(reason, "sesame") {
			t.Error(reason)
		}
	}
}

func TestWhenAProxyIsAsked(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.test:3128")
	t.Setenv("NO_PROXY", "inside.test")
	for _, c := range []struct {
		endpoint string
		tls      bool
		want     string
	}{
		{"wss://broker.test/v1", false, "http://proxy.test:3128"}, {"wss://inside.test/v1", false, ""}, {"tls://broker.test:4222", false, ""},
		{"tls://broker.test:4222", true, "http://proxy.test:3128"}, {"nats://inside.test:4222", true, ""},
	} {
		u, err := url.Parse(c.endpoint)
		must(t, err)
		config := Config{ProxyTLS: c.tls}
		proxy, err := config.proxy(endpoint{URL: u})
		must(t, err)
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if got != c.want {
			t.Errorf("%s by %q, not %q", c.endpoint, got, c.want)
		}
	}
}

// What a proxy sends right behind its answer is the broker's, and an answer without an end is given up.
func TestHostileProxies(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 200 OK\r\n\r\nINFO":                         "INFO",
		"HTTP/1.1 403 No\x1b[2J\r\n\r\n":                      "",
		"garbage\r\n\r\n":                                     "",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20): "",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, answer) // the other side may have gone
			}
			_ = conn.Close()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		conn, err := connectByProxy(ctx, &url.URL{Scheme: "http", Host: listener.Addr().String()}, &Config{}, "broker.test:443")
		if (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%.60q: %v", answer, err)
		}
		if err == nil {
			got, err := io.ReadAll(conn)
			if string(got) != want || err != nil {
				t.Errorf("%q %v", got, err)
			}
			must(t, conn.Close())
		}
		cancel()
		must(t, listener.Close())
	}
}

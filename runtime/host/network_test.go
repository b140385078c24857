package host_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

func network(t *testing.T, h host.Host) host.Network {
	t.Helper()
	n, err := host.NetworkOf(h)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fetch gives status, body and the address that answered.
func fetch(t *testing.T, h host.Host, r host.Request) (int, string, string, error) {
	t.Helper()
	response, err := network(t, h).Fetch(t.Context(), r)
	if err != nil {
		return 0, "", "", err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return response.Status, "", "", err
	}
	return response.Status, string(body), response.URL, nil
}

func authority(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// tlsServer says nothing about those who do not trust it.
func tlsServer(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// echo says what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Key")+" "+r.UserAgent()+" "+r.Header.Get("Accept-Encoding")+" "+string(body))
}

func TestFetch(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/", echo)
	mux.Handle("/here", http.RedirectHandler("/there", http.StatusFound))
	mux.Handle("/away", http.RedirectHandler(other.URL+"/there", http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	plain := httptest.NewServer(mux)
	t.Cleanup(plain.Close)
	secure := tlsServer(t, mux)
	h := local(t, "")
	key := map[string]string{"X-Key": "secret"}
	for name, c := range map[string]struct {
		r    host.Request
		body string // or what the error says
		fail bool
	}{
		"plain":                  {host.Request{URL: plain.URL + "/a", Reads: true, Header: key}, "GET /a secret tenet  ", false},
		"post":                   {host.Request{URL: plain.URL + "/a", Method: "POST", Body: []byte("x")}, "POST /a  tenet  x", false},
		"sent on":                {host.Request{URL: plain.URL + "/here", Reads: true, Header: key}, "GET /there secret tenet  ", false},
		"sent on to others":      {host.Request{URL: plain.URL + "/away", Reads: true, Header: key}, "GET /there  tenet  ", false},
		"not sent on":            {host.Request{URL: plain.URL + "/here", Reads: true, Stay: true}, "Found", false},
		"what writes stays":      {host.Request{URL: plain.URL + "/here", Method: "POST"}, "", false},
		"sent round":             {host.Request{URL: plain.URL + "/round", Reads: true}, "more than 10 times", true},
		"from https to http":     {host.Request{URL: secure.URL + "/away", Reads: true, CA: authority(secure)}, "from https to http://", true},
		"trusted":                {host.Request{URL: secure.URL + "/a", Reads: true, CA: authority(secure)}, "GET /a  tenet  ", false},
		"not trusted":            {host.Request{URL: secure.URL, Reads: true}, "signed by nobody whom this host trusts", true},
		"no certificates":        {host.Request{URL: secure.URL, Reads: true, CA: []byte("x")}, "holds none", true},
		"another name":           {host.Request{URL: strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), Reads: true, CA: authority(secure)}, "for another name", true},
		"no TLS":                 {host.Request{URL: strings.Replace(plain.URL, "http:", "https:", 1), Reads: true}, "does not speak TLS", true},
		"another scheme":         {host.Request{URL: "file:///etc/passwd", Reads: true}, "no URL of http or https", true},
		"a broken field":         {host.Request{URL: plain.URL, Reads: true, Header: map[string]string{"A": "b\r\nC: d"}}, "invalid", true},
		"through a proxy":        {host.Request{URL: "http://example.invalid/a", Reads: true, Proxy: plain.URL}, "GET /a  tenet  ", false},
		"through what is no one": {host.Request{URL: plain.URL, Reads: true, Proxy: "x"}, "the proxy is no URL", true},
	} {
		_, body, _, err := fetch(t, h, c.r)
		switch {
		case c.fail && (err == nil || !strings.Contains(err.Error(), c.body)):
			t.Errorf("%s: the error is %v, want %q", name, err, c.body)
		case !c.fail && (err != nil || !strings.Contains(body, c.body)):
			t.Errorf("%s: %q, %v, want %q", name, body, err, c.body)
		}
	}
}

// Who is trusted is what the files of the host say now.
func TestFetchTrusts(t *testing.T) {
	server := tlsServer(t, http.HandlerFunc(echo))
	root := t.TempDir()
	h := local(t, root)
	request := host.Request{URL: server.URL, Reads: true}
	if _, _, _, err := fetch(t, h, request); err == nil || host.IsLost(err) {
		t.Errorf("it is trusted, or sent: %v", err)
	}
	certs := filepath.Join(root, "etc/ssl/certs")
	if err := os.MkdirAll(certs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(certs, "ca-certificates.crt"), authority(server), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := fetch(t, h, request); err != nil {
		t.Error(err)
	}
}

// A server that says nothing, or stops within its answer, is not awaited for ever;
// what a URL may hide is not shown.
func TestFetchIsNotPatient(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		<-ended
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	h := local(t, "")
	for _, path := range []string{"/mute?token=x", "/half"} {
		_, _, _, err := fetch(t, h, host.Request{URL: server.URL + path, Reads: true, Timeout: 30 * time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), "nothing has come for 30ms") || strings.Contains(err.Error(), "token") {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("stopped")
	cancel(reason)
	if _, err := network(t, h).Fetch(ctx, host.Request{URL: server.URL, Reads: true}); !errors.Is(err, reason) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := network(t, local(t, ""))
	c, err := n.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	_, err = n.Dial(t.Context(), "tcp", l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "nothing listens there") || host.IsLost(err) {
		t.Errorf("closed: %v", err)
	}
	if _, err := n.Dial(t.Context(), "unix", "/run/x"); err == nil {
		t.Error("a socket in the file system is reached")
	}
}

// replies answers anything.
type replies struct{ asked int }

func (r *replies) Fetch(context.Context, host.Request) (*host.Response, error) {
	r.asked++
	return &host.Response{Status: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (r *replies) Dial(context.Context, string, string) (io.ReadWriteCloser, error) {
	r.asked++
	return nil, errors.New("nobody")
}

// A shadow lets requests through that only read, and none whose answer follows
// from what was changed.
func TestShadowNetwork(t *testing.T) {
	reads := func(url string) host.Request { return host.Request{URL: url, Reads: true} }
	for _, c := range []struct {
		changed string
		r       host.Request
		want    error
	}{
		{"", reads("http://example.test/"), nil},
		{"", reads("http://localhost/"), nil},
		{"", host.Request{URL: "http://example.test/"}, host.ErrUnforeseeable},
		{"/etc/motd", reads("http://example.test/"), nil},
		{"/etc/motd", reads("http://localhost:8080/"), host.ErrUnanswerable},
		{"/etc/motd", reads("http://[::1]/"), host.ErrUnanswerable},
		{"/etc/motd", reads("http://127.1.2.3/"), host.ErrUnanswerable},
		{"/etc/hosts", reads("http://example.test/"), host.ErrUnanswerable},
		{"/etc/ssl/certs/new.pem", reads("https://example.test/"), host.ErrUnanswerable},
	} {
		m := host.NewMemory()
		base := &replies{}
		m.SetNetwork(base)
		if err := m.Add("/etc/ssl/certs/old.pem", ""); err != nil {
			t.Fatal(err)
		}
		s := host.NewShadow(m)
		if c.changed != "" {
			if err := s.WriteFile(t.Context(), c.changed, host.Text("x"), host.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := network(t, s).Fetch(t.Context(), c.r)
		if !errors.Is(err, c.want) || (base.asked == 0) != (c.want != nil) {
			t.Errorf("%s, %s: %v, asked %d times", c.changed, c.r.URL, err, base.asked)
		}
	}
}

// A machine knows its own addresses.
func TestNear(t *testing.T) {
	near, ok := network(t, local(t, "")).(interface {
		Near(ctx context.Context, name string) bool
	})
	if !ok {
		t.Fatal("it does not say")
	}
	for name, want := range map[string]bool{"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "192.0.2.1": false, "2001:db8::1": false} {
		if near.Near(t.Context(), name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// On a shadow no time passes; in memory all of it at once.
func TestClock(t *testing.T) {
	m := host.NewMemory()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.SetClock(start)
	s := host.NewShadow(m)
	if err := host.Sleep(t.Context(), s, time.Hour); !errors.Is(err, host.ErrUnforeseeable) {
		t.Error(err)
	}
	if err := host.Sleep(t.Context(), m, time.Hour); err != nil {
		t.Error(err)
	}
	if now := host.Now(s); !now.Equal(start.Add(time.Hour)) {
		t.Error(now)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, h := range []host.Host{m, local(t, "")} {
		if err := host.Sleep(ctx, h, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: %v", h, err)
		}
	}
}

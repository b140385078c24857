package authority

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

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

// place is the folder and the store of a server.
type place struct {
	t        testing.TB
	dir      string
	store    *store.Store
	now      time.Time
	recovery []string // as they were shown
	options  Options
}

func newPlace(t testing.TB) *place {
	p := &place{t: t, dir: t.TempDir(), now: noon}
	p.store = openStore(t, t.TempDir(), true)
	p.options = Options{Names: []string{"tenet.example.org", "192.0.2.7"}, Clock: func() time.Time { return p.now },
		Recovery: func(key string) error { p.recovery = append(p.recovery, key); return nil }}
	return p
}

func openStore(t testing.TB, dir string, active bool) *store.Store {
	t.Helper()
	e, err := sqlite.Open(context.Background(), dir)
	must(t, err)
	s, err := store.New(context.Background(), e, store.Options{Migrations: Migrations()})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	if active {
		_, err = s.Campaign(context.Background())
		must(t, err)
	}
	return s
}

func (p *place) open() *Authority {
	p.t.Helper()
	a, err := Open(context.Background(), p.dir, p.store, p.options)
	must(p.t, err)
	return a
}

func (p *place) fails(pattern string) {
	p.t.Helper()
	_, err := Open(context.Background(), p.dir, p.store, p.options)
	wantError(p.t, err, pattern)
}

func (p *place) file(name string) string { return filepath.Join(p.dir, "keys", name) }

func (p *place) read(name string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(p.file(name))
	must(p.t, err)
	return data
}

func (p *place) write(name string, data []byte) {
	p.t.Helper()
	must(p.t, os.WriteFile(p.file(name), data, 0o600))
}

// shake connects over TLS, and gives what the client has seen.
func shake(t testing.TB, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		a, err := l.Accept()
		if err != nil {
			return
		}
		defer a.Close()
		s := tls.Server(a, server)
		if s.Handshake() == nil {
			s.Read(make([]byte, 1))
		}
	}()
	b, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer b.Close()
	c := tls.Client(b, client)
	err = c.Handshake()
	state := c.ConnectionState()
	b.Close()
	<-served
	return state, err
}

// meet connects as a host does that has accepted a document.
func meet(t testing.TB, a *Authority, d *trust.Document, name string, now time.Time) (tls.ConnectionState, error) {
	t.Helper()
	config, err := d.TLS(name, func() time.Time { return now }, "http/1.1")
	must(t, err)
	return shake(t, a.TLS(), config)
}

package identity

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Whatever a server answers that makes no sense leaves the host as it was, and comes back as an error that can be printed.
func TestAbsurdAnswers(t *testing.T) {
	ctx := context.Background()
	s := newServer(t)
	i, dir := s.member()
	_, err := i.Renew(ctx) // so that the next value is there
	must(t, err)
	before := read(t, dir)
	thief := newServer(t).authority.Chain().Signed()
	text := func(status int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); w.Write([]byte(body)) }
	}
	for name, c := range map[string]struct {
		handle func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"nothing":       {text(200, ""), "cannot be read"},
		"garbage":       {text(200, "<html>"), "cannot be read"},
		"no state":      {text(200, "{}"), "state of this host"},
		"another state": {text(200, `{"state":"happy\u001b[2J"}`), `happy\\x1b`},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
					return
				}
			}
		}, "too long"},
		"a proxy's page": {text(502, "<h1>Bad Gateway"), "502 Bad Gateway"},
		"a redirect": {func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "https://elsewhere.example/", http.StatusFound)
		}, "302"},
		"an odd problem":   {text(400, `{"code":"x","detail":"\u001b[2Jno"}`), "refuses it: .*no"},
		"a silent problem": {text(400, `{"code":"x"}`), "does not say why"},
		"always the nonce": {text(401, `{"code":"nonce","detail":"again"}`), "again"},
		"broken off":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		s.handle, s.asked = c.handle, nil
		_, err := i.Renew(ctx)
		wantError(t, err, c.want)
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q reaches a terminal", name, err)
		}
		if len(s.asked) > 2 {
			t.Errorf("%s: asked %d times", name, len(s.asked))
		}
		if !bytes.Equal(read(t, dir), before) {
			t.Errorf("%s: the host has changed", name)
		}
	}
	// Documents that the host does not accept are left out, and the rest is taken.
	a := s.approved()
	a.Documents, a.Renewed, a.Brokers = thief, true, []string{"tls://b"}
	s.answers(a)
	_, err = i.Renew(ctx)
	wantError(t, err, "trust is not accepted")
	chain, err := i.Chain()
	must(t, err)
	if brokers, _ := i.Brokers(); len(chain.Signed()) != 1 || len(brokers) != 1 {
		t.Errorf("%d documents, brokers %v", len(chain.Signed()), brokers)
	}
}

// An answer to Join that says that a value was renewed takes none away.
func TestJoinIsNoRenewal(t *testing.T) {
	s := newServer(t)
	a := s.approved()
	a.Renewed = true
	s.answers(a)
	i, err := Join(context.Background(), private(t), s.token(), Joining{Name: "web1"}, Options{})
	must(t, err)
	defer i.Close()
	if len(i.kept.Value) != ValueSize {
		t.Error("the value is gone")
	}
	a.Documents = nil
	s.answers(a)
	_, err = Join(context.Background(), private(t), s.token(), Joining{Name: "web1", Once: true}, Options{})
	wantError(t, err, "does not say whom to trust")
}

// The next value is durable before it is sent, and the same until it is answered.
func TestValueIsDurable(t *testing.T) {
	s := newServer(t)
	i, dir := s.member()
	var sent [][]byte
	s.handle = func(http.ResponseWriter, *http.Request) {
		k, err := i.folder.read()
		must(t, err)
		sent = append(sent, k.Next)
		panic(http.ErrAbortHandler)
	}
	for range 2 {
		i.Renew(context.Background())
	}
	must(t, i.Close())
	i, err := Load(dir, Options{})
	must(t, err)
	defer i.Close()
	i.Renew(context.Background())
	if len(sent) < 3 {
		t.Fatalf("asked %d times", len(sent))
	}
	for _, next := range sent {
		if len(next) != ValueSize || !bytes.Equal(next, sent[0]) {
			t.Errorf("the next value is %x, and was %x", next, sent[0])
		}
	}
}

// Where one address does not answer, or stands by, the next one is asked.
func TestAddresses(t *testing.T) {
	s := newServer(t)
	i, _ := s.member()
	standby := s.listen(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		w.Write([]byte(`{"code":"standby","retryable":true}`))
	})
	a := s.approved()
	a.Addresses, a.Renewed = []string{"https://127.0.0.1:1", standby, s.address}, true
	s.answers(a)
	for range 3 {
		if _, err := i.Renew(context.Background()); err != nil {
			t.Error(err)
		}
	}
	a.Addresses = []string{standby}
	s.answers(a)
	_, err := i.Renew(context.Background())
	must(t, err)
	_, err = i.Renew(context.Background())
	wantCode(t, err, CodeStandby)
}

// Somebody else's server gets nothing: Join ends at once, since asking again does not help.
func TestOtherServer(t *testing.T) {
	s, thief := newServer(t), newServer(t)
	thief.answers(thief.approved())
	token, err := trust.ParseToken(s.token())
	must(t, err)
	token.URL = thief.address
	_, err = Join(context.Background(), private(t), token.String(), Joining{Name: "web1", Wait: func(context.Context, time.Duration) error { return errors.New("waited") }}, Options{})
	wantCode(t, err, "other_server")
	i, _ := s.member()
	a := s.approved()
	a.Renewed, a.Addresses = true, []string{thief.address}
	s.answers(a)
	_, err = i.Renew(context.Background())
	must(t, err)
	_, err = i.Renew(context.Background())
	wantCode(t, err, "other_server")
	if len(thief.asked) > 0 {
		t.Errorf("the thief was asked for %v", thief.asked)
	}
}

// A host of one server does not join another one unless it leaves; one that is pending may.
func TestJoinAnother(t *testing.T) {
	ctx := context.Background()
	s, other := newServer(t), newServer(t)
	i, dir := s.member()
	must(t, i.Close())
	_, err := Join(ctx, dir, other.token(), Joining{Name: "web1"}, Options{})
	wantCode(t, err, "joined")
	if i, err = Join(ctx, dir, s.token(), Joining{Name: "web9"}, Options{}); err != nil || i.Name() != "web1" {
		t.Errorf("joining again: %v", err)
	}
	must(t, i.Close())

	dir = private(t)
	s.answers(Answer{State: Pending, Documents: s.authority.Chain().Signed()})
	i, err = Join(ctx, dir, s.token(), Joining{Name: "web1", Once: true}, Options{})
	must(t, err)
	first, id := i.kept.Value, i.ID()
	if state, _ := i.State(); state != Pending {
		t.Errorf("it is %s", state)
	}
	_, err = i.Renew(ctx)
	wantCode(t, err, "not_joined")
	must(t, i.Close())
	i, err = Join(ctx, dir, s.token(), Joining{Name: "web1", Once: true}, Options{})
	must(t, err)
	if !bytes.Equal(i.kept.Value, first) || i.ID() != id {
		t.Error("with another token of the same server it is another host")
	}
	must(t, i.Close())
	other.answers(other.approved())
	i, err = Join(ctx, dir, other.token(), Joining{Name: "web1"}, Options{})
	must(t, err)
	if chain, err := i.Chain(); err != nil || chain.Newest().Recovery != other.authority.Chain().Newest().Recovery || bytes.Equal(i.kept.Value, first) {
		t.Errorf("it trusts the first server: %v", err)
	}
	must(t, i.Close())
}

// A host that is pending asks on until it is taken in, less and less often, and as seldom as the server says; it goes on after a restart.
func TestPolling(t *testing.T) {
	s := newServer(t)
	var waits []time.Duration
	n := 0
	s.handle = func(w http.ResponseWriter, q *http.Request) {
		switch n++; {
		case n == 1:
			s.answers(Answer{State: Pending, Documents: s.authority.Chain().Signed()})
		case n < 10:
			s.refuses(429, Problem{Code: "too_many", Retryable: true, RetryAfter: 600})
		default:
			s.answers(s.approved())
		}
		own := s.handle
		own(w, q)
	}
	poll := s.handle
	j := Joining{Name: "web1", Wait: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		s.handle = poll
		return nil
	}}
	i, err := Join(context.Background(), private(t), s.token(), j, Options{})
	must(t, err)
	defer i.Close()
	if len(waits) != 9 || waits[0] > firstPoll || waits[8] < 300*time.Second || waits[8] > 600*time.Second {
		t.Errorf("it waits %v", waits)
	}
	s.refuses(403, Problem{Code: "token_used", Detail: "it was used"})
	_, err = Join(context.Background(), private(t), s.token(), j, Options{})
	wantCode(t, err, "token_used")
}

// What a server lacks is sent in pieces that it takes.
func TestFitting(t *testing.T) {
	document := func(size int) *trust.Signed { return &trust.Signed{Content: make([]byte, size)} }
	for _, c := range []struct{ count, size, want int }{{0, 1, 0}, {3, 1000, 3}, {100, 1, MaxDocuments}, {10, maxDocumentBytes / 2, 2}, {1, maxDocumentBytes + 1, 0}} {
		var list []*trust.Signed
		for range c.count {
			list = append(list, document(c.size))
		}
		if got := len(fitting(list)); got != c.want {
			t.Errorf("of %d documents of %d bytes %d are sent, want %d", c.count, c.size, got, c.want)
		}
	}
}

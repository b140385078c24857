package enroll

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
)

// attacker sends what no agent of ours sends.
type attacker struct {
	*world
	handler http.Handler
}

func newAttacker(w *world) *attacker { return &attacker{w, w.registry.Handler()} }

// do sends a request, and gives the status and the problem.
func (a *attacker) do(method, path string, body []byte, header ...string) (int, identity.Problem, *http.Response) {
	a.Helper()
	q := httptest.NewRequest(method, "https://server"+path, bytes.NewReader(body))
	for k := 0; k+1 < len(header); k += 2 {
		q.Header.Set(header[k], header[k+1])
	}
	r := httptest.NewRecorder()
	a.handler.ServeHTTP(r, q)
	var p identity.Problem
	if r.Code >= 400 {
		if err := json.Unmarshal(r.Body.Bytes(), &p); err != nil || p.Code == "" || p.Status != r.Code {
			a.Errorf("%s %s: %d is no problem: %.200s", method, path, r.Code, r.Body)
		}
	}
	return r.Code, p, r.Result()
}

func (a *attacker) nonce() string {
	_, _, r := a.do("GET", "/", nil)
	return r.Header.Get(identity.NonceHeader)
}

// proof signs one with any key.
func (a *attacker) proof(key trust.PrivateKey, p identity.Proof) string {
	a.Helper()
	signed, err := trust.Sign(trust.KindProof, p, key)
	must(a, err)
	data, err := json.Marshal(signed)
	must(a, err)
	return base64.RawURLEncoding.EncodeToString(data)
}

// captured is a request of an honest host that somebody has seen.
type captured struct {
	path, proof string
	body        []byte
}

func (w *world) capture(act func()) *captured {
	w.Helper()
	var c *captured
	w.before = func(q *http.Request) bool {
		if w.isCurrent(q) {
			body, err := io.ReadAll(q.Body)
			must(w, err)
			q.Body = io.NopCloser(bytes.NewReader(body))
			c = &captured{q.URL.Path, q.Header.Get(identity.ProofHeader), body}
		}
		return false
	}
	act()
	w.before = nil
	if c == nil {
		w.Fatal("nothing was captured")
	}
	return c
}

// A proof is of one request, by one host, for a few minutes.
func TestProofRefused(t *testing.T) {
	w := newWorld(t)
	a := newAttacker(w)
	i, _ := w.host("web1")
	other, _ := w.host("web2")
	c := w.capture(func() { w.renew(i) })
	forged, err := trust.GenerateKey()
	must(t, err)
	thief := identity.Proof{Method: "POST", Path: identity.RenewPath, Nonce: a.nonce(), Body: trust.DigestOf(c.body)}
	signed, err := other.Sign(trust.KindProof, thief)
	must(t, err)
	signed.Signatures[0].Key = i.ID() // another host's signature under this one's name
	data, err := json.Marshal(signed)
	must(t, err)
	asOther := base64.RawURLEncoding.EncodeToString(data)
	asReport, err := i.Sign(trust.KindReport, thief) // something else that the host has signed
	must(t, err)
	asReport.Kind = trust.KindProof
	data, err = json.Marshal(asReport)
	must(t, err)
	otherKind := base64.RawURLEncoding.EncodeToString(data)
	for name, q := range map[string]struct {
		path, proof string
		body        []byte
		code        string
	}{
		"none":               {c.path, "", c.body, CodeProof},
		"garbage":            {c.path, "%%%", c.body, CodeProof},
		"null":               {c.path, base64.RawURLEncoding.EncodeToString([]byte("null")), c.body, CodeProof},
		"huge":               {c.path, strings.Repeat("A", 1<<16), c.body, CodeProof},
		"another body":       {c.path, c.proof, bytes.Replace(c.body, []byte("{"), []byte("{ "), 1), CodeProof},
		"another path":       {identity.JoinPath, c.proof, c.body, CodeProof},
		"another query":      {c.path + "?x=1", c.proof, c.body, CodeProof},
		"an unknown host":    {c.path, a.proof(forged, thief), c.body, CodeNotFound},
		"another host's":     {c.path, asOther, c.body, CodeProof},
		"another kind":       {c.path, otherKind, c.body, CodeProof},
		"a nonce of its own": {c.path, a.proof(forged, identity.Proof{Method: "POST", Path: c.path, Nonce: "AAAA", Body: trust.DigestOf(c.body)}), c.body, identity.CodeNonce},
	} {
		if status, p, _ := a.do("POST", q.path, q.body, identity.ProofHeader, q.proof); p.Code != q.code || status < 400 {
			t.Errorf("%s: %d, %+v, want %s", name, status, p, q.code)
		}
	}
	if h, err := w.registry.Get(w.ctx, i.ID()); err != nil || h.CopiedAt != nil || h.State != identity.Active {
		t.Errorf("an attack has changed the host: %+v, %v", h, err)
	}
	// At once a replay gets the answer that the host got, and changes nothing; later it gets none.
	if status, _, _ := a.do("POST", c.path, c.body, identity.ProofHeader, c.proof); status != http.StatusOK {
		t.Errorf("a repeated request: %d", status)
	}
	w.wantState(i.ID(), identity.Active)
	w.pass(nonceValidity + time.Second)
	if _, p, _ := a.do("POST", c.path, c.body, identity.ProofHeader, c.proof); p.Code != identity.CodeNonce {
		t.Errorf("a replay after %v: %+v", nonceValidity, p)
	}
	if a := w.renew(i); !a.Renewed {
		t.Errorf("the host itself: %+v", a)
	}
}

// Somebody who has the certified keys of a host, which are no secret, cannot ask in its name.
func TestJoinWithKeysOfAnother(t *testing.T) {
	w := newWorld(t)
	a := newAttacker(w)
	i, _ := w.host("web1")
	h, err := w.registry.Get(w.ctx, i.ID())
	must(t, err)
	key, err := trust.GenerateKey()
	must(t, err)
	token, err := trust.ParseToken(w.token(NewToken{Auto: true}))
	must(t, err)
	for _, keys := range []*trust.Signed{h.certificate, nil, {Kind: trust.KindHostKeys, Content: []byte("{}")}} {
		body, err := json.Marshal(identity.JoinRequest{Secret: token.Secret, Keys: keys, Name: "web9", Value: make([]byte, 16)})
		must(t, err)
		proof := a.proof(key, identity.Proof{Method: "POST", Path: identity.JoinPath, Nonce: a.nonce(), Body: trust.DigestOf(body)})
		if _, p, _ := a.do("POST", identity.JoinPath, body, identity.ProofHeader, proof); p.Code != CodeProof {
			t.Errorf("%+v", p)
		}
	}
	w.wantState(i.ID(), identity.Approved)
}

// Bodies that are huge, cut, or no JSON are refused, and so are methods and paths that are not there.
func TestRequestsRefused(t *testing.T) {
	w := newWorld(t)
	a := newAttacker(w)
	key, err := trust.GenerateKey()
	must(t, err)
	for _, path := range []string{identity.JoinPath, identity.RenewPath} {
		for _, body := range []string{"", "{", "[]", `"x"`, `{"value": 1}`, `{"keys": []}`, strings.Repeat(" ", maxBody+1), `{"name":"` + strings.Repeat("a", maxBody) + `"}`, strings.Repeat("[", 100_000)} {
			proof := a.proof(key, identity.Proof{Method: "POST", Path: path, Nonce: a.nonce(), Body: trust.DigestOf([]byte(body))})
			if status, p, _ := a.do("POST", path, []byte(body), identity.ProofHeader, proof); status != http.StatusBadRequest || p.Code != CodeInvalid {
				t.Errorf("%s %.20q: %d, %+v", path, body, status, p)
			}
		}
	}
	for _, q := range [][2]string{{"GET", identity.JoinPath}, {"PUT", identity.RenewPath}, {"POST", identity.ContentsPath + "x"}, {"GET", "/v1/agent/"}, {"GET", "/v1/agent/hosts"}} {
		if status, _, _ := a.do(q[0], q[1], nil); status != http.StatusNotFound {
			t.Errorf("%s %s: %d", q[0], q[1], status)
		}
	}
	if len(w.failures) > 0 {
		t.Errorf("what others send is taken for failures of the server: %v", w.failures)
	}
}

// Contents are for the host whose ticket it is, within its time, and nothing else can be had.
func TestContentsRefused(t *testing.T) {
	w := newWorld(t)
	a := newAttacker(w)
	i, _ := w.host("web1")
	other, _ := w.host("web2")
	content, secret := []byte("for web1"), []byte("for nobody")
	c, s := w.put(content), w.put(secret)
	tickets, err := w.registry.Ticket(i.ID(), c)
	must(t, err)
	ticket := tickets[c]
	get := func(path, ticket string, as *identity.Identity, header ...string) (int, identity.Problem) {
		t.Helper()
		signed, err := as.Sign(trust.KindProof, identity.Proof{Method: "GET", Path: path, Nonce: ticket, Body: trust.DigestOf(nil)})
		must(t, err)
		data, err := json.Marshal(signed)
		must(t, err)
		status, p, _ := a.do("GET", path, nil, append(header, identity.ProofHeader, base64.RawURLEncoding.EncodeToString(data), identity.TicketHeader, ticket)...)
		return status, p
	}
	path := identity.ContentsPath + c.String()
	if status, p := get(path, ticket, i); status != http.StatusOK {
		t.Errorf("the host itself: %d, %+v", status, p)
	}
	for name, q := range map[string]struct {
		path, ticket string
		as           *identity.Identity
		code         string
	}{
		"another host with the ticket": {path, ticket, other, CodeTicket},
		"another content":              {identity.ContentsPath + s.String(), ticket, i, CodeTicket},
		"no ticket":                    {path, "", i, CodeTicket},
		"a nonce for a ticket":         {path, a.nonce(), i, CodeTicket},
		"upper case":                   {identity.ContentsPath + strings.ToUpper(c.String()), ticket, i, CodeInvalid},
		"a short digest":               {identity.ContentsPath + c.String()[:63], ticket, i, CodeInvalid},
		"the folder":                   {identity.ContentsPath, ticket, i, CodeNotFound},
		"traversal":                    {identity.ContentsPath + "..%2f..%2fetc%2fpasswd", ticket, i, CodeInvalid},
		"traversal behind a digest":    {path + "%2f..%2f" + s.String(), ticket, i, CodeInvalid},
		"NUL":                          {path + "%00", ticket, i, CodeInvalid},
		"a query":                      {path + "?x", "x", i, CodeTicket},
	} {
		if status, p := get(q.path, q.ticket, q.as); p.Code != q.code || status < 400 {
			t.Errorf("%s: %d, %+v, want %s", name, status, p, q.code)
		}
	}
	for _, text := range []string{"bytes=-1", "bytes=0-1", "bytes=1-2,3-4", "bytes=x-", "bytes=99999999999999999999-", "bytes=9-", "lines=0-", "bytes=+1-"} {
		if status, p := get(path, ticket, i, "Range", text); status != http.StatusBadRequest {
			t.Errorf("%s: %d, %+v", text, status, p)
		}
	}
	// The proof without a change of path, by somebody else who has seen the ticket and the proof of another content.
	if status, p, _ := a.do("GET", path, nil, identity.TicketHeader, ticket); status != http.StatusUnauthorized {
		t.Errorf("a ticket without a proof: %d, %+v", status, p)
	}
	// A ticket that somebody has seen is of no use without the key of its host.
	forged, err := other.Sign(trust.KindProof, identity.Proof{Method: "GET", Path: path, Nonce: ticket, Body: trust.DigestOf(nil)})
	must(t, err)
	forged.Signatures[0].Key = i.ID()
	data, err := json.Marshal(forged)
	must(t, err)
	if _, p, _ := a.do("GET", path, nil, identity.TicketHeader, ticket, identity.ProofHeader, base64.RawURLEncoding.EncodeToString(data)); p.Code != CodeProof {
		t.Errorf("a forged proof: %+v", p)
	}
	_, err = w.registry.Lock(w.ctx, ada, i.ID())
	must(t, err)
	if _, p := get(path, ticket, i); p.Code != CodeState {
		t.Errorf("a locked host with a ticket of before: %+v", p)
	}
	_, err = w.registry.Unlock(w.ctx, ada, i.ID())
	must(t, err)
	w.pass(ticketValidity)
	if _, p := get(path, ticket, i); p.Code != CodeTicket {
		t.Errorf("an old ticket: %+v", p)
	}
	if len(w.failures) > 0 {
		t.Errorf("what others send is taken for failures of the server: %v", w.failures)
	}
}

// Who asks too often waits, and does not keep others waiting.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	a := newAttacker(w)
	for range 5000 {
		if status, p, r := a.do("GET", "/", nil); status == http.StatusTooManyRequests {
			if p.Code != CodeTooMany || !p.Retryable || r.Header.Get("Retry-After") == "" {
				t.Errorf("%+v", p)
			}
			return
		}
	}
	t.Error("nobody is held up")
}

// A host that renews all the time is held up by itself alone.
func TestRenewalLimit(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	other, _ := w.host("web2")
	held := false
	for range 30 {
		if _, err := i.Renew(w.ctx); err != nil {
			wantCode(t, err, CodeTooMany)
			held = true
		}
	}
	if !held {
		t.Error("it is not held up")
	}
	w.renew(other)
	w.pass(time.Minute)
	if a := w.renew(i); !a.Renewed {
		t.Errorf("%+v", a)
	}
}

// FuzzProof reads whatever stands in the header.
func FuzzProof(f *testing.F) {
	f.Add("")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"kind":"proof","content":"e30","signatures":[{}]}`)))
	f.Fuzz(func(t *testing.T, header string) {
		signed, _, _, err := identity.ParseProof(header)
		if err == nil && (signed == nil || len(signed.Signatures) != 1) {
			t.Errorf("%+v", signed)
		}
	})
}

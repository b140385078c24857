package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
)

// tls is what an attacker speaks: whatever the server shows is taken.
func (b *target) tls(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}
}

// raw sends a text to the port of HTTPS, and gives what is answered at first: a status line, or nothing.
func (b *target) raw(text string) string {
	b.t.Helper()
	conn, err := tls.Dial("tcp", b.listener.Addr().String(), b.tls("http/1.1"))
	must(b.t, err)
	defer conn.Close()
	must(b.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, text)
	must(b.t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err, isTimeout := err.(net.Error); isTimeout && err.Timeout() {
		b.t.Fatalf("a minute has passed without an answer to %.200q", text)
	}
	return strings.TrimSpace(line)
}

// Nobody gets anything without showing who they are, however they write it: neither by another method or path, nor by headers that some servers
// believe.
func TestNobodyGetsAnything(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: b.tls()}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	ask := func(method, path string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, b.url, strings.NewReader("{}"))
		must(t, err)
		r.URL.Opaque = "//" + r.URL.Host + path // as it stands
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := client.Do(r)
		if err != nil {
			return 0, err.Error() // the connection was ended
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, string(text)
	}
	for _, op := range b.api.Operations() {
		if op.Scope == "open" {
			continue
		}
		path := strings.NewReplacer("{id}", "web1", "{name}", "web1", "{site}", "shop", "{run}", "r", "{number}", "1").Replace(op.Path)
		if status, text := ask(op.Method, path); status != http.StatusUnauthorized {
			t.Errorf("%s %s: %d %.200s", op.Method, path, status, text)
		}
	}
	for _, try := range [][]string{
		{"GET", "/v1//hosts"}, {"GET", "//v1/hosts"}, {"GET", "/v1/login/../hosts"}, {"GET", "/v1/login/%2e%2e/hosts"}, {"GET", "/v1/hosts/."}, {"GET", "/V1/hosts"}, {"GET", "/v1/hosts/"},
		{"GET", "/v1/hosts;x"}, {"GET", "/v1%2fhosts"}, {"GET", "/v1/agent/../hosts"}, {"GET", "/v1/hosts%00"}, {"HEAD", "/v1/hosts"}, {"TRACE", "/v1/hosts"}, {"OPTIONS", "/v1/hosts"}, {"CONNECT", "/v1/hosts"},
		{"GET", "/metrics/../v1/hosts"}, {"POST", "/v1/hosts", "X-HTTP-Method-Override", "GET"}, {"GET", "/healthz", "X-Original-URL", "/v1/hosts"}, {"GET", "/healthz", "X-Rewrite-URL", "/v1/hosts"},
		{"GET", "/v1/hosts", "X-Forwarded-User", "admin"}, {"GET", "/v1/hosts", "X-Remote-User", "admin"}, {"GET", "/v1/hosts", "X-Forwarded-For", "127.0.0.1"}, {"GET", "/v1/hosts", "Authorization", "Bearer tenet_s_"},
		{"GET", "/v1/hosts", "Cookie", "__Host-tenet="}, {"GET", "/v1/hosts", "Forwarded", "for=127.0.0.1"},
	} {
		status, text := ask(try[0], try[1], try[2:]...)
		if strings.Contains(text, "web1") || status >= 300 && status < 400 || status == http.StatusOK && try[1] != "/healthz" {
			t.Errorf("%q: %d %.200s", try, status, text)
		}
	}
}

// What is too large, or comes too slowly to ever come, costs the server nothing: it is refused by what is said of it.
func TestSizesAndGarbageOverTLS(t *testing.T) {
	b := newTarget(t)
	const head = " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for text, want := range map[string]string{
		"POST /v1/roles/r" + head + "Content-Length: 1099511627776\r\n\r\n":                                   "405", // before anything is read
		"PUT /v1/roles/r" + head + "Content-Length: 1099511627776\r\n\r\n":                                    "401", // before anything is read
		"PUT /v1/roles/r" + head + "Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n":                       "401",
		"GET /v1/hosts" + head + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n":                              "431",
		"GET /" + strings.Repeat("x", 1<<20) + head + "\r\n":                                                  "431",
		"PUT /v1/roles/r" + head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello":                      "400",
		"PUT /v1/roles/r" + head + "Transfer-Encoding: x\r\n\r\n":                                             "501",
		"GET /v1/hosts" + head + "Host: evil.example\r\n\r\n":                                                 "400",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                                    "404",
		"POST /v1/agent/join" + head + "Content-Length: 1099511627776\r\n\r\n":                                "4",
		"POST /v1/agent/renew" + head + "Tenet-Proof: " + strings.Repeat("e", 10_000) + "\r\n\r\n":            "4",
		"GET /v1/agent/contents/..%2f..%2fkeys%2fserver" + head + "\r\n":                                      "4",
		"GET /v1/agent/contents/" + strings.Repeat("0", 64) + "/../../keys" + head + "\r\n":                   "", // 3xx or 4xx
		"POST /v1/login" + head + "Content-Length: 90009\r\n\r\n" + `{"name":"` + strings.Repeat("x", 90_000): "413",
	} {
		got := b.raw(text)
		if strings.HasPrefix(got, "HTTP/1.1 2") || !strings.Contains(got, " "+want) {
			t.Errorf("%.80q is answered by %q, and not by %s", text, got, want)
		}
	}
}

// packets opens the way of packets to a host as an attacker does who has a login, and gives the session.
func (b *target) packets(secret, host string, headers http.Header) (*websocket.Conn, string, error) {
	b.t.Helper()
	if headers == nil {
		headers = http.Header{}
	}
	if secret != "" {
		headers.Set("Authorization", "Bearer "+secret)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: b.tls()}}
	socket, answer, err := websocket.Dial(b.t.Context(), b.url+"/v1/hosts/"+host+"/connection", &websocket.DialOptions{HTTPClient: web, HTTPHeader: headers})
	if err != nil {
		return nil, "", err
	}
	b.t.Cleanup(func() { socket.CloseNow() })
	return socket, answer.Header.Get("Tenet-Session"), nil
}

// Another site cannot open a connection by somebody's browser, nor can anybody without a login.
func TestConnectionsOfOtherSites(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	secret := b.person("bob", "read@*").Saved().Secret
	cookie := http.Header{"Cookie": {"__Host-tenet=" + secret}, "Origin": {"https://evil.example"}}
	if _, _, err := b.packets("", "web1", cookie); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("another site: %v", err)
	}
	cookie.Set("Origin", b.url)
	if _, _, err := b.packets("", "web1", cookie); err != nil {
		t.Errorf("the server's own page: %v", err)
	}
	if _, _, err := b.packets("", "web1", nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("nobody: %v", err)
	}
	if _, _, err := b.packets(b.person("eve", "read@db*").Saved().Secret, "web1", nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("somebody else: %v", err)
	}
}

// Garbage and huge packets on a connection end that connection, and nothing else.
func TestGarbageOnConnections(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	bob := b.person("bob", "read@*")
	for name, packet := range map[string][]byte{
		"nothing": {}, "unknown": []byte("z"), "no JSON": []byte("r{"), "host's": []byte("n{}"), "deep": []byte("r" + strings.Repeat(`{"signed":`, 100_000)),
		"huge": append([]byte("d"), make([]byte, 40<<20)...), "data first": []byte("dxxxx"), "credit first": []byte("c\xff\xff\xff\xff"), "empty request": []byte("r{}"),
	} {
		socket, _, err := b.packets(bob.Saved().Secret, "web1", nil)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_ = socket.Write(ctx, websocket.MessageBinary, packet) // the server may hang up meanwhile
		socket.SetReadLimit(1 << 20)
		if name == "data first" || name == "credit first" { // which the host answers by silence, or by an end
			_ = socket.Write(ctx, websocket.MessageBinary, []byte("x{}"))
			_ = socket.CloseNow()
		}
		for err == nil {
			_, _, err = socket.Read(ctx)
		}
		if ctx.Err() != nil {
			t.Errorf("%s: the connection stays open", name)
		}
		cancel()
	}
	conn, _ := b.dial(bob, "web1")
	must(t, conn.Close())
	if b.mu.Lock(); len(b.failed) > 0 {
		t.Errorf("the server failed: %v", b.failed)
	}
	b.mu.Unlock()
}

// Each operation takes its verb, and no other one: who has all verbs but that is refused, and the host does nothing.
func TestEachOperationTakesItsVerb(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	var n int
	for op, verb := range map[wire.Op]access.Verb{
		wire.OpPlan: access.Plan, wire.OpApply: access.Deploy, wire.OpResume: access.Deploy, wire.OpCancel: access.Deploy, wire.OpAttach: access.Deploy, wire.OpExec: access.Exec,
		wire.OpHold: access.Deploy, wire.OpRelease: access.Deploy, wire.OpForget: access.Deploy, wire.OpClean: access.Deploy, "reboot": access.Admin, "": access.Admin,
		wire.OpImport: access.Import,
	} {
		var grants []string
		for _, other := range access.Verbs() {
			if other != verb {
				grants = append(grants, string(other)+"@*")
			}
		}
		n++
		conn, ended := b.dial(b.person(fmt.Sprint("bob", n), grants...), "web1")
		must(t, conn.Send(wire.KindRequest, wire.Request{Op: op, Exec: &machine.Exec{Argv: []string{"wait"}}, Hold: &machine.HoldRequest{}, Import: &machine.ImportRequest{Type: "file", Keys: machine.Values{"path": "/etc/hostname"}}}))
		if err := <-ended; code(err) != access.CodeForbidden {
			t.Errorf("%q without %s: %v", op, verb, err)
		}
	}
	select {
	case <-b.waiting:
		t.Error("the host has begun something")
	default:
	}
	if records := b.audit(access.AuditFilter{Host: string(id), Action: "host.request"}); len(records) > 0 {
		t.Errorf("the audit says that this was asked: %+v", records)
	}
}

// What was signed for one connection is of no use on another one, nor what an attacker has signed.
func TestReplaysOverTheServer(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	secret := b.person("bob", "read@*", "exec@*").Saved().Secret
	mallory, err := trust.GenerateKey()
	must(t, err)
	greet := func() (*websocket.Conn, []byte, string) {
		socket, session, err := b.packets(secret, "web1", nil)
		must(t, err)
		must(t, socket.Write(t.Context(), websocket.MessageBinary, []byte("o")))
		_, data, err := socket.Read(t.Context())
		must(t, err)
		var s trust.Signed
		must(t, json.Unmarshal(data[1:], &s))
		var g struct{ Nonce []byte }
		must(t, json.Unmarshal(s.Content, &g))
		return socket, g.Nonce, session
	}
	other, foreign, _ := greet() // a nonce of another connection of the same person
	defer other.CloseNow()
	for name, forge := range map[string]func(nonce []byte, session string) map[string]any{
		"foreign nonce": func(_ []byte, _ string) map[string]any {
			return map[string]any{"nonce": foreign, "verb": "open", "clear": []byte("{}")}
		},
		"long nonce": func(nonce []byte, _ string) map[string]any {
			return map[string]any{"nonce": append(nonce, make([]byte, 100_000)...), "verb": "open", "clear": []byte("{}")}
		},
		"own signature": func(nonce []byte, session string) map[string]any {
			signed, err := trust.Sign(trust.KindRequest, trust.Request{Host: id, ID: trust.NewRequestID(), Nonce: nonce, Verb: "open", Operator: "admin"}, mallory)
			must(t, err)
			return map[string]any{"nonce": nonce, "verb": "open", "clear": []byte("{}"), "signed": signed}
		},
		"another verb": func(nonce []byte, _ string) map[string]any {
			return map[string]any{"nonce": nonce, "verb": "ping", "clear": []byte(`{"op":"exec","exec":{"argv":["wait"]}}`)}
		},
		"two verbs": func(nonce []byte, _ string) map[string]any {
			return map[string]any{"nonce": nonce, "verb": "ping", "clear": []byte(`{"op":"ping","Op":"exec","exec":{"argv":["wait"]}}`)}
		},
	} {
		socket, nonce, session := greet()
		data, err := json.Marshal(forge(nonce, session))
		must(t, err)
		must(t, socket.Write(t.Context(), websocket.MessageBinary, append([]byte("r"), data...)))
		kind, data, err := socket.Read(t.Context())
		if err == nil && (kind != websocket.MessageBinary || data[0] != 'x') {
			t.Errorf("%s is answered by %.100q", name, data)
		}
	}
	select {
	case <-b.waiting:
		t.Error("the host has begun something")
	default:
	}
}

// A program does no more than its token says, also not to other programs of the same person, nor to that person.
func TestProgramsStayWithinTheirToken(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	alice := b.person("alice", "read@*", "exec@*", "admin@*", "enroll@*")
	who, err := b.People.Authenticate(t.Context(), alice.Saved().Secret)
	must(t, err)
	add := func(name string) (string, access.ProgramRecord) {
		secret, record, err := b.People.AddProgram(t.Context(), who, name, b.grants("read@web*"), time.Now().Add(time.Hour), "")
		must(t, err)
		return secret, record
	}
	secret, own := add("reader")
	_, sibling := add("sibling")
	program := b.client(secret)
	sessions, err := b.People.Sessions(t.Context(), "alice")
	must(t, err)
	call := func(method, path string, body any) error {
		return err2(client.Call[map[string]any](t.Context(), program, method, path, nil, body))
	}
	grant := []map[string]string{{"verb": "read", "hosts": "web*", "site": "*"}}
	for _, try := range []struct {
		method, path string
		body         any
	}{
		{"DELETE", "/v1/programs/" + sibling.ID, nil}, {"GET", "/v1/session/all", nil}, {"DELETE", "/v1/session/all/" + sessions[0].ID, nil}, {"GET", "/v1/programs?all=true", nil},
		{"POST", "/v1/programs", map[string]any{"name": "child", "grants": grant, "ends": time.Now().Add(time.Minute)}}, {"GET", "/v1/people", nil}, {"GET", "/v1/audit", nil}, {"GET", "/v1/sessions", nil},
		{"PUT", "/v1/session/password", map[string]any{"former": hostilePassword, "password": "another horse battery"}}, {"POST", "/v1/tokens", map[string]any{"uses": 1}},
		{"POST", "/v1/hosts/web1/lock", map[string]any{}}, {"PUT", "/v1/roles/r", map[string]any{"grants": grant}}, {"GET", "/v1/grants?person=bob", nil}, {"POST", "/v1/server/resume", map[string]any{}},
	} {
		if err := call(try.method, try.path, try.body); code(err) != access.CodeForbidden && code(err) != access.CodeNotFound {
			t.Errorf("%s %s: %v", try.method, try.path, err)
		}
	}
	list, err := client.Call[struct{ Items []access.ProgramRecord }](t.Context(), program, "GET", "/v1/programs", nil, nil)
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != own.ID {
		t.Errorf("it sees the programs %+v: %v", list, err)
	}
	must(t, err2(client.Call[struct{}](t.Context(), program, "DELETE", "/v1/programs/"+own.ID, nil, nil))) // it may end itself
	if err := call("GET", "/v1/session", nil); code(err) != access.CodeUnknown {
		t.Errorf("after its end: %v", err)
	}
}

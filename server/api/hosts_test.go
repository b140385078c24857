package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// hostWorld has hosts, bob who enrols web*, and carol who reads web*.
type hostWorld struct {
	*world
	store             *store.Store // of the hosts
	registry          *enroll.Registry
	authority         *authority.Authority
	alice, bob, carol string
}

func startHosts(t *testing.T, more ...func(*hostWorld, *api.Options)) *hostWorld {
	ctx := context.Background()
	e, err := sqlite.Open(ctx, t.TempDir())
	must(t, err)
	s, err := store.New(ctx, e, store.Options{Migrations: slices.Concat(authority.Migrations(), access.Migrations(), enroll.Migrations(), []store.Migration{enroll.ForgetMigration()}, sessionTables())})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(ctx)
	must(t, err)
	a, err := authority.Open(ctx, t.TempDir(), s, authority.Options{Recovery: func(string) error { return nil }})
	must(t, err)
	c, err := contents.OpenFolder(t.TempDir())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	w := &hostWorld{store: s}
	w.registry, err = enroll.Open(ctx, s, a, c, enroll.Options{Addresses: []string{"https://tenet.example.org"}})
	must(t, err)
	w.authority = a
	w.world = start(t, func(o *api.Options) {
		o.Hosts, o.Authority = w.registry, a
		for _, add := range more {
			add(w, o)
		}
	})
	web, err := access.ParseSelector("web*")
	must(t, err)
	w.add("bob", access.Grant{Verb: access.Enroll, Hosts: web, Site: "*"}, access.Grant{Verb: access.Read, Hosts: web, Site: "*"})
	w.add("carol", access.Grant{Verb: access.Read, Hosts: web, Site: "*"})
	w.alice, w.bob, w.carol = w.login("alice"), w.login("bob"), w.login("carol")
	return w
}

// join has a host ask with a token, and gives its id.
func (w *hostWorld) join(token, name string) trust.ID {
	w.t.Helper()
	parsed, err := trust.ParseToken(token)
	must(w.t, err)
	key, err := trust.GenerateKey()
	must(w.t, err)
	connection, err := nkeys.CreateUser()
	must(w.t, err)
	public, err := connection.PublicKey()
	must(w.t, err)
	sealing, err := age.GenerateX25519Identity()
	must(w.t, err)
	keys := &trust.HostKeys{Identity: key.Public(), Connection: public, Sealing: sealing.Recipient().String(), Number: 1}
	signed, err := trust.Sign(trust.KindHostKeys, keys, key)
	must(w.t, err)
	_, err = w.registry.Join(context.Background(), &identity.JoinRequest{Secret: parsed.Secret, Keys: signed, Name: name, Value: make([]byte, 16)}, keys, "192.0.2.1")
	must(w.t, err)
	return key.ID()
}

// token makes one for many hosts.
func (w *hostWorld) token() string {
	w.t.Helper()
	var made struct{ Secret string }
	r := w.ask("POST", "/v1/tokens", w.alice, `{"uses":100,"reason":"new hosts"}`)
	must(w.t, json.Unmarshal([]byte(r.text), &made))
	if r.status != http.StatusCreated || made.Secret == "" {
		w.t.Fatal(r)
	}
	return made.Secret
}

func (w *hostWorld) names(secret, query string) (names []string, next string) {
	w.t.Helper()
	r := w.ask("GET", "/v1/hosts"+query, secret, "")
	var list struct {
		Items []struct{ Name string }
		Next  string
	}
	must(w.t, json.Unmarshal([]byte(r.text), &list))
	for _, h := range list.Items {
		names = append(names, h.Name)
	}
	return names, list.Next
}

// Tokens are listed without their secrets, for who made them or may enrol all; only the latter may make those that approve.
func TestTokensOverHTTP(t *testing.T) {
	w := startHosts(t)
	secret := w.token()
	r := w.ask("GET", "/v1/tokens", w.alice, "")
	var list struct{ Items []struct{ ID string } }
	must(t, json.Unmarshal([]byte(r.text), &list))
	parsed, err := trust.ParseToken(secret)
	must(t, err)
	raw, err := json.Marshal(parsed.Secret)
	must(t, err)
	if len(list.Items) != 1 || strings.Contains(r.text, secret) || strings.Contains(r.text, strings.Trim(string(raw), `"`)) || strings.Contains(r.text, parsed.ID().String()) {
		t.Error(r)
	}
	if r := w.ask("GET", "/v1/tokens", w.bob, ""); r.text != "{\"items\":[]}\n" {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", "/v1/tokens", w.carol, ""), 403, access.CodeForbidden)
	w.wantProblem(w.ask("POST", "/v1/tokens", w.bob, `{"auto":true}`), 403, access.CodeForbidden)
	w.wantProblem(w.ask("POST", "/v1/tokens", w.alice, `{"auto":true,"uses":2}`), 400, enroll.CodeInvalid)
	w.wantProblem(w.ask("DELETE", "/v1/tokens/"+list.Items[0].ID, w.bob, ""), 404, enroll.CodeNotFound)
	if r := w.ask("DELETE", "/v1/tokens/"+list.Items[0].ID+"?reason=over", w.alice, ""); r.status != http.StatusNoContent {
		t.Error(r)
	}
	if r := w.ask("POST", "/v1/tokens", w.bob, `{}`); r.status != http.StatusCreated {
		t.Error(r)
	}
}

// A list shows what its reader may read, in pages, and goes on where it ended.
func TestHostsAreListed(t *testing.T) {
	w := startHosts(t)
	token := w.token()
	for k := range 7 {
		w.join(token, fmt.Sprintf("web%d", k))
	}
	w.join(token, "db1")
	if all, _ := w.names(w.alice, ""); len(all) != 8 {
		t.Error(all)
	}
	var seen []string
	for cursor := ""; ; {
		page, next := w.names(w.carol, "?limit=3&select=*,!web3&cursor="+cursor)
		seen = append(seen, page...)
		if cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(seen, []string{"web0", "web1", "web2", "web4", "web5", "web6"}) {
		t.Error(seen)
	}
	for query, want := range map[string]int{"?state=pending": 8, "?state=active,locked": 0, "?prefix=d": 1, "?select=web1,db1": 2, "?question=true": 0} {
		if list, _ := w.names(w.alice, query); len(list) != want {
			t.Errorf("%s: %v", query, list)
		}
	}
	_, next := w.names(w.carol, "?limit=3")
	w.wantProblem(w.ask("GET", "/v1/hosts?limit=3&prefix=w&cursor="+next, w.carol, ""), 400, "cursor")
	w.wantProblem(w.ask("GET", "/v1/hosts?limit=3&cursor="+next, w.alice, ""), 400, "cursor")
	w.wantProblem(w.ask("GET", "/v1/hosts?state=happy", w.alice, ""), 422, access.CodeInvalid)
	w.wantProblem(w.ask("GET", "/v1/hosts?select=web[", w.alice, ""), 422, access.CodeInvalid)
}

// What is done to a host takes the grant to enrol it as it was and as it is to be; who may not read it does not learn that it is there.
func TestHostsOverHTTP(t *testing.T) {
	w := startHosts(t)
	token := w.token()
	web, db := w.join(token, "web1"), w.join(token, "db1")
	w.wantProblem(w.ask("GET", "/v1/hosts/"+string(db), w.carol, ""), 404, access.CodeNotFound)
	w.wantProblem(w.ask("GET", "/v1/hosts/none", w.carol, ""), 404, access.CodeNotFound)
	w.wantProblem(w.ask("POST", "/v1/hosts/"+string(db)+"/approve", w.bob, `{}`), 404, access.CodeNotFound)
	w.wantProblem(w.ask("POST", "/v1/hosts/"+string(web)+"/approve", w.carol, `{}`), 403, access.CodeForbidden)
	w.wantProblem(w.ask("POST", "/v1/hosts/"+string(web)+"/approve", w.bob, `{"name":"db2"}`), 403, access.CodeForbidden)
	if r := w.ask("POST", "/v1/hosts/"+string(web)+"/approve", w.bob, `{"labels":{"role":"web"},"reason":"mine"}`); r.status != 200 || !strings.Contains(r.text, `"state":"approved"`) ||
		!strings.Contains(r.text, `"labels":{"role":"web"}`) || !strings.Contains(r.text, `"decided_by":"bob"`) {
		t.Error(r)
	}
	w.wantProblem(w.ask("POST", "/v1/hosts/web1/approve", w.bob, `{}`), 409, enroll.CodeState)
	w.wantProblem(w.ask("POST", "/v1/hosts/web1/rename", w.bob, `{"name":"db1"}`), 403, access.CodeForbidden)
	w.wantProblem(w.ask("POST", "/v1/hosts/web1/rename", w.bob, `{"name":"web/1"}`), 400, enroll.CodeInvalid)
	for _, q := range [][3]string{{"POST", "web1/rename", `{"name":"web2"}`}, {"PUT", "web2/labels", `{"labels":{}}`}, {"POST", "web2/lock", `{"reason":"odd"}`},
		{"POST", "web2/unlock", `{}`}, {"POST", "web2/revoke", `{"reason":"sold"}`}} {
		if r := w.ask(q[0], "/v1/hosts/"+q[1], w.bob, q[2]); r.status != 200 {
			t.Error(q, r)
		}
	}
	if r := w.ask("GET", "/v1/hosts/"+string(web), w.bob, ""); !strings.Contains(r.text, `"state":"revoked","reason":"sold"`) {
		t.Error(r)
	}

	again := w.join(token, "db1")
	if r := w.ask("POST", "/v1/hosts/"+string(db)+"/approve", w.alice, `{}`); r.status != 200 {
		t.Error(r)
	}
	if r := w.ask("GET", "/v1/hosts/"+string(again), w.alice, ""); !strings.Contains(r.text, `"replaces":{"id":"`+string(db)) || !strings.Contains(r.text, `"what":"identity"`) {
		t.Error(r)
	}
	w.wantProblem(w.ask("POST", "/v1/hosts/"+string(again)+"/approve", w.alice, `{}`), 409, enroll.CodeNameTaken)
	if r := w.ask("POST", "/v1/hosts/"+string(again)+"/approve", w.alice, `{"replace":true}`); r.status != 200 {
		t.Error(r)
	}
	w.wantProblem(w.ask("POST", "/v1/hosts/settle", w.alice, `{"hosts":["x"],"accept":true}`), 422, access.CodeInvalid)
	if r := w.ask("POST", "/v1/hosts/settle", w.alice, `{"hosts":["`+string(again)+`"],"accept":true}`); r.text != "{\"items\":[]}\n" {
		t.Error(r)
	}
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}

// A server without hosts says so.
func TestNoHosts(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	for _, path := range []string{"/v1/hosts", "/v1/hosts/x", "/v1/tokens", "/v1/trust", "/v1/trust/documents"} {
		w.wantProblem(w.ask("GET", path, alice, ""), 501, access.CodeNotSupported)
	}
	w.wantProblem(w.ask("POST", "/v1/hosts/x/lock", alice, `{}`), 501, access.CodeNotSupported)
	// It is the server that cannot, and not the request that is wrong.
	w.wantProblem(w.ask("GET", "/v1/server", alice, ""), 409, sessions.CodeAway)
}

package access_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/access/accesstest"
)

const callback = "https://tenet.example/v1/login/identity/callback"

// identity is a server with people, a role for the group "ops", and a provider.
type identity struct {
	*world
	fake     *accesstest.Provider
	provider *access.Provider
}

func newIdentity(t testing.TB) *identity {
	t.Helper()
	w := people(t)
	w.now = time.Now().UTC()
	must(t, w.PutRole(context.Background(), w.root, access.Role{Name: "operators", Groups: []string{"ops"}, Grants: []access.Grant{grant(t, access.Read, "*", "*")}}, ""))
	fake := accesstest.NewProvider(t)
	p, err := access.NewProvider(w.Directory, access.ProviderOptions{Issuer: fake.URL, ClientID: accesstest.ClientID, ClientSecret: accesstest.ClientSecret, Callback: callback})
	must(t, err)
	fake.Set(map[string]any{"sub": "s1", "preferred_username": "bob", "groups": []string{"ops", "staff"}}, nil)
	return &identity{w, fake, p}
}

// login logs in by a browser.
func (i *identity) login() (access.Return, error) {
	i.t.Helper()
	address, binding, err := i.provider.BeginBrowser(context.Background())
	must(i.t, err)
	code, state := i.fake.Visit(address)
	return i.provider.Return(context.Background(), code, state, binding, "test")
}

func TestIdentity(t *testing.T) {
	ctx, i := context.Background(), newIdentity(t)
	back, err := i.login()
	must(t, err)
	c, err := i.Authenticate(ctx, back.Login.Secret)
	if err != nil || c.Name != "bob" || !c.MayEverywhere(access.Read) || back.Redirect != "" {
		t.Fatal(c, err)
	}
	// The groups of the day count.
	i.fake.Set(map[string]any{"sub": "s1", "preferred_username": "robert", "groups": "staff"}, nil)
	_, err = i.login()
	must(t, err)
	c, err = i.Authenticate(ctx, back.Login.Secret)
	if err != nil || c.Name != "bob" || len(c.Grants) != 0 {
		t.Fatal(c, err)
	}
	// Who was removed does not come back by the provider.
	i.fake.Set(map[string]any{"sub": "s1", "preferred_username": "bob", "groups": []string{"ops"}}, nil)
	must(t, i.RemovePerson(ctx, i.root, "bob", "left"))
	_, err = i.login()
	wantCode(t, err, access.CodeExists)
}

// Whom nobody knows is let in by a role for a group alone, and never as somebody else.
func TestStrangers(t *testing.T) {
	i := newIdentity(t)
	for name, test := range map[string]struct {
		claims map[string]any
		code   string
	}{
		"no group":         {map[string]any{"sub": "x", "preferred_username": "eve"}, access.CodeForbidden},
		"group of nobody":  {map[string]any{"sub": "x", "preferred_username": "eve", "groups": []any{"staff", 7, nil}}, access.CodeForbidden},
		"role as group":    {map[string]any{"sub": "x", "preferred_username": "eve", "groups": []string{"operators"}}, access.CodeForbidden},
		"somebody's name":  {map[string]any{"sub": "x", "preferred_username": "alice", "groups": []string{"ops"}}, access.CodeExists},
		"a program's name": {map[string]any{"sub": "x", "preferred_username": "alice/ci", "groups": []string{"ops"}}, access.CodeInvalid},
		"no name":          {map[string]any{"sub": "x", "groups": []string{"ops"}}, access.CodeInvalid},
		"no subject":       {map[string]any{"preferred_username": "eve", "groups": []string{"ops"}}, access.CodeUnknown},
		"long subject":     {map[string]any{"sub": strings.Repeat("x", 2000), "preferred_username": "eve", "groups": []string{"ops"}}, access.CodeUnknown},
	} {
		i.fake.Set(test.claims, nil)
		if _, err := i.login(); diag.CodeOf(err) != test.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	i.add("carol")
	must(t, i.ChangePerson(context.Background(), i.root, "carol", access.PersonChange{Issuer: new(i.fake.URL), Subject: new("c")}))
	i.fake.Set(map[string]any{"sub": "c", "preferred_username": "alice"}, nil)
	back, err := i.login()
	if err != nil || back.Login.Person != "carol" {
		t.Error(back, err)
	}
}

// A token that is not for this login proves nothing.
func TestForgedIdentities(t *testing.T) {
	i := newIdentity(t)
	for name, broken := range map[string]func(map[string]any){
		"another nonce":    func(c map[string]any) { c["nonce"] = "x" },
		"no nonce":         func(c map[string]any) { delete(c, "nonce") },
		"another client":   func(c map[string]any) { c["aud"] = "other" },
		"another issuer":   func(c map[string]any) { c["iss"] = "https://evil.example" },
		"over":             func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
		"an empty subject": func(c map[string]any) { c["sub"] = "" },
	} {
		i.fake.Set(map[string]any{"sub": "s1", "preferred_username": "bob", "groups": []string{"ops"}}, broken)
		if _, err := i.login(); diag.CodeOf(err) != access.CodeUnknown {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A login ends where it was begun: in the same browser, once, and in time.
func TestStates(t *testing.T) {
	ctx, i := context.Background(), newIdentity(t)
	address, binding, err := i.provider.BeginBrowser(ctx)
	must(t, err)
	code, state := i.fake.Visit(address)
	_, other, err := i.provider.BeginBrowser(ctx)
	must(t, err)
	for name, args := range map[string][3]string{
		"another browser": {code, state, other}, "no cookie": {code, state, ""}, "no state": {code, "", binding}, "another state": {code, state[:len(state)-4] + "AAAA", binding},
		"short": {code, "AAAA", binding}, "no base64": {code, "!", binding}, "another code": {"x", state, binding}, "no code": {"", state, binding},
	} {
		if _, err := i.provider.Return(ctx, args[0], args[1], args[2], "test"); diag.CodeOf(err) != access.CodeUnknown {
			t.Errorf("%s: %v", name, err)
		}
	}
	back, err := i.provider.Return(ctx, code, state, binding, "test")
	if err != nil || back.Login == nil {
		t.Fatal(err)
	}
	_, err = i.provider.Return(ctx, code, state, binding, "test")
	wantCode(t, err, access.CodeUnknown)
	address, binding, err = i.provider.BeginBrowser(ctx)
	must(t, err)
	code, state = i.fake.Visit(address)
	i.now = i.now.Add(10 * time.Minute)
	_, err = i.provider.Return(ctx, code, state, binding, "test")
	wantCode(t, err, access.CodeUnknown)
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// A program gets its session by a code that is of use to it alone, once, for a minute.
func TestProgramsLogIn(t *testing.T) {
	ctx, i := context.Background(), newIdentity(t)
	for _, bad := range []string{"", "https://127.0.0.1:1/", "http://evil.example:1/", "http://127.0.0.1.evil.example:1/", "http://127.0.0.1/", "http://127.0.0.1:1/?a", "http://u@127.0.0.1:1/", "http://localhost:1/", "javascript:1"} {
		_, err := i.provider.BeginProgram(ctx, bad, challengeOf("v"))
		wantCode(t, err, access.CodeInvalid)
	}
	_, err := i.provider.BeginProgram(ctx, "http://127.0.0.1:1/x", "short")
	wantCode(t, err, access.CodeInvalid)
	begin := func() string {
		address, err := i.provider.BeginProgram(ctx, "http://127.0.0.1:1234/x", challengeOf("the verifier"))
		must(t, err)
		code, state := i.fake.Visit(address)
		back, err := i.provider.Return(ctx, code, state, "", "browser")
		if err != nil || back.Login != nil || !strings.HasPrefix(back.Redirect, "http://127.0.0.1:1234/x?code=") {
			t.Fatal(back, err)
		}
		u, err := url.Parse(back.Redirect)
		must(t, err)
		// It is no state, with which a login would go on.
		_, err = i.provider.Return(ctx, code, u.Query().Get("code"), "", "browser")
		wantCode(t, err, access.CodeUnknown)
		return u.Query().Get("code")
	}
	code := begin()
	for _, verifier := range []string{"", "another", challengeOf("the verifier")} {
		_, err = i.provider.Finish(ctx, code, verifier, "test")
		wantCode(t, err, access.CodeUnknown)
	}
	l, err := i.provider.Finish(ctx, code, "the verifier", "test")
	if err != nil || l.Person != "bob" {
		t.Fatal(l, err)
	}
	_, err = i.provider.Finish(ctx, code, "the verifier", "test")
	wantCode(t, err, access.CodeUnknown)
	late := begin()
	i.now = i.now.Add(time.Minute)
	_, err = i.provider.Finish(ctx, late, "the verifier", "test")
	wantCode(t, err, access.CodeUnknown)
	_, err = i.provider.Finish(ctx, "", "", "test")
	wantCode(t, err, access.CodeUnknown)
}

// A provider that is down keeps nobody from starting the server, and says nothing of the inside.
func TestProviderIsDown(t *testing.T) {
	ctx, i := context.Background(), newIdentity(t)
	address, binding, err := i.provider.BeginBrowser(ctx)
	must(t, err)
	code, state := i.fake.Visit(address)
	i.fake.Close()
	_, err = i.provider.Return(ctx, code, state, binding, "test")
	wantCode(t, err, access.CodeUnavailable)
	if strings.Contains(err.Error(), "127.0.0.1") {
		t.Error(err)
	}
	late, err := access.NewProvider(i.Directory, access.ProviderOptions{Issuer: i.fake.URL, ClientID: "x", Callback: callback})
	must(t, err)
	_, _, err = late.BeginBrowser(ctx)
	wantCode(t, err, access.CodeUnavailable)
	for _, bad := range []access.ProviderOptions{{}, {Issuer: "http://x", Callback: callback, ClientID: "x"}, {Issuer: "https://x", Callback: "x", ClientID: "x"}, {Issuer: "https://x", Callback: callback}} {
		_, err := access.NewProvider(i.Directory, bad)
		wantCode(t, err, access.CodeInvalid)
	}
}

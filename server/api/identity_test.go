package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/access/accesstest"
	"github.com/tenetcm/tenet/server/api"
)

func withProvider(t testing.TB) (*world, *accesstest.Provider) {
	t.Helper()
	fake := accesstest.NewProvider(t)
	w := start(t, func(o *api.Options) {
		provider, err := access.NewProvider(o.People, access.ProviderOptions{Issuer: fake.URL, ClientID: accesstest.ClientID, ClientSecret: accesstest.ClientSecret,
			Callback: "https://tenet.example" + api.IdentityCallback})
		must(t, err)
		o.Identity = provider
	})
	must(t, w.people.PutRole(context.Background(), w.root, access.Role{Name: "ops", Groups: []string{"ops"}, Grants: access.AllGrants()[:1]}, ""))
	fake.Set(map[string]any{"sub": "s1", "preferred_username": "bob", "groups": []string{"ops"}}, nil)
	return w, fake
}

func TestIdentityInABrowser(t *testing.T) {
	w, fake := withProvider(t)
	begun := w.ask("GET", "/v1/login/identity", "", "")
	cookie := begun.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-tenet-login=", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(cookie, want) {
			t.Fatal(cookie)
		}
	}
	if begun.status != 303 || begun.text != "" || !strings.Contains(begun.header.Get("Location"), "code_challenge_method=S256") {
		t.Fatal(begun)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	code, state := fake.Visit(begun.header.Get("Location"))
	query := "?code=" + code + "&state=" + state
	w.wantProblem(w.ask("GET", api.IdentityCallback+query, "", ""), 401, access.CodeUnknown)
	w.wantProblem(w.ask("GET", api.IdentityCallback+"?error=access_denied&state="+state, "", "", "Cookie", pair), 401, access.CodeUnknown)
	back := w.ask("GET", api.IdentityCallback+query, "", "", "Cookie", pair, "Sec-Fetch-Site", "cross-site")
	cookies := strings.Join(back.header.Values("Set-Cookie"), "\n")
	if back.status != 200 || !strings.Contains(cookies, "__Host-tenet=tenet_s_") || !strings.Contains(cookies, "__Host-tenet-login=; Path=/; Max-Age=0") || strings.Contains(back.text, "tenet_s_") {
		t.Fatal(back)
	}
	_, secret, _ := strings.Cut(cookies, "__Host-tenet=")
	secret, _, _ = strings.Cut(secret, ";")
	if r := w.ask("GET", "/v1/session", "", "", "Cookie", "__Host-tenet="+secret); !strings.Contains(r.text, `"name":"bob"`) {
		t.Error(r)
	}
	w.wantProblem(w.ask("GET", api.IdentityCallback+query, "", "", "Cookie", pair), 401, access.CodeUnknown)
}

func TestWithoutProvider(t *testing.T) {
	w := start(t, nil)
	for _, r := range []reply{w.ask("GET", "/v1/login/identity", "", ""), w.ask("GET", api.IdentityCallback, "", ""),
		w.ask("POST", "/v1/login/identity", "", `{"redirect":"http://127.0.0.1:1/","challenge":"x"}`), w.ask("POST", "/v1/login/identity/finish", "", `{"code":"x","verifier":"x"}`)} {
		w.wantProblem(r, 501, access.CodeNotSupported)
	}
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}

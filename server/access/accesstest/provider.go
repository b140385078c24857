// Package accesstest has a provider of identity for tests: OpenID Connect with PKCE, on loopback.
package accesstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that the provider knows.
const (
	ClientID     = "tenet"
	ClientSecret = "client-secret-of-tests"
)

// Provider says of whoever comes that they are Claims.
type Provider struct {
	*httptest.Server
	t   testing.TB
	key *rsa.PrivateKey
	mu  sync.Mutex
	// Claims are those of who logs in next. Set changes them.
	claims map[string]any
	broken func(claims map[string]any) // what an evil one does to them, once nonce and times are there
	codes  map[string]url.Values       // what a code was asked for with
}

// NewProvider starts a provider, until the test ends.
func NewProvider(t testing.TB) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{t: t, key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Set says who logs in next, and what is done to the claims besides; nil: nothing.
func (p *Provider) Set(claims map[string]any, broken func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims, p.broken = claims, broken
}

func (p *Provider) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	p.answer(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256"}})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	b := base64.RawURLEncoding
	p.answer(w, map[string]any{"keys": []any{map[string]string{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
		"n": b.EncodeToString(p.key.N.Bytes()), "e": b.EncodeToString(big.NewInt(int64(p.key.E)).Bytes())}}})
}

// authorize sends the browser back at once: whoever comes is logged in there.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		p.t.Error(err)
	}
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	asked, ok := p.codes[r.PostForm.Get("code")]
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if id != ClientID || secret != ClientSecret || !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	delete(p.codes, r.PostForm.Get("code")) // a code is good once
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "nonce": asked.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range p.claims {
		claims[name] = value
	}
	if p.broken != nil {
		p.broken(claims)
	}
	p.answer(w, map[string]any{"access_token": "access-token-of-tests", "token_type": "Bearer", "id_token": p.sign(claims)})
}

func (p *Provider) sign(claims map[string]any) string {
	b := base64.RawURLEncoding
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	signed := b.EncodeToString([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + b.EncodeToString(text)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		p.t.Error(err)
	}
	return signed + "." + b.EncodeToString(signature)
}

// Visit goes to the provider as a browser does, and gives the code and the state with which it is
// sent back.
func (p *Provider) Visit(address string) (code, state string) {
	p.t.Helper()
	h := *p.Client()
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := h.Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		p.t.Fatal(err)
	}
	back, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || answer.StatusCode != http.StatusSeeOther {
		p.t.Fatal(answer.Status, err)
	}
	return back.Query().Get("code"), back.Query().Get("state")
}

package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/tenetcm/tenet/lang/diag"
	"golang.org/x/oauth2"
)

// ProviderOptions say which provider of identity people log in by: OpenID Connect, with an
// authorization code and PKCE.
type ProviderOptions struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty: the provider wants none
	// Callback is the URL of this server to which the provider sends browsers back.
	Callback string
	// NameClaim is what becomes the name of a person who is new; empty: preferred_username.
	NameClaim string
	// GroupsClaim lists the groups by which people have roles; empty: groups.
	GroupsClaim string
	Scopes      []string     // besides openid and profile
	Client      *http.Client // nil: one with limits of time
}

// Provider lets people log in by a provider of identity.
type Provider struct {
	people *Directory
	o      ProviderOptions
	seal   *sealer
	mu     sync.Mutex
	found  *oidc.Provider // once it was asked
}

// NewProvider makes a provider. It is asked for its description when somebody logs in: the server
// starts without it, too.
func NewProvider(people *Directory, o ProviderOptions) (*Provider, error) {
	for name, text := range map[string]string{"issuer": o.Issuer, "callback": o.Callback} {
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && !isLoopback(u) {
			return nil, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("the %s %.200q is no URL with https", name, text), Hint: "write https://HOST/…"}
		}
	}
	if o.ClientID == "" {
		return nil, &diag.HintError{Code: CodeInvalid, Message: "the provider of identity needs a client id", Hint: "the provider shows it where the server is registered there"}
	}
	if o.NameClaim == "" {
		o.NameClaim = "preferred_username"
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 15 * time.Second}
	}
	return &Provider{people: people, o: o, seal: newSealer()}, nil
}

// attemptLimit is how long somebody may take to log in at the provider.
const attemptLimit = 10 * time.Minute

// attempt is what the server has to know again when a browser comes back. It goes along in the
// state, sealed: so nobody can fill the server's memory by beginning.
type attempt struct {
	Verifier string    `json:"verifier"` // of PKCE, towards the provider
	Nonce    string    `json:"nonce"`
	Ends     time.Time `json:"ends"`
	Binding  []byte    `json:"binding,omitempty"`  // the digest of what the browser keeps in a cookie
	Redirect string    `json:"redirect,omitempty"` // where a program listens that has asked
	// Challenge is the digest, in base64, of what that program has to show in the end.
	Challenge string `json:"challenge,omitempty"`
}

// BeginBrowser gives the URL of the provider for a browser, and what the browser has to keep in a
// cookie until it is back: so nobody can make somebody else's browser log in as themselves.
func (p *Provider) BeginBrowser(ctx context.Context) (address, binding string, err error) {
	binding = randomText()
	address, err = p.begin(ctx, attempt{Binding: digestOf(binding)})
	return address, binding, err
}

// BeginProgram gives the URL of the provider for a program that listens on its own machine, such
// as tenet login. The browser is sent there in the end, with a code that is of use only together
// with what the challenge (S256, as in RFC 7636) is the digest of.
func (p *Provider) BeginProgram(ctx context.Context, redirect, challenge string) (address string, err error) {
	u, err := url.Parse(redirect)
	if err != nil || !isLoopback(u) || u.Scheme != "http" || u.Port() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", &diag.HintError{Code: CodeInvalid, Message: "a program may listen on its own machine only", Hint: "write http://127.0.0.1:PORT/PATH"}
	}
	if raw, err := base64.RawURLEncoding.DecodeString(challenge); err != nil || len(raw) != sha256.Size {
		return "", &diag.HintError{Code: CodeInvalid, Message: "the challenge is no SHA-256 in base64url", Hint: "see S256 in RFC 7636"}
	}
	return p.begin(ctx, attempt{Redirect: u.String(), Challenge: challenge})
}

func isLoopback(u *url.URL) bool { return u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" }

func (p *Provider) begin(ctx context.Context, a attempt) (string, error) {
	config, _, err := p.config(ctx)
	if err != nil {
		return "", err
	}
	a.Verifier, a.Nonce, a.Ends = oauth2.GenerateVerifier(), randomText(), p.people.now().Add(attemptLimit)
	state, err := p.seal.seal("state", a)
	if err != nil {
		return "", err
	}
	return config.AuthCodeURL(state, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Return is how a login goes on when the browser is back: one of the two.
type Return struct {
	Login    *Login // of the browser
	Redirect string // to the program that has begun
}

// Return goes on with a login: code and state are as the provider has given them to the browser,
// and binding is what the browser has kept.
func (p *Provider) Return(ctx context.Context, code, state, binding, origin string) (Return, error) {
	var a attempt
	if err := p.seal.open("state", state, &a); err != nil || !p.people.now().Before(a.Ends) {
		return Return{}, restart("this login was not begun here, or long ago")
	}
	if a.Redirect == "" && subtle.ConstantTimeCompare(a.Binding, digestOf(binding)) != 1 {
		return Return{}, restart("this login was begun in another browser")
	}
	name, err := p.identify(ctx, code, &a, origin)
	if err != nil {
		return Return{}, err
	}
	if a.Redirect == "" {
		login, err := p.people.begin(ctx, name, origin, "identity", func(*person) error { return nil })
		return Return{Login: login}, err
	}
	ticket, err := p.seal.seal("ticket", ticket{Person: name, Challenge: a.Challenge, Ends: p.people.now().Add(time.Minute), ID: randomText()})
	return Return{Redirect: a.Redirect + "?" + url.Values{"code": {ticket}}.Encode()}, err
}

// ticket is what a program gets by way of the browser.
type ticket struct {
	Person    string    `json:"person"`
	Challenge string    `json:"challenge"`
	Ends      time.Time `json:"ends"`
	ID        string    `json:"id"`
}

// Finish begins the session of a program that has got a code, and shows by the verifier that it is
// the one that has begun. A code is good once, for a minute.
func (p *Provider) Finish(ctx context.Context, code, verifier, origin string) (*Login, error) {
	var t ticket
	now := p.people.now()
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	if p.seal.open("ticket", code, &t) != nil || !now.Before(t.Ends) || subtle.ConstantTimeCompare([]byte(challenge), []byte(t.Challenge)) != 1 || !p.seal.first(t.ID, t.Ends, now) {
		return nil, restart("this login was not begun here, or is over")
	}
	return p.people.begin(ctx, t.Person, origin, "identity", func(*person) error { return nil })
}

func restart(message string) error {
	return &diag.HintError{Code: CodeUnknown, Message: message, Hint: "begin to log in again"}
}

// config gives what is needed to talk to the provider, which is asked for it once.
func (p *Provider) config(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found == nil {
		var err error
		if found, err = oidc.NewProvider(oidc.ClientContext(ctx, p.o.Client), p.o.Issuer); err != nil {
			return nil, nil, p.unavailable(err)
		}
		p.mu.Lock()
		p.found = found
		p.mu.Unlock()
	}
	return &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.o.Callback,
		Scopes: append([]string{oidc.ScopeOpenID, "profile"}, p.o.Scopes...)}, found, nil
}

// unavailable keeps to itself what the provider has said: it may repeat what it was sent.
func (p *Provider) unavailable(err error) error {
	return &diag.HintError{Code: CodeUnavailable, Message: "the provider of identity cannot be asked now", Hint: "try again, or log in by a password", Err: err}
}

func randomText() string {
	random := make([]byte, 32)
	rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random)
}

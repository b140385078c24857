package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
)

// bindingCookie ties a login to the browser that has begun it. The provider sends browsers back
// from another site, where cookies that are Strict would stay away.
const bindingCookie = "__Host-tenet-login"

// IdentityCallback is the path to which a provider of identity sends browsers back.
const IdentityCallback = "/v1/login/identity/callback"

// backPage has the browser load the server's own page, with the session: a browser that was sent
// here from another site keeps cookies that are Strict to itself until then.
const backPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>tenet</title><p>You are logged in.</p></html>
`

func noProvider() error {
	return &diag.HintError{Code: access.CodeNotSupported, Message: "this server has no provider of identity", Hint: "log in by name and password"}
}

func (a *API) registerIdentity() {
	codes := []string{access.CodeNotSupported, access.CodeUnavailable, access.CodeUnknown}
	a.registerRaw(Operation{ID: "begin-identity-browser", Method: http.MethodGet, Path: "/v1/login/identity", Tag: "login", Scope: Open,
		Summary: "Send a browser to the provider of identity.", Description: "It comes back with a session, in a cookie.", Codes: codes}, "text/html", nil, a.beginBrowser)
	text := func(name string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Description: "As the provider gives it."}
	}
	a.registerRaw(Operation{ID: "return-identity", Method: http.MethodGet, Path: IdentityCallback, Tag: "login", Scope: Open,
		Summary: "Take a browser back from the provider of identity.", Description: "It has to be the one that has begun; where a program has begun, the browser is sent on to that.", Codes: codes},
		"text/html", []*huma.Param{text("code"), text("state"), text("error")}, a.returnIdentity)
	Register(a, Operation{ID: "begin-identity-program", Method: http.MethodPost, Path: "/v1/login/identity", Tag: "login", Scope: Open, MaxBody: 16 << 10,
		Summary: "Begin a login by the provider of identity for a program.", Description: "The program listens on its own machine, and shows the URL to a person. Their browser is sent to the program in the end, with a code.", Codes: codes},
		a.beginProgram)
	Register(a, Operation{ID: "finish-identity-program", Method: http.MethodPost, Path: "/v1/login/identity/finish", Tag: "login", Scope: Open, MaxBody: 16 << 10,
		Summary: "Begin the session of a program.", Description: "By the code that it has got, and the verifier of its challenge. A code is good once, for a minute.", Codes: codes},
		a.finishProgram)
}

func (a *API) beginBrowser(w http.ResponseWriter, r *http.Request) {
	if a.o.Identity == nil {
		a.problem(noProvider()).write(w)
		return
	}
	address, binding, err := a.o.Identity.BeginBrowser(r.Context())
	if err != nil {
		a.problem(err).write(w)
		return
	}
	http.SetCookie(w, binder(binding, 10*time.Minute))
	redirect(w, address)
}

func binder(value string, keep time.Duration) *http.Cookie {
	c := &http.Cookie{Name: bindingCookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(keep.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// redirect has no text, which would repeat the address.
func redirect(w http.ResponseWriter, address string) {
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

func (a *API) returnIdentity(w http.ResponseWriter, r *http.Request) {
	if a.o.Identity == nil {
		a.problem(noProvider()).write(w)
		return
	}
	query := r.URL.Query()
	binding := ""
	if c, err := r.Cookie(bindingCookie); err == nil {
		binding = c.Value
	}
	http.SetCookie(w, binder("", 0))
	if query.Get("code") == "" {
		newProblem(access.CodeUnknown, "the provider of identity has not let you in", "begin to log in again").write(w)
		return
	}
	back, err := a.o.Identity.Return(r.Context(), query.Get("code"), query.Get("state"), binding, originOf(r.Context()))
	switch {
	case err != nil:
		a.problem(err).write(w)
	case back.Login == nil:
		redirect(w, back.Redirect)
	default:
		w.Header().Add("Set-Cookie", setCookie(back.Login.Secret, back.Login.Ends))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(backPage)) // who does not read it loads the page by hand
	}
}

type beginProgramInput struct {
	Body struct {
		Redirect  string `json:"redirect" maxLength:"500" doc:"Where the program listens: http://127.0.0.1:PORT/PATH."`
		Challenge string `json:"challenge" maxLength:"100" doc:"The SHA-256 of the verifier in base64url, as in RFC 7636."`
	}
}

type beginProgramOutput struct {
	Body struct {
		URL string `json:"url" doc:"To be opened in a browser."`
	}
}

func (a *API) beginProgram(ctx context.Context, _ *access.Caller, in *beginProgramInput) (*beginProgramOutput, error) {
	if a.o.Identity == nil {
		return nil, noProvider()
	}
	address, err := a.o.Identity.BeginProgram(ctx, in.Body.Redirect, in.Body.Challenge)
	out := &beginProgramOutput{}
	out.Body.URL = address
	return out, err
}

type finishProgramInput struct {
	Body struct {
		Code     string `json:"code" maxLength:"4096"`
		Verifier string `json:"verifier" maxLength:"200"`
	}
}

func (a *API) finishProgram(ctx context.Context, _ *access.Caller, in *finishProgramInput) (*loginOutput, error) {
	if a.o.Identity == nil {
		return nil, noProvider()
	}
	l, err := a.o.Identity.Finish(ctx, in.Body.Code, in.Body.Verifier, originOf(ctx))
	if err != nil {
		return nil, err
	}
	return startOf(l, false), nil
}

package api

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// SessionCookie is the name of that of a session in a browser. Browsers take a name that begins so only over
// HTTPS, for this host alone, and from no other one.
const SessionCookie = "__Host-tenet"

type contextKey string

// The values in contexts of requests.
const (
	callerKey contextKey = "caller"
	secretKey contextKey = "secret"
	originKey contextKey = "origin"
)

func callerOf(ctx context.Context) *access.Caller {
	c, _ := ctx.Value(callerKey).(*access.Caller)
	return c
}

// secretOf is what the caller has shown.
func secretOf(ctx context.Context) string {
	s, _ := ctx.Value(secretKey).(string)
	return s
}

// originOf is the address from which a request came.
func originOf(ctx context.Context) string {
	s, _ := ctx.Value(originKey).(string)
	return s
}

// Handler serves all of /v1, /healthz and /metrics, and answers everything else by a problem.
func (a *API) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		out := &answer{ResponseWriter: w}
		defer a.recover(out)
		handler, pattern := a.mux.Handler(r)
		// A path that is not clean leads nowhere, rather than somewhere else.
		if pattern == "" || path.Clean(r.URL.Path) != r.URL.Path {
			a.noRoute(out, r, handler, pattern == "")
			return
		}
		handler = http.HandlerFunc(a.mux.ServeHTTP)
		begin := a.o.Clock()
		handler.ServeHTTP(out, r)
		a.metrics.request(pattern, out.status, a.o.Clock().Sub(begin))
	})
}

// secure says to browsers that nothing here is a page.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Strict-Transport-Security", "max-age=31536000")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// noRoute tells a wrong path from a wrong method, as the mux does.
func (a *API) noRoute(w http.ResponseWriter, r *http.Request, handler http.Handler, unknown bool) {
	hurry(w)
	if unknown {
		said := &unsaid{header: http.Header{}}
		handler.ServeHTTP(said, r)
		if allow := said.header.Get("Allow"); said.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", allow)
			newProblem(codeMethod, "this path has no operation with that method", "it has "+allow).write(w)
			return
		}
	}
	newProblem(codeNoRoute, "there is no such operation", "/v1/openapi.json lists all of them").write(w)
}

// unsaid is what the mux would answer.
type unsaid struct {
	header http.Header
	status int
}

// Header is where the mux says which methods there are.
func (u *unsaid) Header() http.Header { return u.header }

// WriteHeader notes the status.
func (u *unsaid) WriteHeader(status int) { u.status = status }

// Write drops the text.
func (u *unsaid) Write(p []byte) (int, error) { return len(p), nil }

// answer knows whether something was written.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write notes that it begins.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// recover, which is deferred, answers a panic by a problem that says nothing of it.
func (a *API) recover(w *answer) {
	value := recover()
	if value == http.ErrAbortHandler {
		panic(value)
	}
	if e := fault.Of(value); e != nil {
		p := a.fault(e)
		if w.status != 0 {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
		p.write(w)
	}
}

// guard stands before an operation.
func (a *API) guard(op Operation, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), originKey, r.RemoteAddr)
		if op.Limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, op.Limit)
			defer cancel()
			// Who does not read the answer does not hold on to it either. Not every writer can do this.
			const patience = 30 * time.Second
			control := http.NewResponseController(w)
			_ = control.SetWriteDeadline(time.Now().Add(op.Limit + patience))
			_ = control.SetReadDeadline(time.Now().Add(op.Limit))
		}
		r.Body = http.MaxBytesReader(innermost(w), r.Body, op.MaxBody)
		if err := a.origins.Check(r); err != nil {
			hurry(w)
			newProblem(codeOrigin, "another site has sent this", "send it from the server's own pages, or without a browser").write(w)
			return
		}
		if isRead := r.Method == http.MethodGet || r.Method == http.MethodHead; a.o.Standby && (!isRead || op.Limit < 0) {
			hurry(w)
			a.problem(store.ErrStandby).write(w)
			return
		}
		ctx, p := a.admit(ctx, op, r)
		if p != nil {
			hurry(w)
			p.write(w)
			return
		}
		if op.Limit < 0 && r.ContentLength != 0 { // there is no time at which it has to be there
			hurry(w)
			newProblem(codeTooLarge, "this operation reads no body", "send none").write(w)
			return
		}
		if r.Method == http.MethodGet && op.Limit > 0 {
			tagged(next, w, r.WithContext(ctx))
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// hurry keeps who is refused from being waited for: net/http reads what was announced and did not come yet before it answers.
func hurry(w http.ResponseWriter) {
	// Not every writer can do this.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
}

// innermost is the writer that net/http has made: another one cannot tell it that a body is too large, and the rest need not be read.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = outer.Unwrap()
	}
}

// admit finds out who calls, and whether the operation is for them.
func (a *API) admit(ctx context.Context, op Operation, r *http.Request) (context.Context, *Problem) {
	if op.Scope == Open {
		return ctx, nil
	}
	secret, isCookie := shown(r)
	if isSafe := r.Method == http.MethodGet || r.Method == http.MethodHead; isCookie && !isSafe && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return ctx, newProblem(codeOrigin, "a browser that changes something has to say from which page", "send the header Origin, or Authorization: Bearer in place of the cookie")
	}
	caller, err := a.o.People.Authenticate(ctx, secret)
	if err != nil {
		return ctx, a.problem(err)
	}
	var allowed bool
	switch op.Scope {
	case Self:
		allowed = true
	case Somewhere:
		allowed = caller.MaySomewhere(op.Verb)
	case Everywhere:
		allowed = caller.MayEverywhere(op.Verb)
	}
	if !allowed {
		where := "for some host"
		if op.Scope == Everywhere {
			where = "for all hosts and sites"
		}
		return ctx, newProblem(access.CodeForbidden, "this takes the grant \""+string(op.Verb)+"\" "+where, "somebody who administers the server can give it to you")
	}
	ctx = context.WithValue(ctx, callerKey, caller)
	return context.WithValue(ctx, secretKey, secret), nil
}

// shown is the secret that a request shows. Where there is an Authorization, the cookie does not count.
func shown(r *http.Request) (secret string, isCookie bool) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		scheme, secret, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return "", false
		}
		return strings.TrimSpace(secret), false
	}
	if c, err := r.Cookie(SessionCookie); err == nil {
		return c.Value, true
	}
	return "", false
}

// setCookie is the header that puts a session into a browser; an empty secret takes it out.
func setCookie(secret string, ends time.Time) string {
	// A link from a mail shows its page to who is logged in: what changes something has to come from the server's own pages, which the guard looks at.
	c := http.Cookie{Name: SessionCookie, Value: secret, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, Expires: ends}
	if secret == "" {
		c.MaxAge = -1
	}
	return c.String()
}

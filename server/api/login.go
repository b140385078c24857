package api

import (
	"context"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/server/access"
)

type loginInput struct {
	Body struct {
		Name     string `json:"name" maxLength:"200" doc:"The person's name."`
		Password string `json:"password" maxLength:"1024" doc:"Their password."`
		Cookie   bool   `json:"cookie,omitempty" doc:"Whether the session is for a browser: then its secret is in a cookie, and not in the answer."`
	}
}

// SessionStart is a session that has begun.
type SessionStart struct {
	ID     string    `json:"id" doc:"Names the session; no secret."`
	Person string    `json:"person"`
	Secret string    `json:"secret,omitempty" doc:"To be shown as Authorization: Bearer. It is told here only."`
	Ends   time.Time `json:"ends" doc:"When it ends in any case; earlier, if it is not used."`
}

type loginOutput struct {
	SetCookie string `header:"Set-Cookie"`
	Body      SessionStart
}

func startOf(l *access.Login, isCookie bool) *loginOutput {
	out := &loginOutput{Body: SessionStart{ID: l.ID, Person: l.Person, Secret: l.Secret, Ends: l.Ends}}
	if isCookie {
		out.SetCookie, out.Body.Secret = setCookie(l.Secret, l.Ends), ""
	}
	return out
}

func (a *API) registerLogin() {
	Register(a, Operation{ID: "login", Method: http.MethodPost, Path: "/v1/login", Tag: "login", Scope: Open, MaxBody: 16 << 10,
		Summary:     "Log in by name and password.",
		Description: "Begins a new session, whatever was shown with the request. A wrong name and a wrong password have the same answer.",
		Codes:       []string{access.CodeUnknown, access.CodeTooMany}},
		func(ctx context.Context, _ *access.Caller, in *loginInput) (*loginOutput, error) {
			l, err := a.o.People.LogIn(ctx, in.Body.Name, in.Body.Password, originOf(ctx))
			if err != nil {
				return nil, err
			}
			return startOf(l, in.Body.Cookie), nil
		})
}

package web

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/tenetcm/tenet/server/api"
)

// login is the page on which one logs in.
type login struct {
	Name, Next  string
	HasIdentity bool
	Problem     *api.Problem
}

func (p *Pages) registerLogin() {
	p.mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		v := p.newView(w, r)
		v.showLogin(login{Next: r.URL.Query().Get("next")})
	})
	p.mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { p.newView(w, r).logIn() })
	p.mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) { p.newView(w, r).logOut() })
}

func (v *view) showLogin(l login) {
	l.HasIdentity = v.o.HasIdentity
	shown := &page{Template: "login", Title: "Log in", Data: l}
	if l.Problem != nil {
		shown.Status = l.Problem.Status
	}
	v.render(shown)
}

func (v *view) logIn() {
	if err := v.parse(); err != nil {
		v.fail(err)
		return
	}
	form := v.r.PostForm
	answer, err := v.call(http.MethodPost, "/v1/login", nil, map[string]any{"name": form.Get("name"), "password": form.Get("password"), "cookie": true})
	var problem *api.Problem
	switch {
	case errors.As(err, &problem):
		v.showLogin(login{Name: form.Get("name"), Next: form.Get("next"), Problem: problem})
	case err != nil:
		v.fail(err)
	default:
		for _, c := range answer.header.Values("Set-Cookie") {
			v.w.Header().Add("Set-Cookie", c)
		}
		next := form.Get("next")
		if !isLocal(next) {
			next = "/"
		}
		v.redirect(cmp.Or(next, "/"))
	}
}

func (v *view) logOut() {
	if !v.open() {
		return
	}
	if err := v.parse(); err != nil {
		v.fail(err)
		return
	}
	answer, err := v.call(http.MethodDelete, "/v1/session", nil, nil)
	if err != nil {
		v.fail(err)
		return
	}
	for _, c := range answer.header.Values("Set-Cookie") {
		v.w.Header().Add("Set-Cookie", c)
	}
	v.redirect("/login")
}

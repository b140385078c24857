package web

import (
	"net/http"
	"net/url"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// accountPage is what one may do oneself, and where one is logged in.
type accountPage struct {
	Session  api.Session
	May      shortList[grantRow]
	Sessions []access.SessionRecord
	Programs shortList[access.ProgramRecord]
}

func (p *Pages) registerAccount() {
	p.show("/account", p.account)
	p.act("/account/password", p.changePassword)
	p.act("/account/sessions/{id}/end", p.endOwnSession)
	p.act("/account/programs/{id}/end", endProgram("/account"))
}

func (p *Pages) account(v *view) (*page, error) {
	a := &accountPage{Session: *v.session}
	grants, err := get[api.List[access.SourcedGrant]](v, "/v1/grants", nil)
	if err != nil {
		return nil, err
	}
	sessions, err := get[api.List[access.SessionRecord]](v, "/v1/session/all", nil)
	if err != nil {
		return nil, err
	}
	programs, err := get[api.List[access.ProgramRecord]](v, "/v1/programs", nil)
	if err != nil {
		return nil, err
	}
	a.May, a.Sessions, a.Programs = v.shortGrants(grants.Items), sessions.Items, shorten(v, "programs", programs.Items, programText)
	return &page{Template: "account", Title: "Your account", Section: "account", Data: a}, nil
}

func (p *Pages) changePassword(v *view) (*act, error) {
	return &act{Title: "Change your password", Button: "Change it", Back: "/account", Effects: []string{"All your other sessions end."},
		Fields: []field{{Name: "former", Label: "The password that you have", Kind: "password", IsRequired: true}, {Name: "password", Label: "The new one", Kind: "password", IsRequired: true}, {Name: "again", Label: "The new one again", Kind: "password", IsRequired: true}},
		Do: func(form url.Values) (string, error) {
			if form.Get("password") != form.Get("again") {
				return "", invalid("again", "the new password twice")
			}
			return "Your password was changed.", v.send(http.MethodPut, "/v1/session/password", map[string]any{"former": form.Get("former"), "password": form.Get("password")}, nil)
		}}, nil
}

func (p *Pages) endOwnSession(v *view) (*act, error) {
	id := v.r.PathValue("id")
	return &act{Title: "End one of your sessions", Button: "End it", IsGrave: true, Back: "/account", Effects: []string{"Whoever uses it has to log in again."},
		Do: func(form url.Values) (string, error) {
			return "The session has ended.", v.remove(route("v1", "session", "all", id), "")
		}}, nil
}

// endProgram ends the token of a program, one's own or anybody's, and leads back to the page that lists it.
func endProgram(back string) func(*view) (*act, error) {
	return func(v *view) (*act, error) {
		id := v.r.PathValue("id")
		return &act{Title: "End the token of a program", Button: "End it", IsGrave: true, Back: back, Fields: []field{reason()}, Command: []string{"tenet", "program", "remove", id},
			Effects: []string{"The program that uses it is refused from then on."},
			Do: func(form url.Values) (string, error) {
				return "The token has ended.", v.remove(route("v1", "programs", id), form.Get("reason"))
			}}, nil
	}
}

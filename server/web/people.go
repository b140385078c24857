package web

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/enroll"
)

// peoplePage is who may do what.
type peoplePage struct {
	People   []api.Person
	Next     string
	Roles    shortList[access.Role]
	Programs shortList[access.ProgramRecord]
}

// personPage is one person.
type personPage struct {
	Person   api.Person
	May      shortList[grantRow]
	Question mayQuestion
	Verbs    []access.Verb
	Sessions []access.SessionRecord
}

// mayQuestion is "may X do that?", and by what.
type mayQuestion struct {
	Verb, Host, Site string
	IsAsked          bool
	IsKnown          bool                  // there is such a host, which one may see: its labels count
	By               []access.SourcedGrant // empty: no
	Labels           map[string]string     // of the host, as it was approved
}

func (p *Pages) registerPeople() {
	p.show("/people", p.people)
	p.show("/people/{name}", p.person)
	p.act("/people/{name}/remove", p.removePerson)
	p.act("/people/{name}/grants", p.changeGrants)
	p.registerRoles()
	p.act("/new-person", p.addPerson)
	p.act("/people/{name}/sessions/{id}/end", p.endSession)
}

func (p *Pages) people(v *view) (*page, error) {
	l := &peoplePage{}
	query := url.Values{}
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	people, err := get[api.List[api.Person]](v, "/v1/people", query)
	if err != nil {
		return nil, err
	}
	l.People = people.Items
	if people.Next != "" {
		query := v.filter("roles", "programs")
		query.Set("cursor", people.Next)
		l.Next = "/people?" + query.Encode()
	}
	roles, err := get[api.List[access.Role]](v, "/v1/roles", nil)
	if err != nil {
		return nil, err
	}
	l.Roles = shorten(v, "roles", roles.Items, func(r access.Role) string {
		return r.Name + " " + strings.Join(append(grantLines(r.Grants), r.Groups...), " ")
	})
	programs, err := get[api.List[access.ProgramRecord]](v, "/v1/programs", url.Values{"all": {"true"}})
	if err != nil {
		return nil, err
	}
	l.Programs = shorten(v, "programs", programs.Items, programText)
	return &page{Template: "people", Title: "People", Section: "people", Data: l}, nil
}

func (p *Pages) person(v *view) (*page, error) {
	name := v.r.PathValue("name")
	person, err := get[api.Person](v, route("v1", "people", name), nil)
	if err != nil {
		return nil, err
	}
	d := &personPage{Person: person, Verbs: access.Verbs(), May: v.shortGrants(person.May)}
	if d.Question, err = v.mayQuestion(person.May); err != nil {
		return nil, err
	}
	sessions, err := get[api.List[access.SessionRecord]](v, "/v1/sessions", url.Values{"person": {name}})
	if err != nil {
		return nil, err
	}
	d.Sessions = sessions.Items
	return &page{Template: "person", Title: name, Section: "people", Data: d}, nil
}

// mayQuestion answers whether one may do what the page's address asks for. A host counts as it was approved.
func (v *view) mayQuestion(grants []access.SourcedGrant) (mayQuestion, error) {
	query := v.r.URL.Query()
	q := mayQuestion{Verb: query.Get("verb"), Host: strings.TrimSpace(query.Get("host")), Site: strings.TrimSpace(query.Get("site"))}
	q.IsAsked = q.Verb != "" && q.Host != ""
	if !q.IsAsked {
		return q, nil
	}
	host, err := get[enroll.Host](v, route("v1", "hosts", q.Host), nil)
	if err != nil && !isMissing(err) { // a name that no host has yet can be asked about, too
		return q, err
	}
	q.Labels, q.IsKnown = host.Labels, err == nil
	target := access.Target{Name: q.Host, Labels: q.Labels}
	for _, g := range grants {
		c := access.Caller{Grants: []access.Grant{g.Grant}}
		if c.May(access.Verb(q.Verb), target, q.Site) {
			q.By = append(q.By, g)
		}
	}
	return q, nil
}

func (p *Pages) removePerson(v *view) (*act, error) {
	name := v.r.PathValue("name")
	return &act{Title: "Remove " + name, Button: "Remove", IsGrave: true, Back: "/people", Fields: []field{reason()}, Command: []string{"tenet", "person", "remove", name},
		Effects: []string{"Their sessions and the tokens of their programs end at once.", "The name is never given again."},
		Do: func(form url.Values) (string, error) {
			return name + " is removed.", v.remove(route("v1", "people", name), form.Get("reason"))
		}}, nil
}

func (p *Pages) addPerson(v *view) (*act, error) {
	password := rand.Text()
	a := &act{Title: "Add a person", Button: "Add", Back: "/people", Command: []string{"tenet", "person", "add", "NAME"},
		Effects: []string{"They log in by a password, which is shown to you once. They change it at \"Your account\"."},
		Fields:  append([]field{{Name: "name", Label: "Name", Kind: "text", IsRequired: true, Hint: "Letters, digits, and - _ . @ between them."}}, accessFields(nil, nil)...)}
	a.Do = func(form url.Values) (string, error) {
		body, err := readAccess(form)
		if err != nil {
			return "", err
		}
		name := form.Get("name")
		body["name"], body["password"] = name, password
		err = v.send(http.MethodPost, "/v1/people", body, nil)
		a.Once = &once{Title: "The password of " + name, Secret: password, Hint: "With it they log in at this page, or by:", Command: commandLine("tenet", "login", "https://"+v.r.Host, "--name", name)}
		return "", err
	}
	return a, nil
}

func (p *Pages) changeGrants(v *view) (*act, error) {
	name := v.r.PathValue("name")
	person, err := get[api.Person](v, route("v1", "people", name), nil)
	if err != nil {
		return nil, err
	}
	return &act{Title: "What " + name + " may do", Button: "Change it", Back: route("people", name), Command: []string{"tenet", "person", "change", name},
		Effects: []string{"It counts at once, also for what they have under way.", "Nobody gives what they do not have."},
		Fields:  accessFields(person.Roles, person.Grants),
		Do: func(form url.Values) (string, error) {
			body, err := readAccess(form)
			if err != nil {
				return "", err
			}
			return "What " + name + " may do was changed.", v.send(http.MethodPatch, route("v1", "people", name), body, nil)
		}}, nil
}

func (p *Pages) endSession(v *view) (*act, error) {
	name, id := v.r.PathValue("name"), v.r.PathValue("id")
	return &act{Title: "End a session of " + name, Button: "End it", IsGrave: true, Back: route("people", name), Fields: []field{reason()},
		Effects: []string{"Whoever uses it has to log in again."},
		Do: func(form url.Values) (string, error) {
			return "The session has ended.", v.remove(route("v1", "sessions", id), form.Get("reason"))
		}}, nil
}

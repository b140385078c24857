package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// registerRoles registers what is done with roles and with programs.
func (p *Pages) registerRoles() {
	p.act("/new-role", func(v *view) (*act, error) { return v.putRole(access.Role{}) })
	p.act("/roles/{name}", p.changeRole)
	p.act("/roles/{name}/remove", p.removeRole)
	p.act("/account/new-program", p.addProgram)
	p.act("/programs/{id}/end", endProgram("/people"))
}

// role gives the role that the page's address names.
func (v *view) role() (access.Role, error) {
	name := v.r.PathValue("name")
	roles, err := get[api.List[access.Role]](v, "/v1/roles", nil)
	if err != nil {
		return access.Role{}, err
	}
	for _, r := range roles.Items {
		if r.Name == name {
			return r, nil
		}
	}
	return access.Role{}, &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no such role.", Hint: "Somebody may have removed it."}
}

func (p *Pages) changeRole(v *view) (*act, error) {
	r, err := v.role()
	if err != nil {
		return nil, err
	}
	return v.putRole(r)
}

// putRole makes a role, or changes the one that is given.
func (v *view) putRole(r access.Role) (*act, error) {
	a := &act{Title: "Change the role " + r.Name, Button: "Change it", Back: "/people", Command: []string{"tenet", "role", "put", r.Name},
		Effects: []string{"It counts at once for all who have it.", "Nobody gives what they do not have."},
		Fields:  []field{grantsField("Grants", r.Grants), {Name: "groups", Label: "Groups of the provider of identity", Kind: "area", Value: strings.Join(r.Groups, "\n"), Hint: "One a line: who is in one of them has the role."}, reason()}}
	if r.Name == "" {
		a.Title, a.Button, a.Command = "Make a role", "Make it", []string{"tenet", "role", "put", "NAME"}
		a.Fields = append([]field{{Name: "name", Label: "Name", Kind: "text", IsRequired: true, Hint: "Letters, digits, and - _ . @ between them."}}, a.Fields...)
	}
	a.Do = func(form url.Values) (string, error) {
		grants, err := readGrants(form.Get("grants"))
		if err != nil {
			return "", err
		}
		groups := append([]string{}, filledLines(form.Get("groups"))...)
		name := r.Name
		if name == "" {
			name = form.Get("name")
		}
		return "The role " + name + " counts as it was written.", v.send(http.MethodPut, route("v1", "roles", name), map[string]any{"groups": groups, "grants": grants, "reason": form.Get("reason")}, nil)
	}
	return a, nil
}

func (p *Pages) removeRole(v *view) (*act, error) {
	r, err := v.role()
	if err != nil {
		return nil, err
	}
	return &act{Title: "Remove the role " + r.Name, Button: "Remove it", IsGrave: true, Back: "/people", Fields: []field{reason()}, Command: []string{"tenet", "role", "remove", r.Name},
		Effects: []string{"Everybody who has it loses: " + strings.Join(grantLines(r.Grants), "; ") + "."},
		Do: func(form url.Values) (string, error) {
			return "The role " + r.Name + " is removed.", v.remove(route("v1", "roles", r.Name), form.Get("reason"))
		}}, nil
}

func (p *Pages) addProgram(v *view) (*act, error) {
	a := &act{Title: "Make a token for a program", Button: "Make it", Back: "/account", Command: []string{"tenet", "program", "add", "NAME", "--grant", "GRANT"},
		Effects: []string{"A program calls the server by it. It never may more than you may at that time."},
		Fields:  []field{{Name: "name", Label: "Name", Kind: "text", IsRequired: true, Hint: "Letters, digits, and - _ . @ between them."}, grantsField("What it may do", nil), {Name: "days", Label: "Good for so many days", Kind: "text", Value: "90"}, reason()}}
	a.Do = func(form url.Values) (string, error) {
		grants, err := readGrants(form.Get("grants"))
		if err != nil {
			return "", err
		}
		days, err := parseNumber("days", form.Get("days"), 365)
		if err != nil {
			return "", err
		}
		var made api.ProgramStart
		err = v.send(http.MethodPost, "/v1/programs", map[string]any{"name": form.Get("name"), "grants": grants, "ends": v.o.Clock().Add(time.Duration(days) * 24 * time.Hour), "reason": form.Get("reason")}, &made)
		a.Once = &once{Title: "The token of " + made.Name, Secret: made.Secret, Hint: "The program shows it as Authorization: Bearer; from a file, tenet itself takes it:", Command: commandLine("tenet", "login", "https://"+v.r.Host, "--token-file", "FILE")}
		return "", err
	}
	return a, nil
}

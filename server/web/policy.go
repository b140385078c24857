package web

import (
	"net/http"
	"net/url"

	"github.com/tenetcm/tenet/server/api"
)

// setPolicy says what every deployment of a site has to have.
func (p *Pages) setPolicy(v *view) (*act, error) {
	site := v.r.PathValue("site")
	present, err := get[api.SitePolicy](v, route("v1", "sites", site, "policy"), nil)
	if err != nil {
		return nil, err
	}
	check := func(name, flag, label, hint string, is bool) field {
		f := field{Name: name, Flag: flag, Label: label, Kind: "check", Hint: hint}
		if is {
			f.Value = "yes"
		}
		return f
	}
	why := reasonFlag()
	why.IsRequired, why.Sample = true, "TEXT"
	a := &act{Title: "Policy of " + site, Button: "Set it", Back: route("sites", site), Command: []string{"tenet", "server", "policy", "set", site},
		Effects: []string{"It holds for every deployment of the site that has not begun, whoever has asked for it.", "Of a deployment that goes on without what is demanded, no further host gets anything."},
		Fields: []field{
			check("approvals", "--approve", "Another person approves every deployment", "Nobody rolls hosts back or takes a cluster away alone.", present.Approvals),
			check("signed", "--sign", "An operator signs every deployment", "By tenet deploy --sign KEY. Deployments that wait and are not signed come to their end.", present.Signed), why}}
	a.Do = func(form url.Values) (string, error) {
		body := map[string]any{"approvals": form.Get("approvals") != "", "signed": form.Get("signed") != "", "reason": form.Get("reason")}
		return "The policy of " + site + " is set.", v.send(http.MethodPut, route("v1", "sites", site, "policy"), body, nil)
	}
	return a, nil
}

package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// deploySite deploys a revision, to the hosts that the address names.
func (p *Pages) deploySite(v *view) (*act, error) {
	site, query := v.r.PathValue("site"), v.r.URL.Query()
	revisions, err := get[api.List[api.Revision]](v, route("v1", "sites", site, "revisions"), nil)
	if err != nil {
		return nil, err
	}
	chosen := number(query.Get("revision"))
	i := slices.IndexFunc(revisions.Items, func(r api.Revision) bool { return r.Number == chosen || chosen == 0 })
	if i < 0 {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "No such revision", Detail: fmt.Sprintf("Revision %d of %s is not kept.", chosen, site), Hint: "Choose one of those that the page of the site lists."}
	}
	r, hosts := revisions.Items[i], strings.TrimSpace(query.Get("hosts"))
	effects, err := v.deployEffects(&r, hosts)
	if err != nil {
		return nil, err
	}
	a := &act{Title: fmt.Sprintf("Deploy revision %d of %s", r.Number, site), Button: "Deploy", Back: route("sites", site), Effects: effects, Command: []string{"tenet", "deploy", site, "--revision", strconv.FormatInt(r.Number, 10)},
		Fields: []field{
			{Name: "consent", Label: "Before it begins", Kind: "choice", Flags: map[string]string{"start": "--plan", "approve": "--approve"}, Options: []option{{"", "nothing more is needed"}, {"start", "somebody looks at the plan, and has it start"}, {"approve", "another person approves the plan"}}},
			{Name: "deadline", Label: "How many minutes a host may take", Kind: "text", Value: "60", Flag: "--deadline", Suffix: "m"},
			{Name: "empty", Label: "That hosts are left with nothing, are no longer declared, or that rules delete all that they have made, is meant", Kind: "check", Flag: "--empty"},
			{Name: "message", Label: "Reason", Kind: "text", Flag: "--message", Hint: "Why, for the audit and for who reads it later."},
		}}
	if hosts != "" {
		a.Command = append(a.Command, "--hosts", hosts)
	}
	a.Do = func(form url.Values) (string, error) {
		minutes, err := parseNumber("deadline", form.Get("deadline"), 7*24*60)
		if err != nil {
			return "", err
		}
		var d api.Deployment
		body := map[string]any{"site": site, "revision": r.Number, "hosts": hosts, "empty": form.Get("empty") != "", "deadline": minutes * 60, "message": form.Get("message")}
		addConsent(body, form)
		if err = v.send(http.MethodPost, "/v1/deployments", body, &d); err != nil {
			return "", err
		}
		a.Back = route("deployments", strconv.FormatInt(d.ID, 10))
		return fmt.Sprintf("Deployment %d of %s was made.", d.ID, site), nil
	}
	return a, nil
}

// addConsent says what a deployment needs before it begins. The API knows no word for nothing.
func addConsent(body map[string]any, form url.Values) {
	if consent := form.Get("consent"); consent != "" {
		body["consent"] = consent
	}
}

// deployEffects says to which hosts a revision would come.
func (v *view) deployEffects(r *api.Revision, hosts string) ([]string, error) {
	brought := fmt.Sprintf("are brought to revision %d, where enrolled and not pinned", r.Number)
	last := "They begin in the batches of the site's rollout. A deployment of the site that is under way is superseded once this one begins."
	if hosts == "" || hosts == access.All {
		return []string{sentenceOf(r.Hosts, brought), "So is a host that is new later.", last}, nil
	}
	list, err := get[api.HostList](v, "/v1/hosts", url.Values{"select": {hosts}, "state": {"active"}, "limit": {"1000"}, "count": {"true"}})
	if err != nil {
		return nil, err
	}
	declared := make(map[string]bool, len(r.Hosts))
	for _, name := range r.Hosts {
		declared[name] = true
	}
	var names []string
	for _, h := range list.Items {
		if declared[h.Name] {
			names = append(names, h.Name)
		}
	}
	if list.Next != "" && list.Total != nil { // more than are looked at
		return []string{"Of " + count(*list.Total, "host") + " that " + hosts + " names, those that the site declares are brought to the revision: " + listNames(names, maxNames) + ".", last}, nil
	}
	return []string{sentenceOf(names, brought), last}, nil
}

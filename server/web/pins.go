package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
)

func (p *Pages) registerPins() {
	p.act("/sites/{site}/rollback", p.rollback)
	p.act("/sites/{site}/unpin", p.unpin)
}

// chosenHosts is the selector that the address of an act names.
func (v *view) chosenHosts() (string, error) {
	hosts := strings.TrimSpace(v.r.URL.Query().Get("hosts"))
	if hosts == "" {
		return "", &api.Problem{Status: http.StatusUnprocessableEntity, Title: "No hosts are named", Detail: "Nothing says with which hosts it is to be done.", Hint: "Write a selector at the page of the site, such as web*,role=db,!web3."}
	}
	return hosts, nil
}

// rollback brings the hosts that the address names back, and says first which these are, and from where to where each goes.
func (p *Pages) rollback(v *view) (*act, error) {
	site := v.r.PathValue("site")
	hosts, err := v.chosenHosts()
	if err != nil {
		return nil, err
	}
	to, query := v.r.URL.Query().Get("to"), url.Values{"hosts": {hosts}}
	var number int64
	if to != "" {
		if number, err = parseNumber("to", to, 1<<53); err != nil {
			return nil, err
		}
		query.Set("to", to)
	}
	list, err := get[api.List[deploy.RollbackOf]](v, route("v1", "sites", site, "rollback"), query)
	if err != nil {
		return nil, err
	}
	a := &act{Title: "Roll " + count(len(list.Items), "host") + " of " + site + " back", Button: "Roll back", IsGrave: true, Back: route("sites", site), Fields: []field{emptyIsMeant(), reasonFlag()},
		Effects: append(rollbackEffects(site, list.Items), "They are pinned: deployments leave them out until they are unpinned.", "All of them go back, or none."),
		Command: []string{"tenet", "rollback", site, hosts}}
	if to != "" {
		a.Command = append(a.Command, "--to", to)
	}
	a.Do = func(form url.Values) (string, error) {
		body := map[string]any{"hosts": hosts, "reason": form.Get("reason")}
		addEmpty(body, form)
		if number > 0 {
			body["to"] = number
		}
		var pins api.List[deploy.Pin]
		err := v.send(http.MethodPost, route("v1", "sites", site, "rollback"), body, &pins)
		return count(len(pins.Items), "host") + " of " + site + " went back.", err
	}
	return a, nil
}

// emptyIsMeant is the field of a rollback to which hosts may lose everything.
func emptyIsMeant() field {
	return field{Name: "empty", Flag: "--empty", Label: "That hosts are left with nothing, or that rules delete all that they have made, is meant", Kind: "check"}
}

// addEmpty says what it has said.
func addEmpty(body map[string]any, form url.Values) {
	if form.Get("empty") != "" {
		body["empty"] = true
	}
}

// rollbackEffects groups hosts by from where to where they go.
func rollbackEffects(site string, list []deploy.RollbackOf) (effects []string) {
	type way struct{ from, to int64 }
	groups := map[way][]string{}
	for _, h := range list {
		groups[way{h.From, h.To}] = append(groups[way{h.From, h.To}], h.Name)
	}
	ways := slices.SortedFunc(maps.Keys(groups), func(a, b way) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, w := range ways {
		text := fmt.Sprintf("from revision %d of %s to %d", w.from, site, w.to)
		if w.from == w.to {
			text = fmt.Sprintf("at revision %d of %s, which they have already", w.to, site)
		}
		effects = append(effects, sentenceOf(groups[w], text))
	}
	return effects
}

// unpin lets those hosts of a selector that are pinned follow what is deployed, and says first which these are, and to what each is pinned.
func (p *Pages) unpin(v *view) (*act, error) {
	site := v.r.PathValue("site")
	hosts, err := v.chosenHosts()
	if err != nil {
		return nil, err
	}
	pins, err := get[api.List[deploy.Pin]](v, route("v1", "sites", site, "unpin"), url.Values{"hosts": {hosts}})
	if err != nil {
		return nil, err
	}
	return &act{Title: "Unpin " + count(len(pins.Items), "host") + " of " + site, Button: "Unpin", Back: route("sites", site), Fields: []field{reasonFlag()}, Command: []string{"tenet", "unpin", site, hosts},
		Effects: append(pinEffects(site, pins.Items), "What is unpinned follows what is deployed: it joins the deployment that has it."),
		Do: func(form url.Values) (string, error) {
			var done api.List[deploy.Pin]
			err := v.send(http.MethodPost, route("v1", "sites", site, "unpin"), map[string]any{"hosts": hosts, "reason": form.Get("reason")}, &done)
			return count(len(done.Items), "host") + " of " + site + " follow what is deployed again.", err
		}}, nil
}

// pinEffects groups hosts by the revision to which they are pinned.
func pinEffects(site string, pins []deploy.Pin) (effects []string) {
	groups := map[string][]string{}
	for _, pin := range pins {
		groups[pin.Revision] = append(groups[pin.Revision], pin.Name)
	}
	for _, revision := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) }) {
		effects = append(effects, sentenceOf(groups[revision], "are pinned to revision "+revision+" of "+site))
	}
	return effects
}

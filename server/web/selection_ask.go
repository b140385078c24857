package web

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/api"
)

// atOnce is how many hosts are asked at the same time.
const atOnce = 16

// registerSelectionAsks registers what hosts that were selected are asked themselves, and the deployment that is planned for them.
func (p *Pages) registerSelectionAsks() {
	p.act("/selected/ping", func(v *view) (*act, error) {
		return v.askSelected(act{Title: "Ping", Button: "Ask", Command: []string{"tenet", "ping", "-i", "SITE", "-l"}}, "It is seen whether they answer and can be used. Nothing is changed.", "ping")
	})
	p.act("/selected/hold", func(v *view) (*act, error) {
		return v.askSelected(act{Title: "Hold", Button: "Hold", IsGrave: true, Command: []string{"tenet", "hold", "REASON", "-i", "SITE", "-l"}, Fields: []field{{Name: "reason", Label: "Reason", Kind: "text", IsRequired: true, Hint: "Whoever wants to apply there is told."}}},
			"Nothing is applied there until they are released. What is being applied goes on, and plans still work.", "hold")
	})
	p.act("/selected/release", func(v *view) (*act, error) {
		return v.askSelected(act{Title: "Release", Button: "Release", Command: []string{"tenet", "unhold", "-i", "SITE", "-l"}, Fields: []field{reason()}}, "What is wanted of them is applied again.", "release")
	})
	p.act("/selected/plan", p.planSelected)
}

// askSelected asks each host that was selected.
func (v *view) askSelected(a act, effect, operation string) (*act, error) {
	names, err := v.selectedHosts()
	if err != nil {
		return nil, err
	}
	a.Title, a.Back = a.Title+" "+count(len(names), "host"), "/hosts"
	a.Effects = []string{listNames(names, 20) + ".", effect}
	a.Command = append(a.Command, strings.Join(names, ","))
	verb, _, _ := strings.Cut(a.Title, " ")
	a.Do = func(form url.Values) (string, error) {
		return v.together(names, verb, func(name string) error {
			var body any
			if operation != "ping" {
				body = map[string]any{"reason": form.Get("reason")}
			}
			return v.send(http.MethodPost, route("v1", "hosts", name, operation), body, nil)
		})
	}
	return &a, nil
}

// together does something with hosts at the same time, as each does it.
func (v *view) together(names []string, verb string, do func(name string) error) (string, error) {
	var wait fault.Group
	var mu sync.Mutex
	failed, free := map[string]error{}, make(chan struct{}, atOnce)
	for _, name := range names {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			if err := do(name); err != nil {
				mu.Lock()
				failed[name] = err
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return v.each(names, verb, func(name string) error { return failed[name] })
}

// planSelected makes a deployment for the hosts that were selected. They plan, and nothing begins before a person has seen what they would do.
func (p *Pages) planSelected(v *view) (*act, error) {
	names, err := v.selectedHosts()
	if err != nil {
		return nil, err
	}
	sites, err := get[api.List[api.Site]](v, "/v1/sites", url.Values{"limit": {"1000"}})
	if err != nil {
		return nil, err
	}
	site := field{Name: "site", Label: "Site", Kind: "choice"}
	for _, s := range sites.Items {
		if v.caller.MaySite("deploy", s.Name) {
			site.Options = append(site.Options, option{s.Name, s.Name + ", revision " + commas(s.Newest.Number)})
		}
	}
	if len(site.Options) == 0 {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "Nothing to plan", Detail: "There is no site that you may deploy.", Hint: "A site comes to the server by: tenet deploy SITE"}
	}
	a := &act{Title: "Plan for " + count(len(names), "host"), Button: "Plan", Back: "/deployments",
		Effects: []string{listNames(names, 20) + ".", "Each plans what it would do for the newest revision of the site. Nothing begins until somebody has looked at that and starts it."},
		Fields: []field{site, {Name: "consent", Label: "It begins when", Kind: "choice", Options: []option{{"start", "somebody who may deploy starts it"}, {"approve", "another person approves it"}}},
			{Name: "message", Label: "Message", Kind: "text", Hint: "Why, for who looks at it later."}}}
	a.Do = func(form url.Values) (string, error) {
		var d api.Deployment
		err := v.send(http.MethodPost, "/v1/deployments", map[string]any{"site": form.Get("site"), "hosts": strings.Join(names, ","), "consent": form.Get("consent"), "message": form.Get("message")}, &d)
		if err != nil {
			return "", err
		}
		a.Back = route("deployments", digits(d.ID))
		waits := "a start"
		if form.Get("consent") == "approve" {
			waits = "an approval"
		}
		return "Deployment " + digits(d.ID) + " waits for " + waits + ". Its hosts plan now.", nil
	}
	return a, nil
}

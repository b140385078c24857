package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
)

func (p *Pages) registerDeploymentActs() {
	p.act("/deployments/{id}/approve", func(v *view) (*act, error) { return v.consent("approve", "Approve") })
	p.act("/deployments/{id}/start", func(v *view) (*act, error) { return v.consent("start", "Start") })
	p.act("/deployments/{id}/pause", p.pauseDeployment)
	p.act("/deployments/{id}/continue", p.continueDeployment)
	p.act("/deployments/{id}/abort", p.abortDeployment)
}

// maxNames is how many hosts an act names.
const maxNames = 12

// sentenceOf is a sentence about hosts, with how many and who they are: "3 hosts begin: web1, web2, web3."
func sentenceOf(names []string, text string) string {
	if len(names) < 2 {
		text = singular(text)
	}
	if len(names) == 0 {
		return "No host " + text + "."
	}
	return count(len(names), "host") + " " + text + ": " + listNames(names, maxNames) + "."
}

// singular has a sentence be about one host: by its verb, which is its first word.
func singular(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "are":
		verb = "is"
	case "have":
		verb = "has"
	case "begin", "lose", "run":
		verb += "s"
	}
	return strings.TrimSpace(verb + " " + rest)
}

// in gives the names of those in some states.
func (d *shownDeployment) in(states ...string) []string {
	return d.names(func(h *api.DeployHost) bool { return slices.Contains(states, h.State) })
}

// loadForAct loads a deployment for what is done with it: with its hosts, unless these are so many that they are counted alone.
func (v *view) loadForAct() (*shownDeployment, error) {
	d, err := v.loadBrief()
	if err != nil || d.isVast() {
		return d, err
	}
	return v.loadDeployment()
}

// isVast tells that there are so many hosts that they are not loaded.
func (d *shownDeployment) isVast() bool { return d.Counts != nil && d.Counts.Hosts > maxWhole }

// says is what an act will do to how many hosts, as the API says it.
func (d *shownDeployment) says(name string) []string {
	for _, a := range d.Deployment.Acts {
		if a.Act == name {
			return []string{strings.ToUpper(a.Says[:1]) + a.Says[1:] + "."}
		}
	}
	return nil
}

// deploymentAct is an act with a deployment, without what it does.
func deploymentAct(d *shownDeployment, verb, name string, effects ...string) *act {
	id := strconv.FormatInt(d.ID, 10)
	if d.isVast() {
		effects = d.says(name)
	} else if d.Counts != nil && d.Counts.Hidden { // what the API says tells it itself
		effects = append(effects, "So it is with hosts of the deployment that you may not see.")
	}
	return &act{Title: fmt.Sprintf("%s deployment %d of %s", verb, d.ID, d.Site), Button: verb, Effects: effects, Fields: []field{reason()},
		Command: []string{"tenet", "deployments", name, id}, Back: route("deployments", id)}
}

// steer has the API do it, and says in a sentence what it came to.
func (v *view) steer(a *act, d *shownDeployment, name, notice string) *act {
	a.Do = func(form url.Values) (string, error) {
		return notice, v.send(http.MethodPost, route("v1", "deployments", strconv.FormatInt(d.ID, 10), name), map[string]any{"reason": form.Get("reason")}, nil)
	}
	return a
}

// consent has a deployment begin by the plan that was looked at, which the address names: another one is refused.
func (v *view) consent(name, verb string) (*act, error) {
	d, err := v.loadForAct()
	if err != nil {
		return nil, err
	}
	seen := v.r.URL.Query().Get("plan")
	if len(seen) != 64 {
		return nil, &api.Problem{Status: http.StatusUnprocessableEntity, Title: "No plan was looked at", Detail: "Nothing says which plan was looked at.", Hint: "Open this from the page of the deployment, below its plan."}
	}
	a := deploymentAct(d, verb, name, d.consentEffects()...)
	a.Command = append(a.Command, "--plan", seen)
	if d.Plan != nil && d.Plan.Digest != seen {
		a.Problem = planChanged(d.ID)
	}
	id := strconv.FormatInt(d.ID, 10)
	a.Do = func(form url.Values) (string, error) {
		err := v.send(http.MethodPost, route("v1", "deployments", id, name), map[string]any{"plan": seen, "reason": form.Get("reason")}, nil)
		if problem := problemOf(err); problem != nil && problem.Code == "plan_differs" {
			err = planChanged(d.ID)
		}
		return "Deployment " + id + " begins.", err
	}
	return a, nil
}

func planChanged(id int64) *api.Problem {
	return &api.Problem{Status: http.StatusConflict, Title: "The plan has changed", Code: "plan_differs", Detail: "The plan has changed since you looked at it. Nothing has begun.",
		Hint: fmt.Sprintf("Look at the page of deployment %d again, and decide on the plan that is there now.", id)}
}

// consentEffects says what begins.
func (d *shownDeployment) consentEffects() []string {
	list := []string{sentenceOf(d.names(func(*api.DeployHost) bool { return true }), fmt.Sprintf("are brought to revision %d of %s", d.Revision, d.Site))}
	if len(d.Batches) > 1 {
		first := d.names(func(h *api.DeployHost) bool { return h.Batch == 1 })
		list = append(list, fmt.Sprintf("They begin in %d batches. In the first, %s", len(d.Batches), sentenceOf(first, "begin")))
	}
	if out := d.in("out"); len(out) > 0 {
		list = append(list, sentenceOf(out, "are out now, to join on return"))
	}
	if d.Plan != nil {
		list = append(list, "It holds for the plan that was shown: a host that plans something else waits.")
	}
	return list
}

func (p *Pages) pauseDeployment(v *view) (*act, error) {
	d, err := v.loadForAct()
	if err != nil {
		return nil, err
	}
	a := deploymentAct(d, "Pause", "pause", sentenceOf(d.in("pending", "out"), "begin no more until it is continued"), sentenceOf(d.in("begun"), "have begun: that goes on"))
	return v.steer(a, d, "pause", fmt.Sprintf("Deployment %d is paused.", d.ID)), nil
}

func (p *Pages) continueDeployment(v *view) (*act, error) {
	d, err := v.loadForAct()
	if err != nil {
		return nil, err
	}
	effects := []string{sentenceOf(d.in("pending"), "begin batch by batch")}
	if out := d.in("out"); len(out) > 0 {
		effects = append(effects, sentenceOf(out, "are out: it goes on without, until they return"))
	}
	if unsteady := d.names(func(h *api.DeployHost) bool { return h.Why != nil && h.Why.Code == "unsteady" }); len(unsteady) > 0 {
		effects = append(effects, sentenceOf(unsteady, "may change once more, after what others give has changed it again and again"))
	}
	return v.steer(deploymentAct(d, "Continue", "continue", effects...), d, "continue", fmt.Sprintf("Deployment %d goes on.", d.ID)), nil
}

func (p *Pages) abortDeployment(v *view) (*act, error) {
	d, err := v.loadForAct()
	if err != nil {
		return nil, err
	}
	not := d.names(func(h *api.DeployHost) bool { return h.Turn == 0 })
	begun := d.names(func(h *api.DeployHost) bool { return h.Turn > 0 })
	a := deploymentAct(d, "Abort", "abort", sentenceOf(not, "have not begun: what is there stays"), sentenceOf(begun, "have begun: this revision stays there"), "It cannot be continued. To bring the rest to the revision, deploy it again.")
	a.IsGrave = true
	if d.Phase == string(deploy.Done) { // of which nothing is left but that hosts may come late
		a.Title, a.Button = fmt.Sprintf("Let no more hosts join deployment %d of %s", d.ID, d.Site), "Let no more join"
	}
	return v.steer(a, d, "abort", fmt.Sprintf("Deployment %d is aborted.", d.ID)), nil
}

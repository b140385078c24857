package web

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
)

// deploymentActs are those that a deployment's phase and a person's rights allow; and why they may not approve, where it waits for that.
// A consent is given where the plan is shown.
func (v *view) deploymentActs(d *shownDeployment, showsPlan bool) (list []actLink, mayNot string) {
	add := func(text, name, class string, pairs ...string) {
		list = append(list, actLink{text, link(route("deployments", strconv.FormatInt(d.ID, 10), name), pairs...), class})
	}
	for _, a := range d.Deployment.Acts {
		switch {
		case a.Act == "approve" && access.CheckApproval(v.caller, d.By) != nil:
			mayNot = "You have asked for this deployment, so another person has to approve it: one who has the grant \"approve\" for its hosts."
		case !a.May || v.o.Standby:
		case a.Act == "approve" || a.Act == "start":
			if showsPlan {
				add(strings.ToUpper(a.Act[:1])+a.Act[1:], a.Act, "main", "plan", d.Plan.Digest)
			}
		case a.Act == "pause":
			add("Pause", a.Act, "")
		case a.Act == "continue":
			add("Continue", a.Act, "main")
		case a.Act == "abort" && d.Phase != string(deploy.Done):
			add("Abort", a.Act, "grave")
		case a.Act == "abort" && a.Hosts > 0: // it is done, and some may still join
			add("Let no more join", a.Act, "grave")
		}
	}
	if f := (&frame{view: v}); !f.MaySite("deploy", d.Site) {
		return list, mayNot
	}
	if hosts := d.selectorOfBegun(); hosts != "" {
		list = append(list, actLink{"Roll back", link(route("sites", d.Site, "rollback"), "hosts", hosts), "grave"})
	}
	if pinned := d.names(func(h *api.DeployHost) bool { return h.Why != nil && h.Why.Code == "pinned" }); len(pinned) > 0 {
		list = append(list, actLink{"Unpin", link(route("sites", d.Site, "unpin"), "hosts", selectorOf(pinned, d.Hosts)), ""})
	}
	return list, mayNot
}

// names gives those hosts that fit.
func (d *shownDeployment) names(fits func(*api.DeployHost) bool) (list []string) {
	for _, h := range d.Members {
		if fits(h) {
			list = append(list, h.Name)
		}
	}
	return list
}

// selectorOfBegun names the hosts that have begun; empty: there is none, or they are too many to be named, and by the selector
// of the deployment hosts that have not begun would go back, too, behind what they have.
func (d *shownDeployment) selectorOfBegun() string {
	if s := namesOf(d.names(func(h *api.DeployHost) bool { return h.Turn > 0 })); s != "" {
		return s
	}
	if c := d.Counts; c != nil && c.Begun > 0 && c.NotBegun == 0 && !c.Hidden {
		return cmp.Or(d.Hosts, access.All)
	}
	return ""
}

// namesOf is a selector that names hosts; empty: one cannot name so many.
func namesOf(names []string) string {
	const mostTerms, mostBytes = 100, 1500 // of a selector, and of what stands in an address
	if s := strings.Join(names, ","); len(names) <= mostTerms && len(s) <= mostBytes {
		return s
	}
	return ""
}

// selectorOf names hosts, or all of another selector where these are too many to be named.
func selectorOf(names []string, otherwise string) string {
	if s := namesOf(names); s != "" {
		return s
	}
	if otherwise == "" {
		return access.All
	}
	return otherwise
}

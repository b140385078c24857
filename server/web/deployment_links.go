package web

import (
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
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
		case a.Act == "abort":
			add("Abort", a.Act, "grave")
		}
	}
	if f := (&frame{view: v}); !f.MaySite("deploy", d.Site) {
		return list, mayNot
	}
	if begun := d.names(func(h *api.DeployHost) bool { return h.Turn > 0 }); len(begun) > 0 {
		list = append(list, actLink{"Roll back", link(route("sites", d.Site, "rollback"), "hosts", selectorOf(begun, d.Hosts)), "grave"})
	}
	if len(d.Members) == 0 && d.Counts != nil && d.Counts.Begun > 0 { // they are not loaded
		list = append(list, actLink{"Roll back", link(route("sites", d.Site, "rollback"), "hosts", selectorOf(nil, d.Hosts)), "grave"})
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

// selectorOf names hosts, or all of another selector where these are too many to be named.
func selectorOf(names []string, otherwise string) string {
	const most = 1500 // it stands in an address
	if s := strings.Join(names, ","); s != "" && len(s) <= most {
		return s
	}
	if otherwise == "" {
		return access.All
	}
	return otherwise
}

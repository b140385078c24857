package follow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/states"
)

// componentsOf tells how the components of a deployment stand over all of its hosts: each as it does where that is gravest. Those of former are what the revision before had: what no host is to
// have any more is removed, where hosts remove at all. isKnown tells whether it is known of any host what it is to have.
func componentsOf(o *deploy.Outcome, former []string) (list []source.Component, isKnown bool) {
	var wanted, gone []string
	prunes := false
	for i := range o.Hosts {
		h := &o.Hosts[i]
		isKnown, prunes = isKnown || h.Components != nil || h.Absent, prunes || h.Prunes
		wanted = append(wanted, h.Components...)
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if !isKnown { // there is but one thing to tell
		wanted = []string{""}
	}
	for _, name := range former {
		if isKnown && prunes && !slices.Contains(wanted, name) {
			gone = append(gone, name)
		}
	}
	all := map[string][]hostComponent{}
	for i := range o.Hosts {
		h := &o.Hosts[i]
		for _, c := range componentsOn(o, h, wanted, gone) {
			all[c.Name] = append(all[c.Name], hostComponent{h.Name, h.Others, c})
		}
	}
	for _, name := range append(wanted, gone...) {
		list = append(list, gravest(name, all[name]))
	}
	if len(list) == 0 { // nothing is wanted of any host
		list = append(list, source.Component{Phase: source.Installed})
	}
	return list, isKnown
}

// hostComponent is how a component stands on a host, and on so many others.
type hostComponent struct {
	host   string
	others int
	source.Component
}

// gravest is the gravest of how a component stands on hosts, and names them.
func gravest(name string, all []hostComponent) source.Component {
	for _, phase := range source.Gravity() {
		same := slices.DeleteFunc(slices.Clone(all), func(on hostComponent) bool { return on.Phase != phase })
		if len(same) == 0 {
			continue
		}
		out, more := same[0].Component, ""
		likewise := len(same) - 1
		for _, on := range same {
			likewise += on.others
		}
		if likewise > 0 {
			more = fmt.Sprintf(" (likewise on %d more)", likewise)
		}
		for _, text := range []*string{&out.Reason, &out.Message} {
			if *text != "" {
				*text = diag.Shorten(diag.Safe(same[0].host+": "+*text)) + more
			}
		}
		return out
	}
	return source.Component{Name: name, Phase: source.Pending, Reason: "no host has it yet"}
}

// componentsOn is how those of wanted stand on a host that it is to have, and those of gone.
func componentsOn(o *deploy.Outcome, h *deploy.HostOutcome, wanted, gone []string) (list []source.Component) {
	for _, name := range wanted {
		if h.Components == nil && !h.Absent || slices.Contains(h.Components, name) { // of which nothing is known may have each
			list = append(list, componentOn(o, h, name))
		}
	}
	first := len(list)
	if h.Prunes {
		for _, name := range gone {
			c := componentOn(o, h, name)
			switch c.Phase {
			case source.Installed:
				c.Phase = source.Removed
			case source.Installing:
				c.Phase = source.Removing
			}
			list = append(list, c)
		}
	}
	isFailed := func(c source.Component) bool { return c.Phase == source.Failed }
	if h.State != rollout.Failed || slices.ContainsFunc(list, isFailed) {
		return list
	}
	if first == len(list) {
		first = 0
	}
	for i := range list[first:] { // no part says what has failed: what goes is in no report
		list[first+i] = failed(h, list[first+i].Name)
	}
	return list
}

func failed(h *deploy.HostOutcome, name string) source.Component {
	return source.Component{Name: name, Phase: source.Failed, Code: string(h.Why.Code), Message: cmp.Or(h.Why.Text, "it failed")}
}

// componentOn is how a component stands on a host that is to have it.
func componentOn(o *deploy.Outcome, h *deploy.HostOutcome, name string) source.Component {
	c := source.Component{Name: name}
	r := read(h.Report, name)
	switch {
	case h.State == rollout.Ready:
		c.Phase = source.Installed
	case r.failed != nil && (h.State == rollout.Failed || h.State == rollout.Begun):
		c.Phase, c.Source, c.Message = source.Failed, r.failed.Address, cmp.Or(r.failed.Reason, "it failed")
		if r.failed.Error != nil {
			c.Code, c.Message = r.failed.Error.Code, r.failed.Error.Message
		}
	case r.isSettled && (h.State == rollout.Failed || h.State == rollout.Begun):
		c.Phase = source.Installed
	case h.State == rollout.Begun:
		c.Phase = source.Installing
	case h.State == rollout.Failed && r.isElsewhere:
		c.Phase, c.Reason = source.Pending, "something else has failed first"
	case h.State == rollout.Failed:
		return failed(h, name)
	case o.Phase.IsOver():
		c.Phase, c.Code = source.Failed, string(o.Phase)
		c.Message = strings.TrimSuffix("the deployment is "+string(o.Phase)+": "+o.Why.Text, ": ")
	default:
		c.Phase, c.Reason = source.Pending, cmp.Or(h.Why.Text, o.Why.Text, "its turn comes")
	}
	return c
}

// reading is what a report says of a component.
type reading struct {
	failed      *states.PartReport // the first of its parts that has
	isSettled   bool               // it has parts, and each is done with
	isElsewhere bool               // a part of something else has failed
}

func read(r *states.Report, name string) (out reading) {
	if r == nil {
		return out
	}
	parts, open := 0, 0
	for i := range r.Parts {
		p := &r.Parts[i]
		isOf, isFailed := states.ComponentOf(p.Address) == name, p.State == states.PartError
		switch {
		case isOf && isFailed && out.failed == nil:
			out.failed = p
		case !isOf && isFailed:
			out.isElsewhere = true
		}
		if isOf {
			parts++
		}
		if isOf && (isFailed || isOpen(p)) {
			open++
		}
	}
	out.isSettled = parts > 0 && open == 0
	return out
}

// isOpen reports whether a part is still to be done. One that was skipped, or a handler that nobody has notified, is not.
func isOpen(p *states.PartReport) bool {
	switch p.State {
	case states.PartCreating, states.PartRemoving:
		return true
	case states.PartPending:
		return p.Reason == "interrupted" || strings.HasPrefix(p.Reason, "blocked")
	}
	return false
}

package compose

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
	"github.com/tenetcm/tenet/states"
)

// Progress tells from the events of a run where components stand.
type Progress struct {
	parts map[string]*part // by their addresses in the site
}

// part is a component of a deployment.
type part struct {
	deployment, component string
	isRemoval             bool
	hasBegun              bool
	failure               string
}

// NewProgress is about a site that was made of deployments.
func NewProgress(deployments []Deployment) *Progress {
	p := &Progress{map[string]*part{}}
	for _, d := range deployments {
		for _, name := range d.Remove {
			p.parts["component."+Project(d.ID, name)] = &part{deployment: d.ID, component: name, isRemoval: true}
		}
		if d.Document == nil {
			continue
		}
		for _, c := range d.Document.Components {
			p.parts["component."+Project(d.ID, c.Name)] = &part{deployment: d.ID, component: c.Name}
		}
	}
	return p
}

// Event gives what an event says of a component; false: nothing.
func (p *Progress) Event(ev states.Event) (margo.Progress, bool) {
	address, rest, _ := strings.Cut(strings.TrimPrefix(ev.Address, "component."), ".")
	c := p.parts["component."+address]
	if c == nil {
		return margo.Progress{}, false
	}
	news := margo.Progress{Deployment: c.deployment, Component: c.component}
	switch {
	case ev.Type == states.EventBegin && !c.hasBegun:
		c.hasBegun = true
		news.State = rc2.Installing
		if c.isRemoval {
			news.State = rc2.Removing
		}
		return news, true
	case ev.Type == states.EventPart && (ev.Outcome == states.Failed || ev.Outcome == states.Unknown):
		c.failure = messageOf(ev)
	case ev.Type == states.EventInvocation && rest == "":
		return c.end(news, ev.Outcome)
	}
	return margo.Progress{}, false
}

// end tells how a component ended: one that is blocked waits for another.
func (c *part) end(news margo.Progress, o states.Outcome) (margo.Progress, bool) {
	failure := c.failure
	c.hasBegun, c.failure = false, ""
	switch o {
	case states.Unchanged, states.Changed, states.Rescued, states.Skipped:
		news.State = rc2.Installed
		if c.isRemoval {
			news.State = rc2.Removed
		}
		return news, true
	case states.Failed, states.Unknown:
		code := margo.CodeFailed
		if c.isRemoval {
			code = margo.CodeRemoval
		}
		if failure == "" {
			failure = "it did not end well"
		}
		news.State, news.Error = rc2.Failed, &rc2.Error{Code: code, Source: c.component, Message: failure}
		return news, true
	}
	return news, false
}

// messageOf gives what is told of a failure: what the program said is part of it.
func messageOf(ev states.Event) string {
	text := ev.Reason
	if ev.Error != nil {
		text = ev.Error.Message
	}
	if ev.Output != "" {
		text += ": " + ev.Output
	}
	return diag.Shorten(diag.Safe(strings.TrimSpace(text)))
}

// Converged tells of all components that they are as the site says.
func (p *Progress) Converged() []margo.Progress {
	return p.all(func(c *part) margo.Progress {
		if c.isRemoval {
			return margo.Progress{State: rc2.Removed}
		}
		return margo.Progress{State: rc2.Installed}
	})
}

// Failed tells of all components that nothing could be done about them.
func (p *Progress) Failed(why string) []margo.Progress {
	if why == "" {
		why = "it could not be tried"
	}
	return p.all(func(c *part) margo.Progress {
		code := margo.CodeFailed
		if c.isRemoval {
			code = margo.CodeRemoval
		}
		return margo.Progress{State: rc2.Failed, Error: &rc2.Error{Code: code, Source: c.component, Message: why}}
	})
}

func (p *Progress) all(tell func(*part) margo.Progress) (out []margo.Progress) {
	for _, address := range slices.Sorted(maps.Keys(p.parts)) {
		c := p.parts[address]
		one := tell(c)
		one.Deployment, one.Component = c.deployment, c.component
		out = append(out, one)
	}
	return out
}

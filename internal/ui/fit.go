package ui

import (
	"slices"

	"github.com/tenetcm/tenet/states"
)

// fit makes an event fit for a terminal: it may be what another machine says. What is
// shown in several lines, as a diff is, is made fit where that is done.
func fit(ev states.Event) states.Event {
	for _, s := range []*string{
		&ev.Run, &ev.Mode, &ev.Site, &ev.Origin, &ev.Address, &ev.Invocation, &ev.Part, &ev.Key,
		(*string)(&ev.Ensure), (*string)(&ev.Outcome), (*string)(&ev.Action),
	} {
		*s = Line(*s)
	}
	ev.Reason = clean(ev.Reason)
	if ev.Error != nil {
		f := *ev.Error
		f.Code, f.Source = Line(f.Code), Line(f.Source)
		f.Message, f.Hint = clean(f.Message), clean(f.Hint)
		ev.Error = &f
	}
	if slices.ContainsFunc(ev.Changes, func(c states.Change) bool { return Line(c.Attribute) != c.Attribute }) {
		ev.Changes = slices.Clone(ev.Changes)
		for i := range ev.Changes {
			ev.Changes[i].Attribute = Line(ev.Changes[i].Attribute)
		}
	}
	return ev
}

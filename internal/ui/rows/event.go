package rows

import (
	"strings"

	"github.com/tenetcm/tenet/states"
)

// OfEvent prepares the row of a part of a run, as its event tells it: what would be done, of a plan, or
// what was done. Its anchor, and whether it is open, are left to the page.
func OfEvent(ev *states.Event) Row {
	b := &builder{View: &View{}}
	r, _ := b.row(ev)
	if ev.Outcome == states.Changed {
		r.Class, r.Mark = signOf(ev.Action)
	}
	if ev.Outcome == states.Unknown {
		r.Class, r.Mark = "maybe", "?"
	}
	r.Kinds = " " + r.Class + " "
	return r
}

// signOf is the class and the sign of an action; of one that is not known, those of a change.
func signOf(a states.Action) (class, sign string) {
	switch a {
	case states.Create:
		return "create", "+"
	case states.Remove:
		return "remove", "−"
	case states.Execute:
		return "execute", "▸"
	}
	return "update", "~"
}

// OfInvocation is how an invocation of a run is marked in a drawing, by the outcomes of its parts, the gravest of
// which is given last.
func OfInvocation(former Mark, ev *states.Event) Mark {
	r := OfEvent(ev)
	m := Mark{Class: r.Class, Label: r.Word, Sign: r.Mark, Acts: ev.Outcome != states.Unchanged && ev.Outcome != states.Skipped && ev.Outcome != states.Idle}
	if former.Label == "" || gravity(m.Label) > gravity(former.Label) {
		return m
	}
	return former
}

// gravity orders outcomes.
func gravity(outcome string) int {
	switch states.Outcome(outcome) {
	case states.Failed:
		return 5
	case states.Unknown:
		return 4
	case states.Blocked:
		return 3
	case states.Changed:
		return 2
	case states.Unchanged:
		return 1
	}
	return 0
}

// Lines gives a text by its lines, each fit to be shown.
func Lines(text string) []string {
	list := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range list {
		list[i] = Clean(line)
	}
	return list
}

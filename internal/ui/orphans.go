package ui

import (
	"slices"

	"github.com/tenetcm/tenet/states"
)

// showOrphans lists what the site has created and declares no longer.
func (t *text) showOrphans() {
	if len(t.orphans) == 0 || t.options.Quiet || t.listed {
		return
	}
	t.listed = true
	how := ""
	if slices.ContainsFunc(t.orphans, func(ev states.Event) bool { return ev.Reason == "" }) {
		how = t.dim(" (--prune removes it)")
	}
	t.print("No longer declared, and still here", how, ":\n")
	for i := range t.orphans {
		t.print("  ")
		t.orphan(&t.orphans[i])
	}
}

// orphan is the line of one resource that is no longer declared.
func (t *text) orphan(ev *states.Event) {
	from := "  was " + clean(ev.Address)
	if ev.Run != "" {
		from += ", created by run " + ev.Run
	}
	t.print(t.bold(Line(ev.Part+" "+ev.Key)), t.dim(from))
	if ev.Reason != "" {
		t.print(t.yellow("  stays: "), clean(ev.Reason))
	}
	t.print("\n")
}

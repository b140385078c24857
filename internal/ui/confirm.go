package ui

import "github.com/tenetcm/tenet/states"

// confirm shows that a block waits for its check, or how that has ended.
func (t *text) confirm(ev *states.Event) {
	switch {
	case ev.Error != nil:
		failed := *ev
		failed.Outcome = states.Failed
		t.failure(&failed)
	case ev.Outcome == states.Unknown:
		t.note("?", ev)
	case ev.Outcome == states.Changed && !t.options.Quiet:
		t.print(t.green("✓ "), ev.Address, "  ", clean(ev.Reason), "\n")
	case ev.Outcome == "" && ev.Reason != "":
		t.note("…", ev)
	}
}

// showRestored is a line about a path that is as it was again.
func (t *text) showRestored(ev *states.Event) {
	if !t.options.Quiet {
		t.print(t.yellow("↺ "), ev.Address, "  restored ", Line(ev.Key), "\n")
	}
}

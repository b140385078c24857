package ui

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// Row shows one row of a plan by itself, as Text does, also one of what stays
// as it is; "" for none.
func Row(ev *states.Event) string {
	if ev == nil {
		return ""
	}
	fitted := fit(*ev)
	ev = &fitted
	var out strings.Builder
	if ev.Type == states.EventStart || ev.Type == states.EventOwed {
		for _, d := range ev.Owed {
			fmt.Fprintf(&out, "▸ %s  owed since run %s: %s\n", ev.Address, Line(d.Run), Line(d.Cause()))
		}
		return out.String()
	}
	if ev.Type == states.EventOrphan {
		line := &text{}
		line.orphan(ev)
		return string(line.buf)
	}
	t := Text(&out, TextOptions{Verbose: true})
	t.Event(states.Event{Type: states.EventRun, Mode: "plan"})
	t.Event(*ev)
	return out.String()
}

// Rows gives two rows about the same as texts that differ where they do: as Text
// shows them, or if that shows no difference, as JSON.
func Rows(planned, now *states.Event) (string, string) {
	before, after := Row(planned), Row(now)
	if before != after {
		return before, after
	}
	return indentRow(planned), indentRow(now)
}

func indentRow(ev *states.Event) string {
	if ev == nil {
		return ""
	}
	text, err := json.MarshalIndent(ev, "", "  ")
	if err != nil {
		return err.Error() + "\n"
	}
	return string(text) + "\n"
}

// Stale shows a row that is no longer what a saved plan said: both in a word,
// and the diff of the two.
func Stale(address string, planned, now *states.Event, diff string, color bool) string {
	t := &text{style: style(color)}
	t.print(t.red("✗ "), t.bold(clean(address)), "  planned: ", Line(rowWord(planned)), t.dim("; now: "), Line(rowWord(now)), "\n")
	t.diff(diff)
	return string(t.buf)
}

// rowWord is a row of a plan in a word.
func rowWord(ev *states.Event) string {
	switch {
	case ev == nil:
		return "nothing"
	case ev.Type == states.EventStart || ev.Type == states.EventOwed:
		return "owed"
	case ev.Type == states.EventOrphan:
		return "no longer declared"
	case ev.Type != states.EventPart:
		return ev.Type
	case ev.Outcome != "":
		return string(ev.Outcome)
	case isMaybe(ev):
		return string(ev.Action) + " (maybe)"
	}
	return string(ev.Action)
}

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// notBegun reports whether a host does not know of an execution, since nothing of it was
// begun there.
func notBegun(a *reply, x *fleet.Record) bool {
	f := a.failure()
	then := recordHost(x, a.host.Name)
	return f != nil && f.Code == machine.CodeNotFound && then != nil && then.Run == ""
}

// printExecution prints what was done, and when.
func (s *client) printExecution(x *fleet.Record) error {
	ended := "no end on record: it goes on, or nobody here saw it"
	detached := slices.ContainsFunc(x.Hosts, func(h fleet.RecordHost) bool { return h.Status == fleet.Detached })
	switch {
	case detached && !x.Ended.IsZero():
		ended = "detached from its hosts " + when(x.Ended)
	case !x.Ended.IsZero():
		ended = "ended " + when(x.Ended)
	}
	site := x.Site
	if site == "" {
		site = x.Origin
	}
	text := fmt.Sprintf("execution %s: %s  (%s)\nstarted %s, %s", x.ID, ui.Line(x.Command), ui.Line(site), when(x.Started), ended)
	for _, line := range s.dueLines(x) {
		text += "\n" + line
	}
	return s.tell("%s", text)
}

// dueLines tell which hooks an execution has left due.
func (s *client) dueLines(x *fleet.Record) (lines []string) {
	for _, h := range x.DueHooks() {
		lines = append(lines, ui.Line(fmt.Sprintf("due: %s, around %s: the next apply of the site does it first, and so does tenet apply --resume %s",
			h.Name(), namesOf(h.Batch, s.globals.Verbose), x.ID)))
	}
	return lines
}

// printStatuses prints a line a host, or all about the only one; with --verbose of all.
func (s *client) printStatuses(list []*statusAnswer, x *fleet.Record, whole bool) error {
	if len(list) == 1 || s.globals.Verbose {
		return s.printWholeStatuses(list, x, whole)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "HOST\tSTATE\tRUN\tSTARTED\tPARTS\tLEFT\tSITE")
	for _, a := range list {
		now := a.value
		if now == nil {
			fmt.Fprintf(out, "%s\t%s\t-\t-\t-\t-\t-\n", a.host.Name, ui.Line(noStatus(&a.reply, x)))
			continue
		}
		state, run, started, parts, site := "nothing applied yet", "-", "-", "-", "-"
		if now.Status != nil {
			state, run, started, site = string(now.State), now.Run, when(now.Started), cmp.Or(now.Site, now.Origin, "-")
			did := strings.Join(sums(now.Counts), ", ")
			if parts = cmp.Or(did, "-"); now.Progress != nil {
				parts = strings.TrimSuffix(fmt.Sprintf("%d of %d: %s", now.Progress.Ended, now.Progress.Parts, did), ": ")
			}
		}
		if now.Hold != nil {
			state += ", on hold"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.host.Name, ui.Line(state), ui.Line(run), started, ui.Line(parts), pendingSummary(now), ui.Line(site))
	}
	return failure(unread(out.Flush()))
}

// noStatus is a word for a host that cannot be told of.
func noStatus(a *reply, x *fleet.Record) string {
	if f := a.failure(); f != nil {
		return f.Code
	}
	if then := recordHost(x, a.host.Name); then != nil && then.Status != "" {
		return "not begun (" + string(then.Status) + ")"
	}
	return "not begun"
}

// pendingSummary tells in short what runs have left to do.
func pendingSummary(now *machine.Status) string {
	var words []string
	for _, e := range []struct {
		n    int
		word string
	}{{len(now.Owed), "owed"}, {len(now.Unknown), "unknown"}, {len(now.Unconfirmed), "unconfirmed"}, {len(now.Damaged), "damaged"}} {
		if e.n > 0 {
			words = append(words, fmt.Sprint(e.n, " ", e.word))
		}
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

func (s *client) printWholeStatuses(list []*statusAnswer, x *fleet.Record, whole bool) error {
	var out strings.Builder
	for _, a := range list {
		if a.failure() != nil {
			continue
		}
		if out.Len() > 0 {
			fmt.Fprintln(&out)
		}
		fmt.Fprintf(&out, "%-11s %s\n", "host", a.host.Name)
		now := a.value
		switch {
		case now == nil:
			fmt.Fprintf(&out, "%-11s %s\n", "state", ui.Line(noStatus(&a.reply, x)))
		case now.Status == nil && now.Hold == nil && now.Applying == nil:
			fmt.Fprintf(&out, "%-11s %s\n", "run", "none yet")
		default:
			for _, f := range now.Failures {
				f.GoesOn = false // that is for the host itself
			}
			shownStatus{now}.write(&out, whole, s.globals.Verbose && len(list) == 1)
		}
	}
	return s.printText(out.String())
}

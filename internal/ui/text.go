package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/watch"
	"github.com/tenetcm/tenet/states"
)

// TextOptions say how a run is shown as text.
type TextOptions struct {
	Color   bool
	Verbose bool // what stays as it is too
	Quiet   bool // only failures and the sum
	// Run is what is carried out: which parts there are, which are handlers'.
	Run *states.StateRun
	// Line gives the source line of a place "file:line:column", or "".
	Line func(place string) string
}

// Text writes a run for people. A plan shows what would change, an apply what
// has, and both what failed and why.
func Text(w io.Writer, o TextOptions) Renderer {
	t := &text{printer: printer{w: w}, style: style(o.Color), options: o, handlers: map[string]bool{}, ran: map[string]bool{}}
	if o.Run != nil {
		for _, inv := range o.Run.Invocations {
			if inv.Handler {
				t.handlers[inv.Address] = true
			}
		}
	}
	return t
}

type text struct {
	printer
	style
	options  TextOptions
	handlers map[string]bool // by invocation
	plan     bool
	started  time.Time
	sum      sum
	ran      map[string]bool // handlers' invocations that count
	doubts   []*doubts       // rows that are maybe, as far as they are not shown yet
	orphans  []states.Event  // that stay
	listed   bool            // they are shown
}

// Event shows one event.
func (t *text) Event(ev states.Event) {
	ev = fit(ev)
	switch ev.Type {
	case states.EventRun:
		t.plan, t.started = ev.Mode == "plan", ev.Time
	case states.EventResume:
		t.started = ev.Time
		if !t.options.Quiet {
			t.print(t.dim("going on with run "+ev.Run+": "+clean(ev.Reason)), "\n")
		}
	case states.EventPart:
		t.part(&ev)
	case states.EventRetry:
		if !t.options.Quiet {
			t.print(t.yellow("↻ "), ev.Address, t.dim(fmt.Sprintf("  attempt %d failed, trying again: ", ev.Attempt)), clean(message(ev.Error)), "\n")
		}
	case states.EventSaid:
		if !t.options.Quiet {
			t.print(t.dim("… "), ev.Address, t.dim("  "+clean(ev.Reason)), "\n")
		}
	case states.EventStart:
		t.handlers[ev.Address] = true
	case states.EventUnknown:
		t.note("?", &ev)
	case states.EventDropped:
		t.note("·", &ev)
	case states.EventConfirm:
		t.confirm(&ev)
	case states.EventRestored:
		t.showRestored(&ev)
	case states.EventCleaned:
		t.showCleaned(&ev)
	case states.EventOrphan:
		if ev.Action == "" { // else its row tells
			t.orphans = append(t.orphans, ev)
		}
	case states.EventInvocation:
		if ev.Outcome == states.Rescued {
			t.print(t.yellow("↺ "), ev.Address, "  rescued\n")
		}
	case watch.EventBack:
		t.print(t.green("✓ "), t.bold(ev.Address), "  as declared again\n")
	case watch.EventGone:
		t.print(t.dim("· "), ev.Address, t.dim("  "+clean(ev.Reason)), "\n")
	case states.EventSummary:
		t.showDoubts()
		t.showOrphans()
		t.summary(&ev)
	}
	t.flush()
}

// Close shows what a summary has not, and tells the first error of writing.
func (t *text) Close() error {
	t.showDoubts()
	t.showOrphans()
	t.flush()
	return t.err
}

func message(f *states.Failure) string {
	if f == nil {
		return ""
	}
	return f.Message
}

// note is a line about what an earlier run has left.
func (t *text) note(mark string, ev *states.Event) {
	if !t.options.Quiet {
		t.print(t.yellow(mark+" "), ev.Address, t.dim("  "+clean(ev.Reason)), "\n")
	}
}

// showCleaned is a line about a trace of an earlier run that is gone, or that a plan
// says an apply would remove.
func (t *text) showCleaned(ev *states.Event) {
	switch {
	case ev.Error != nil:
		t.print(t.red("✗ "), Line(ev.Key), t.dim("  "+clean(ev.Reason)+": "), clean(ev.Error.Message), "\n")
	case !t.options.Quiet:
		t.print(t.red("- "), Line(ev.Key), t.dim("  "+clean(ev.Reason)), "\n")
	}
}

// part shows how a part ended, or what a plan foresees.
func (t *text) part(ev *states.Event) {
	t.count(ev)
	switch {
	case ev.Outcome == states.Failed || ev.Outcome == states.Unknown:
		t.failure(ev)
		return
	case ev.Outcome == states.Blocked:
		how := ""
		if isMaybe(ev) {
			how = ", as things are"
		}
		t.print(t.red("✗ "), ev.Address, t.dim("  blocked "+ev.Reason+how), "\n")
		return
	case t.options.Quiet:
		return
	}
	acts := ev.Outcome == states.Changed || ev.Outcome == "" && ev.Action != states.NoChange
	if t.noteHow(ev); hangs(ev) && (acts || ev.Output != "" || t.options.Verbose) {
		t.hold(ev)
		return
	}
	t.showPart(ev)
}

// showPart shows the row of a part that has not failed.
func (t *text) showPart(ev *states.Event) {
	acts := ev.Outcome == states.Changed || ev.Outcome == "" && ev.Action != states.NoChange
	switch {
	case acts:
		t.row(ev)
		t.changes(ev.Changes)
	case ev.Outcome == states.Skipped && !isMaybe(ev) && (t.options.Verbose || !t.plan):
		t.print(t.dim("· "+ev.Address+"  skipped, "+clean(ev.Reason)), "\n")
	case ev.Output != "" && !isMaybe(ev):
		t.print(t.dim("· "), ev.Address, "\n")
	case (t.options.Verbose || ev.Output != "") && isMaybe(ev):
		t.print(t.dim("· "), ev.Address, t.certainty(ev), "\n")
	case t.options.Verbose:
		word := string(ev.Outcome)
		if word == "" {
			word = string(ev.Action)
		}
		t.print(t.dim("· "+ev.Address+"  "+word), "\n")
	}
	if ev.Output != "" {
		t.print(indent(clean(ev.Output), "    "))
	}
}

// row is a part's first line: what, which, and how sure.
func (t *text) row(ev *states.Event) {
	mark, paint := t.mark(ev.Action)
	t.print(paint(mark+" "), t.bold(ev.Address))
	if key := Line(ev.Key); key != "" && !strings.Contains(ev.Address, ev.Key) {
		t.print("  ", key)
	}
	t.print(t.certainty(ev))
	if ev.Wave != "" {
		t.print(t.dim("  " + clean(ev.Wave)))
	}
	if ev.Duration >= time.Second && !t.plan {
		t.print(t.dim("  " + ev.Duration.Round(100*time.Millisecond).String()))
	}
	t.print("\n")
}

// certainty says how sure a row is, and why it is there.
func (t *text) certainty(ev *states.Event) string {
	switch {
	case hangs(ev):
		words, why := t.doubt(ev)
		if why != "" {
			why = t.dim(": " + clean(why))
		}
		return "  " + words + why
	case isMaybe(ev):
		return t.yellow("  maybe: ") + clean(ev.Reason)
	case ev.Reason != "":
		return t.dim("  " + clean(ev.Reason))
	}
	return ""
}

func (t *text) mark(a states.Action) (string, func(string) string) {
	switch a {
	case states.Create:
		return "+", t.green
	case states.Update:
		return "~", t.yellow
	case states.Remove:
		return "-", t.red
	}
	return "▸", t.cyan
}

// failure shows what failed: place, cause and cure.
func (t *text) failure(ev *states.Event) {
	word := "failed"
	if ev.Outcome == states.Unknown {
		word = "nobody knows how it ended"
	}
	t.print(t.red("✗ "), t.bold(ev.Address), t.red("  "+word))
	f := ev.Error
	if isMaybe(ev) {
		defer func() { t.print(t.yellow("    maybe: "), clean(ev.Reason), "\n") }()
	}
	if f == nil {
		t.print("\n")
		return
	}
	t.print(": ", strings.TrimSuffix(strings.ReplaceAll(clean(f.Message), "\n", "\n    "), "\n    "), "\n")
	if f.Source != "" {
		t.print(t.dim("    at "+f.Source), "\n")
		if line := t.options.Line; line != nil {
			if text := line(f.Source); text != "" {
				t.print(t.dim("    │ "), clean(text), "\n")
			}
		}
	}
	if f.Hint != "" {
		t.print(t.cyan("    hint: "), clean(f.Hint), "\n")
	}
}

package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/watch"
	"github.com/tenetcm/tenet/states"
)

// page shows one round of a watch, as far as it says something new: a renderer
// between the run and the one that shows it.
type page struct {
	*client
	round     int
	drift     *watch.Drift
	plan      bool
	inner     ui.Renderer
	listen    func(states.Event) // hears of all that an apply does; nil: nobody does
	first     *states.Event      // of a plan, until there is something to show
	hasOutput bool
	err       error
}

// open begins to show a run.
func (p *page) open(j *machine.Job) ui.Renderer {
	p.inner = p.plainRenderer(j)
	return p
}

// Event takes the next event, and shows it if it is new. An apply shows all that
// it does.
func (p *page) Event(ev states.Event) {
	if p.listen != nil && !p.plan {
		p.listen(ev)
	}
	news := p.drift.Add(&ev)
	told := ev.Type == states.EventPart || news != watch.NoNews
	switch {
	case p.plan && ev.Type == states.EventRun:
		p.first = &ev
	case p.plan && ev.Type == states.EventSummary: // end tells in its place
		if p.globals.JSON && p.hasOutput {
			p.show(ev)
		}
	case news == watch.Restored:
		ev.Type = watch.EventBack
		p.show(ev)
	case news == watch.Drifted, !p.plan && !told, p.globals.Verbose && told:
		p.show(ev)
	}
}

// show shows an event, below the heading of the round.
func (p *page) show(ev states.Event) {
	p.writeHeading()
	if p.first != nil {
		p.inner.Event(*p.first)
		p.first = nil
	}
	p.inner.Event(ev)
}

// writeHeading tells, once, when the round was. JSON does at its end.
func (p *page) writeHeading() {
	if !p.hasOutput && !p.globals.JSON && !p.globals.Quiet {
		p.keep(fmt.Fprintf(p.Out, "%s  round %d\n", time.Now().Format(time.DateTime), p.round))
	}
	p.hasOutput = true
}

func (p *page) keep(_ int, err error) {
	if p.err == nil {
		p.err = err
	}
}

// showGone tells what was not as declared before, and is not spoken of any more. What
// an apply was owed it has paid, and said so.
func (p *page) showGone(list []watch.Vanished) {
	reasons := map[string]string{
		states.EventPart: "no longer declared", states.EventOwed: "nothing owed any more",
		states.EventUnknown: "no longer unknown", states.EventOrphan: "no longer left over",
	}
	for _, g := range list {
		if reason := reasons[g.Type]; reason != "" && (p.plan || g.Type == states.EventPart) {
			p.show(states.Event{Type: watch.EventGone, Time: time.Now().UTC(), Address: g.Address, Key: g.Key, Reason: reason})
		}
	}
}

// Close ends what is shown of an apply. Of a plan, more is shown: see end.
func (p *page) Close() error {
	if p.plan {
		return nil
	}
	return p.close()
}

// close tells the first error of writing.
func (p *page) close() error {
	if p.err == nil && p.inner != nil {
		p.err = p.inner.Close()
	}
	return p.err
}

// end tells how the round ended. Of an apply the sum has been shown. An error of
// writing ends a watch that only looks; what applies goes on.
func (p *page) end(end roundEnd) error {
	shown := p.close() // with what comes last
	if p.globals.JSON {
		p.keep(0, p.printLine(end))
	} else if text := end.text(); text != "" {
		p.writeHeading()
		p.keep(fmt.Fprintln(p.Out, ui.Clean(text)))
	}
	if err := cmp.Or(shown, p.err); err != nil && p.plan {
		return failure(err)
	}
	return nil
}

// text says how a round ended, where nothing else does, and what comes next where that is not the next look.
func (e roundEnd) text() string {
	text, next := e.outcomeText(), ""
	switch e.Phase {
	case reconcile.Retrying:
		next = "tried again at " + when(e.Next)
		if e.Attempt > 0 {
			next += fmt.Sprintf(", after attempt %d of %d", e.Attempt, e.Attempts)
		}
	case reconcile.Blocked:
		next = "tried again at " + when(e.Next)
	case reconcile.Help:
		next = "help is needed: nothing is applied until the site says something else, or somebody calls tenet retry"
	}
	if text == "" || next == "" {
		return text + next
	}
	return text + "\n" + next
}

// outcomeText says how a round ended, where no sum does.
func (e roundEnd) outcomeText() string {
	reason, _, _ := strings.Cut(e.Reason, "\n")
	switch {
	case e.Outcome == roundSkipped:
		return "skipped: " + reason
	case e.Outcome == roundInvalid:
		return "nothing was done: " + reason
	case e.Outcome == roundFailed && reason != "":
		return "failed: " + reason
	case e.Outcome == roundUnchanged && e.Run == "", e.Drifted != nil && *e.Drifted == 0:
		return "all is as declared"
	case e.Drifted == nil:
		return ""
	case *e.Drifted == 1:
		return "1 is not as declared"
	}
	return fmt.Sprint(*e.Drifted, " are not as declared")
}

package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

type eventsCmd struct {
	Since  string `help:"Begin after the event with this number, as it stands before each; SEQUENCE:N, with the sequence that --json has, begins anew where that was lost. With --server what stands before each, such as 1-4711." placeholder:"N"`
	Server bool   `help:"Those that all hosts have told the server."`
	Follow bool   `short:"f" help:"Go on with what comes, until interrupted."`
}

// Run lists the events of all runs of this machine, or of all hosts of the server, in one sequence.
func (cmd *eventsCmd) Run(ctx runContext, s *client) error {
	if s.selectsHosts() {
		return usage("tenet logs -l HOSTS shows those of a run on hosts, and --server those of all hosts of a server", "events are those of this machine")
	}
	if cmd.Server {
		return cmd.runServer(ctx, s)
	}
	since, err := parseSince(cmd.Since)
	if err != nil {
		return err
	}
	r, err := s.runner(nil)
	if err != nil {
		return err
	}
	if since.Sequence == "" && since.Number > 0 {
		end, err := r.StreamEnd(ctx)
		if err != nil {
			return s.ran(err)
		}
		s.warnSince(since.Number, end)
	}
	defer s.endsQuietly()()
	for e, err := range r.Stream(ctx, since, cmd.Follow) {
		switch {
		case ctx.Err() != nil:
			return &status{code: exitInterrupted}
		case err != nil:
			return s.ran(err)
		}
		if err := s.showEntry(&e); err != nil {
			return failure(unread(err))
		}
	}
	return nil
}

// parseSince reads where somebody goes on.
func parseSince(text string) (since journal.Since, err error) {
	if text == "" {
		return since, nil
	}
	number := text
	if name, rest, ok := strings.Cut(text, ":"); ok {
		since.Sequence, number = name, rest
	}
	if since.Number, err = strconv.ParseInt(number, 10, 64); err != nil || since.Number < 0 {
		return since, usage("it is a number from 0, as tenet events has them before each event", "--since %s is no number of an event", text)
	}
	return since, nil
}

// warnSince warns of a number that no event has yet: as long as that is so, whoever goes on after it gets nothing.
func (c *console) warnSince(number int64, end journal.Since) {
	if number <= end.Number {
		return
	}
	last := "there are no events"
	if end.Sequence != "" {
		last = fmt.Sprintf("the last event is %s:%d", end.Sequence, end.Number)
	}
	fmt.Fprintln(c.Err, "tenet: "+ui.Line(fmt.Sprintf("--since %d is after all that there is, and nothing is shown up to it: %s", number, last)))
	fmt.Fprintln(c.Err, "hint: where a sequence was lost, numbers begin anew; --since SEQUENCE:N, as --json has them, notices that")
}

func (c *console) showEntry(e *journal.Entry) error {
	if c.globals.JSON {
		return c.printLine(e)
	}
	if g := e.Gap; g != nil {
		reason := map[journal.GapReason]string{
			journal.GapRemoved: "the records of their runs were removed", journal.GapDamaged: "they are damaged",
			journal.GapPower: "the machine has started anew, and what was not on its disk is lost",
		}[g.Reason]
		return c.print(fmt.Sprintf("%d  (no events from %d on: %s)", g.Last, g.First, cmp.Or(reason, string(g.Reason))))
	}
	return c.print(fmt.Sprintf("%d  %s  %s  %s", e.Number, e.Event.Time.Local().Format(time.DateTime), ui.Line(e.Run), eventText(e.Event)))
}

// eventText is an event in one line.
func eventText(ev *states.Event) string {
	words := []string{ev.Type}
	add := func(text string) {
		if text != "" {
			words = append(words, text)
		}
	}
	add(ev.Address)
	add(cmp.Or(string(ev.Outcome), string(ev.Action)))
	if ev.Type == states.EventRun {
		add(cmp.Or(ev.Site, ev.Origin))
	}
	if ev.Type == states.EventSummary {
		add(strings.Join(sums(ev.Counts), ", "))
	}
	text := strings.Join(words, " ")
	switch {
	case ev.Error != nil:
		text += ": " + ev.Error.Message
	case ev.Reason != "":
		text += ": " + ev.Reason
	}
	return ui.Line(text)
}

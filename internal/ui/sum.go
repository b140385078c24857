package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenetcm/tenet/states"
)

// sum counts a plan's rows, each once.
type sum struct{ create, update, remove, execute, maybe, handlers, failed, blocked, unchanged, asThingsAre, skipped, likelySkipped int }

// count adds a row of a plan. The parts of a handler's wave count as one.
func (t *text) count(ev *states.Event) {
	s := &t.sum
	switch {
	case ev.Outcome == states.Failed:
		s.failed++
	case ev.Outcome == states.Blocked:
		s.blocked++
	case ev.Outcome == states.Skipped && isMaybe(ev):
		s.likelySkipped++
	case ev.Outcome == states.Skipped:
		s.skipped++
	case ev.Outcome == "" && ev.Action == states.NoChange && isMaybe(ev):
		s.asThingsAre++
	case ev.Outcome == "" && ev.Action == states.NoChange:
		s.unchanged++
	case ev.Outcome != "":
	case isMaybe(ev):
		s.maybe++
	case t.handlers[ev.Invocation]:
		if !t.ran[ev.Invocation] {
			t.ran[ev.Invocation] = true
			s.handlers++
		}
	case ev.Action == states.Create:
		s.create++
	case ev.Action == states.Update:
		s.update++
	case ev.Action == states.Remove:
		s.remove++
	case ev.Action == states.Execute:
		s.execute++
	}
}

// isMaybe reports whether a plan is not certain of a row.
func isMaybe(ev *states.Event) bool { return ev.Certain != nil && !*ev.Certain }

// PlanRows are the rows of a plan, and the addresses of the run's invocations of handlers.
type PlanRows struct {
	Handlers []string
	Rows     []states.Event
}

// Sum gives the last line of plans, for each host one.
func Sum(plans ...PlanRows) string {
	total, orphans := &sum{}, 0
	for _, p := range plans {
		t := Text(io.Discard, TextOptions{}).(*text)
		for _, address := range p.Handlers {
			t.handlers[address] = true
		}
		for i := range p.Rows {
			switch row := &p.Rows[i]; row.Type {
			case states.EventPart:
				t.count(row)
			case states.EventStart:
				t.handlers[row.Address] = true
			case states.EventOrphan:
				if row.Action == "" {
					orphans++
				}
			}
		}
		total.add(&t.sum)
	}
	return join(total.entries(orphans))
}

// entries are the numbers of a plan, with those of what is no longer declared.
func (s *sum) entries(orphans int) []entry {
	handlers := entry{s.handlers, "handler"}
	if s.handlers > 1 {
		handlers.word = "handlers"
	}
	return []entry{
		{s.create, "create"}, {s.update, "update"}, {s.remove, "remove"}, {s.execute, "execute"},
		{s.maybe, "maybe"}, handlers, {s.failed, "failed"}, {s.blocked, "blocked"}, {s.likelySkipped, "skipped as things are"}, {s.skipped, "skipped"},
		{s.asThingsAre, "unchanged as things are"}, {s.unchanged, "unchanged"}, {orphans, "no longer declared"},
	}
}

// add adds the numbers of another plan.
func (s *sum) add(o *sum) {
	s.create, s.update, s.remove, s.execute = s.create+o.create, s.update+o.update, s.remove+o.remove, s.execute+o.execute
	s.maybe, s.handlers, s.failed, s.blocked = s.maybe+o.maybe, s.handlers+o.handlers, s.failed+o.failed, s.blocked+o.blocked
	s.unchanged, s.asThingsAre, s.skipped = s.unchanged+o.unchanged, s.asThingsAre+o.asThingsAre, s.skipped+o.skipped
	s.likelySkipped += o.likelySkipped
}

// idle reports whether nothing would be done, and nothing is wrong.
func (s *sum) idle() bool {
	return s.create+s.update+s.remove+s.execute+s.maybe+s.handlers+s.failed+s.blocked == 0
}

// applyCounts are the numbers of an apply.
func applyCounts(c *states.Counts, orphans int) string {
	line := join([]entry{
		{c.Changed, "changed"}, {c.Failed, "failed"}, {c.Unknown, "unknown"}, {c.Blocked, "blocked"},
		{c.Skipped, "skipped"}, {c.Idle, "idle"}, {c.Unchanged, "unchanged"},
		{orphans, "no longer declared"},
	})
	if c.Retried == 1 {
		line += ", 1 retry"
	} else if c.Retried > 1 {
		line += fmt.Sprintf(", %d retries", c.Retried)
	}
	return line
}

// entry is one number of a sum, with the word for it.
type entry struct {
	n    int
	word string
}

// join joins what is not zero.
func join(entries []entry) string {
	var words []string
	for _, e := range entries {
		if e.n > 0 {
			words = append(words, fmt.Sprint(e.n, " ", e.word))
		}
	}
	if words == nil {
		return "nothing to do"
	}
	return strings.Join(words, ", ")
}

// summary is the last line.
func (t *text) summary(ev *states.Event) {
	if t.plan {
		t.print(t.bold(join(t.sum.entries(len(t.orphans)))), "\n")
		return
	}
	c := ev.Counts
	if c == nil {
		return
	}
	line := applyCounts(c, len(t.orphans))
	paint := t.bold
	if c.Failed+c.Unknown+c.Blocked > 0 {
		paint = t.red
	}
	t.print(paint(line), t.dim(" in "+max(ev.Time.Sub(t.started).Round(time.Millisecond), time.Millisecond).String()), "\n")
}

package ui

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// fleetPlan writes plans for people: each row once, below the hosts that it is of, with the
// values in which they differ.
type fleetPlan struct {
	*fleetText
	rows, failing map[string][]states.Event // of each host, as far as they are shown
}

func newFleetPlan(o FleetOptions) *fleetPlan {
	return &fleetPlan{fleetText: newFleetText(o), rows: map[string][]states.Event{}, failing: map[string][]states.Event{}}
}

// event keeps what would be shown of an event.
func (f *fleetPlan) event(machine string, ev states.Event) {
	h := f.host(machine)
	ev.Seq, ev.Time, ev.Duration, ev.Host, ev.Run, ev.ID = 0, time.Time{}, 0, "", "", "" // by which hosts that do the same would differ
	if ev.Type == states.EventSummary {                                                  // that is the last line
		return
	}
	if failure(&ev) {
		if ev.Type == states.EventPart {
			h.text.count(&ev)
		}
		f.failing[machine] = append(f.failing[machine], ev)
		return
	}
	before := h.text.countHeld()
	h.text.Event(ev)
	if h.take() != "" || h.text.countHeld() > before {
		f.rows[machine] = append(f.rows[machine], ev)
	}
}

// ended forgets what a host said that talks nonsense: it is not to bury what others say.
func (f *fleetPlan) ended(machine string, o fleet.Outcome) {
	if _, nonsense := errors.AsType[*wire.ProtocolError](o.Err); nonsense {
		delete(f.rows, machine)
		delete(f.failing, machine)
	}
}

// close shows the plans, what failed, and the sum.
func (f *fleetPlan) close(outcomes []fleet.Outcome) error {
	f.keptNotes()
	if f.options.Summary {
		f.summaries(outcomes)
	} else {
		if !f.options.Quiet {
			f.sections(outcomes, f.rows, (*text).Event)
			f.idle(outcomes)
		}
		f.sections(outcomes, f.failing, func(t *text, ev states.Event) {
			if ev.Type == states.EventConfirm {
				t.confirm(&ev)
			} else {
				t.failure(&ev)
			}
		})
		f.troubles(outcomes)
	}
	f.last(outcomes)
	return f.end()
}

// summaries shows a line for each host.
func (f *fleetPlan) summaries(outcomes []fleet.Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		line := join((&sum{}).entries(0))
		if h := f.hosts[o.Machine]; h != nil {
			line = join(h.text.sum.entries(len(h.text.orphans)))
		}
		why := f.options.Trouble(o)
		switch {
		case why != nil && why.Code == CodeSite:
			line = f.red("✗ ") + fate(o.Status)
		case why != nil:
			first, _, _ := strings.Cut(strings.TrimSpace(why.Message), "\n")
			line = f.red("✗ ") + because(o.Status, Line(first))
		case o.Status != fleet.Done:
			line = f.red(line)
		}
		f.out.print(pad(o.Machine, f.width), "  ", line, "\n")
	}
}

// section is what some hosts have in common.
type section struct {
	hosts []int
	rows  []shownRow
}

// shownRow is a row as it is shown: by itself, or in a line with others about the same.
type shownRow struct {
	*grouping.Row
	hosts []int
	more  int // so many rows are shown by this line; 0: this row alone
}

// sections shows rows, below the hosts that they are of.
func (f *fleetPlan) sections(outcomes []fleet.Outcome, rows map[string][]states.Event, show func(*text, states.Event)) {
	plans := make([][]states.Event, len(outcomes))
	for i := range outcomes {
		plans[i] = rows[outcomes[i].Machine]
	}
	groups, err := grouping.Group(plans)
	if err != nil {
		f.out.err = errors.Join(f.out.err, err)
		return
	}
	sections := sectionsOf(f.shownRows(groups))
	places := make([]int, len(outcomes)) // in how many of them a host is
	for _, s := range sections {
		for _, host := range s.hosts {
			places[host]++
		}
	}
	for _, s := range sections {
		names := make([]string, len(s.hosts))
		for i, host := range s.hosts {
			names[i] = outcomes[host].Machine
		}
		whole := !slices.ContainsFunc(s.hosts, func(host int) bool { return places[host] > 1 })
		f.section(s, names, len(s.hosts) == len(outcomes), whole, show)
	}
}

// maxWays is how many rows about the same are shown, of which each says something else.
const maxWays = 3

// shownRows puts into one line what is about the same, and too much: the rows that the fewest
// hosts have.
func (f *fleetPlan) shownRows(rows []grouping.Row) []shownRow {
	var out []shownRow
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Subject == rows[0].Subject {
			n++
		}
		same := rows[:n]
		rows = rows[n:]
		if n > maxWays+1 && !f.options.Verbose {
			slices.SortStableFunc(same, func(a, b grouping.Row) int { return len(b.Hosts) - len(a.Hosts) })
			n = maxWays
		}
		for i := range same[:n] {
			out = append(out, shownRow{Row: &same[i], hosts: same[i].Hosts})
		}
		if rest := same[n:]; len(rest) > 0 {
			one := shownRow{Row: &rest[0], more: len(rest)}
			for i := range rest {
				one.hosts = append(one.hosts, rest[i].Hosts...)
			}
			slices.Sort(one.hosts)
			out = append(out, one)
		}
	}
	return out
}

// sectionsOf puts rows of the same hosts together.
func sectionsOf(rows []shownRow) []*section {
	byHosts := map[string]*section{}
	var out []*section
	for _, r := range rows {
		key := fmt.Sprint(r.hosts)
		s := byHosts[key]
		if s == nil {
			s = &section{hosts: r.hosts}
			byHosts[key] = s
			out = append(out, s)
		}
		s.rows = append(s.rows, r)
	}
	return out
}

// section shows what some hosts have in common; it is whole if they have nothing else.
func (f *fleetPlan) section(s *section, names []string, isAll, isWhole bool, show func(*text, states.Event)) {
	var out bytes.Buffer
	t := Text(&out, TextOptions{Color: f.options.Color, Verbose: f.options.Verbose, Line: f.options.Line}).(*text)
	t.plan = true
	rows := make([]*grouping.Row, len(s.rows))
	for i := range s.rows {
		rows[i] = s.rows[i].Row
	}
	values := &differences{NewGaps(rows), f.style, f.options.Verbose, func(host int) string { return names[slices.Index(s.hosts, host)] }}
	differs := false
	for _, r := range s.rows {
		if r.more > 0 {
			mark, paint := t.mark(r.Row.Row.Action)
			differs = true
			t.print(paint(mark+" "), t.bold(clean(r.Row.Row.Address)), t.dim(fmt.Sprintf("  in %d other ways (-v shows each)", r.more)), "\n")
			continue
		}
		show(t, values.Fill(r.Row))
		t.flush()
	}
	_ = t.Close() // it writes to memory
	text, gaps := values.expand(out.String())
	title := f.names(names)
	if isAll && len(names) > maxNames+1 && !f.options.Verbose {
		title = fmt.Sprintf("all %d hosts", len(names))
	}
	f.out.print(f.bold(title + ":"))
	isPlan := !slices.ContainsFunc(s.rows, func(r shownRow) bool { return failure(&r.Row.Row) })
	if len(names) > 1 && isWhole && isPlan && !differs && !gaps {
		f.out.print(" the same plan")
	}
	f.out.print("\n", indent(text, "  "))
	if sum, alike := f.sameSum(names); isWhole && alike && isPlan {
		f.out.print(f.dim("  "+sum), "\n")
	}
	f.out.print("\n")
}

// idle names the hosts where nothing would be done.
func (f *fleetPlan) idle(outcomes []fleet.Outcome) {
	var idle []string
	for i := range outcomes {
		name := outcomes[i].Machine
		h := f.hosts[name]
		if outcomes[i].Status == fleet.Done && len(f.rows[name]) == 0 && (h == nil || h.text.sum.idle()) {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		f.out.print(f.bold(f.names(idle)+":"), " nothing to do\n\n")
	}
}

// sameSum gives the sum of hosts' plans where it is the same for each.
func (f *fleetPlan) sameSum(hosts []string) (string, bool) {
	sum := func(name string) string {
		t := f.hosts[name].text
		return join(t.sum.entries(len(t.orphans)))
	}
	first := sum(hosts[0])
	return first, !slices.ContainsFunc(hosts, func(name string) bool { return sum(name) != first })
}

package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// fate is how it ended with a host, in words.
func fate(s fleet.Status) string {
	switch s {
	case fleet.Done: // and there is no run of which more could be said
		return nothingSelected
	case fleet.Unreachable:
		return "could not be reached"
	case fleet.Detached:
		return "detached: what runs there goes on"
	case fleet.Invalid:
		return "the site is wrong for it"
	case fleet.Skipped:
		return "not begun"
	case fleet.Incomplete:
		return "waiting"
	}
	return string(s)
}

// nothingSelected is all that there is to say of a host that has nothing of what is selected.
const nothingSelected = "nothing is selected"

// because is the same with the reason, which may say it by itself.
func because(s fleet.Status, why string) string {
	if strings.HasPrefix(why, fate(s)) {
		return why
	}
	return fate(s) + ": " + why
}

// short is a time as people want to read it.
func short(d time.Duration) string {
	unit := time.Millisecond
	switch {
	case d >= time.Minute:
		unit = time.Second
	case d >= time.Second:
		unit = 100 * time.Millisecond
	}
	return max(d.Round(unit), time.Millisecond).String()
}

// rowLimit is up to how many hosts each has a row, also one where nothing was to be done.
const rowLimit = 10

// sums is a table: what was done on which host.
func (f *fleetText) sums(outcomes []fleet.Outcome) {
	rows := [][]string{{"host", "changed", "unchanged", "failed", "time"}}
	idle := 0
	for i := range outcomes {
		o := &outcomes[i]
		r := o.Result
		switch {
		case r == nil || o.Status != fleet.Done && o.Status != fleet.Failed:
			rows = append(rows, []string{o.Machine, fate(o.Status)})
		case len(outcomes) > rowLimit && !f.options.Verbose && o.Status == fleet.Done && r.Counts.Changed == 0:
			idle++
		default:
			c := &r.Counts
			rows = append(rows, []string{o.Machine, fmt.Sprint(c.Changed), fmt.Sprint(c.Unchanged),
				fmt.Sprint(c.Failed + c.Unknown), short(o.Duration)})
		}
	}
	if len(rows) == 1 && idle == 0 {
		return
	}
	if f.stream || len(rows) > 1 {
		f.rows(rows)
	}
	switch {
	case idle == 1:
		f.out.print("1 host: nothing to do\n")
	case idle > 1:
		f.out.print(fmt.Sprint(idle), " hosts: nothing to do\n")
	}
}

// rows prints a table, names to the left and numbers to the right. A row of two is a
// name and words.
func (f *fleetText) rows(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if len(row) > 2 || i == 0 {
				widths[i] = max(widths[i], len(cell))
			}
		}
	}
	for n, row := range rows {
		line := pad(row[0], widths[0])
		for i, cell := range row[1:] {
			if len(row) == 2 {
				line += "  " + cell
				continue
			}
			line += "  " + strings.Repeat(" ", widths[i+1]-len(cell)) + cell
		}
		switch {
		case n == 0:
			line = f.dim(line)
		case len(row) == 2 && row[1] != nothingSelected || len(row) > 2 && row[3] != "0":
			line = f.red(line)
		}
		f.out.print(line, "\n")
	}
}

// last is the last line: the sum over all hosts.
func (f *fleetText) last(outcomes []fleet.Outcome) {
	var counts states.Counts
	var plan sum
	orphans, known, bad := 0, 0, false
	ways := map[fleet.Status]int{}
	for i := range outcomes {
		o := &outcomes[i]
		ways[o.Status]++
		bad = bad || o.Status != fleet.Done
		if r := o.Result; r != nil {
			known++
			addCounts(&counts, &r.Counts)
		}
		if h := f.hosts[o.Machine]; h != nil {
			plan.add(&h.text.sum)
			orphans += len(h.text.orphans)
		}
	}
	line := fmt.Sprintf("%d hosts", len(outcomes))
	if len(outcomes) == 1 {
		line = "1 host"
	}
	if !f.options.Saved {
		line += " in " + short(time.Since(f.started))
	}
	line += ": "
	var parts []string
	switch {
	case known > 0 && f.options.Plan:
		parts = append(parts, join(plan.entries(orphans)))
	case known > 0:
		parts = append(parts, applyCounts(&counts, orphans))
	}
	for _, s := range []fleet.Status{fleet.Failed, fleet.Unreachable, fleet.Invalid, fleet.Interrupted, fleet.Detached, fleet.Incomplete, fleet.Skipped} {
		if n := ways[s]; n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", statusCount(s, n)))
		}
	}
	line += strings.Join(parts, "; ")
	paint := f.bold
	if bad {
		paint = f.red
	}
	f.out.print(paint(line), "\n")
}

// statusCount says of a number of hosts how it ended.
func statusCount(s fleet.Status, n int) string {
	hosts := "hosts"
	if n == 1 {
		hosts = "host"
	}
	switch s {
	case fleet.Failed:
		return hosts + " failed"
	case fleet.Unreachable:
		return hosts + " could not be reached"
	case fleet.Invalid:
		return hosts + " for which the site is wrong"
	case fleet.Interrupted:
		return hosts + " interrupted"
	case fleet.Detached:
		return hosts + " detached, where it goes on"
	case fleet.Skipped:
		return hosts + " not begun"
	case fleet.Incomplete:
		return hosts + " waiting for other members"
	}
	return hosts + " " + string(s)
}

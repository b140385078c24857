package ui

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// fleetText writes for people what is carried out: what a host does under its name, what several
// hosts say alike once, at the end what failed, and the sum.
type fleetText struct {
	out, err printer
	style
	options FleetOptions
	// stream: what is done is shown as it comes, in lines that begin with the host's
	// name. Else it is shown at the end, and hosts that do the same stand together.
	stream  bool
	width   int // of the names in front of lines
	hosts   map[string]*hostText
	place   map[string]int // of each, in their order
	notes   hostTexts
	failed  hostTexts // parts
	started time.Time
}

// hostText is what is known of one host.
type hostText struct {
	text   *text // writes to shown
	buffer bytes.Buffer
	// pieces are what was shown, event by event, and kept for the end. Hosts do the same
	// whatever the order: several parts run at a time.
	pieces []string
}

const (
	maxName  = 30 // how wide a column of names is at most
	maxNames = 12 // how many hosts are named before the rest is counted
)

func newFleetText(o FleetOptions) *fleetText {
	f := &fleetText{
		out: printer{w: o.Out}, err: printer{w: o.Err}, style: style(o.Color), options: o,
		stream: !o.Plan && o.Screen == nil && !o.Quiet, hosts: map[string]*hostText{}, place: map[string]int{}, started: time.Now(),
	}
	for i, name := range o.Hosts {
		f.place[name] = i
		f.width = max(f.width, min(len(name), maxName))
	}
	return f
}

// host is one host, which events may come of without a word before.
func (f *fleetText) host(name string) *hostText {
	h := f.hosts[name]
	if h == nil {
		h = &hostText{}
		o := f.options
		h.text = Text(&h.buffer, TextOptions{Color: o.Color, Verbose: o.Verbose, Quiet: o.Quiet, Line: o.Line}).(*text)
		h.text.plan = o.Plan
		f.hosts[name] = h
	}
	return h
}

func (f *fleetText) prepared(machine string, run *states.StateRun) {
	t := f.host(machine).text
	for _, inv := range run.Invocations {
		if inv.Handler {
			t.handlers[inv.Address] = true
		}
	}
}

// event shows an event, or keeps what it shows for the end.
func (f *fleetText) event(machine string, ev states.Event) {
	h := f.host(machine)
	if !f.stream {
		ev.Duration, ev.Run = 0, "" // by which hosts that do the same would differ
	}
	switch {
	case ev.Type == states.EventSummary: // that is in the table
		return
	case failure(&ev):
		f.failure(h, machine, &ev)
	default:
		h.text.Event(ev)
	}
	h.keep(f)
	if f.stream {
		f.print(machine, h.take())
	}
}

// keep keeps what is shown for the end, unless it is shown at once.
func (h *hostText) keep(f *fleetText) {
	if text := h.buffer.String(); text != "" && !f.stream {
		h.pieces = append(h.pieces, text)
		h.buffer.Reset()
	}
}

// groupKey is the same for hosts that do the same.
func (h *hostText) groupKey() string {
	return strings.Join(slices.Sorted(slices.Values(h.pieces)), "")
}

// failure reports whether an event tells that something failed.
func failure(ev *states.Event) bool {
	return ev.Type == states.EventPart && (ev.Outcome == states.Failed || ev.Outcome == states.Unknown) ||
		ev.Type == states.EventConfirm && ev.Error != nil
}

// failure keeps what failed for the end, where all hosts stand together on which it
// did so.
func (f *fleetText) failure(h *hostText, machine string, ev *states.Event) {
	if ev.Type == states.EventPart {
		h.text.count(ev)
	}
	full := &text{style: f.style, options: h.text.options}
	if ev.Type == states.EventConfirm {
		full.confirm(ev)
	} else {
		full.failure(ev)
	}
	f.failed.add(string(full.buf), machine)
	if f.stream {
		first, _, _ := strings.Cut(message(ev.Error), "\n")
		h.text.print(f.red("✗ "), f.bold(ev.Address), f.red("  failed"))
		if first != "" {
			h.text.print(": ", clean(first))
		}
		h.text.print("\n")
		h.text.flush()
	}
}

// take gives what a host's text has grown by.
func (h *hostText) take() string {
	text := h.buffer.String()
	h.buffer.Reset()
	return text
}

// print writes lines with the host's name in front.
func (f *fleetText) print(machine, lines string) {
	for line := range strings.SplitAfterSeq(lines, "\n") {
		if line != "" {
			f.out.print(f.cyan(pad(machine, f.width)), "  ", line)
		}
	}
	f.out.flush()
}

// pad fills a name up to a width.
func pad(name string, width int) string {
	return name + strings.Repeat(" ", max(0, width-len(name)))
}

func (f *fleetText) note(machine, text string) {
	switch {
	case f.options.Quiet:
		return
	case f.options.Screen != nil && machine != "":
		f.notes.add(Line(text), machine)
		return
	case machine != "":
		text = machine + ": " + text
	}
	f.err.print(Line(text), "\n")
	f.err.flush()
}

func (f *fleetText) differs(machine, text string, _ []any) { f.failed.add(text, machine) }

// ended shows, where there is no table, what its events do not tell.
func (f *fleetText) ended(machine string, o fleet.Outcome) {
	h := f.host(machine)
	_ = h.text.Close() // it writes to memory
	if _, nonsense := errors.AsType[*wire.ProtocolError](o.Err); nonsense {
		h.pieces = nil // what it said is not to bury what others say
		f.failed.drop(machine)
	}
	if h.keep(f); !f.stream {
		return
	}
	line := h.take()
	if why := f.options.Trouble(&o); why != nil {
		line += f.red("✗ ") + because(o.Status, Line(why.Message)) + "\n"
	} else if r := o.Result; r != nil {
		line += f.dim(applyCounts(&r.Counts, len(h.text.orphans))+" in "+short(o.Duration)) + "\n"
	} else {
		line += fate(o.Status) + "\n"
	}
	f.print(machine, line)
}

// close shows what was kept, what failed, and the sum.
func (f *fleetText) close(outcomes []fleet.Outcome) error {
	f.keptNotes()
	switch {
	case f.stream:
		f.out.print("\n")
	case !f.options.Quiet:
		f.blocks(outcomes)
	}
	for _, g := range f.failed.groups {
		f.out.print(f.bold(f.names(g.hosts)+":"), "\n", indent(g.text, "  "), "\n")
	}
	f.troubles(outcomes)
	if !f.options.Quiet {
		f.sums(outcomes)
	}
	f.last(outcomes)
	return f.end()
}

// keptNotes shows the notes about hosts that are told at the end.
func (f *fleetText) keptNotes() {
	for _, g := range f.notes.groups {
		f.err.print(f.names(g.hosts), ": ", g.text, "\n")
	}
	f.err.flush()
}

// end writes what is left, and gives the first error of writing.
func (f *fleetText) end() error {
	f.out.flush()
	if f.out.err != nil {
		return f.out.err
	}
	return f.err.err
}

// blocks shows what hosts do under their names.
func (f *fleetText) blocks(outcomes []fleet.Outcome) {
	var blocks hostTexts
	for i := range outcomes {
		if h := f.hosts[outcomes[i].Machine]; h != nil && len(h.pieces) > 0 {
			blocks.add(h.groupKey(), outcomes[i].Machine)
		}
	}
	for _, g := range blocks.groups {
		f.out.print(f.bold(f.names(g.hosts)+":"), "\n", indent(strings.Join(f.hosts[g.hosts[0]].pieces, ""), "  "), "\n")
	}
}

// Likewise ends the hint for the first of several hosts that failed for the same reason,
// where those of the others differ: they name what is to be done for each.
const Likewise = "; likewise for the others"

// troubles shows why it is not done with hosts, once for all of which the same is said.
func (f *fleetText) troubles(outcomes []fleet.Outcome) {
	var why hostTexts
	hints := map[string]string{}
	for i := range outcomes {
		o := &outcomes[i]
		failure := f.options.Trouble(o)
		if failure == nil || failure.Code == CodeSite {
			continue
		}
		t := &text{style: f.style}
		text := strings.ReplaceAll(clean(strings.TrimSpace(failure.Message)), "\n", "\n    ")
		t.print(t.red("✗ "), because(o.Status, text), "\n")
		reason := string(t.buf)
		if hint, known := hints[reason]; !known {
			hints[reason] = failure.Hint
		} else if hint != failure.Hint && !strings.HasSuffix(hint, Likewise) {
			hints[reason] += Likewise
		}
		why.add(reason, o.Machine)
	}
	for _, g := range why.groups {
		t := &text{style: f.style}
		t.print(g.text)
		if hint := hints[g.text]; hint != "" {
			t.print(t.cyan("    hint: "), clean(hint), "\n")
		}
		f.out.print(f.bold(f.names(g.hosts)+":"), "\n", indent(string(t.buf), "  "), "\n")
	}
}

// names lists hosts in their order, not too many of them.
func (f *fleetText) names(hosts []string) string {
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b string) int { return f.place[a] - f.place[b] })
	if len(hosts) <= maxNames+1 || f.options.Verbose {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%d hosts: %s and %d more", len(hosts), strings.Join(hosts[:maxNames], ", "), len(hosts)-maxNames)
}

// hostTexts are texts, each with the hosts that it is about.
type hostTexts struct {
	groups []*group
	byText map[string]*group
}

type group struct {
	text    string
	hosts   []string
	members map[string]bool
}

// drop leaves a host out.
func (a *hostTexts) drop(host string) {
	for _, g := range a.groups {
		if g.members[host] {
			delete(g.members, host)
			g.hosts = slices.DeleteFunc(g.hosts, func(h string) bool { return h == host })
		}
	}
	a.groups = slices.DeleteFunc(a.groups, func(g *group) bool { return len(g.hosts) == 0 })
	maps.DeleteFunc(a.byText, func(_ string, g *group) bool { return len(g.hosts) == 0 })
}

// add takes a host's text.
func (a *hostTexts) add(text, host string) {
	g := a.byText[text]
	if g == nil {
		if a.byText == nil {
			a.byText = map[string]*group{}
		}
		g = &group{text: text, members: map[string]bool{}}
		a.byText[text] = g
		a.groups = append(a.groups, g)
	}
	if !g.members[host] {
		g.members[host] = true
		g.hosts = append(g.hosts, host)
	}
}

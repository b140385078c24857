package webpage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

// row is one part, on all hosts that say the same of it but for values.
type row struct {
	Anchor, Class, Mark string
	Address, Word       string
	Key                 text
	Maybe, IsOpen       bool
	Kinds               string // to filter by
	On                  hostsOf
	Reason              text
	Doubt               string    // how far a row is certain that hangs on another part
	Cause               rowLink   // that part
	Hanging             []rowLink // the rows that hang on this one
	Changes             []change
	Output              text
	Problem, Hint       text
	Values              []values
}

// text is shown with links in the place of values that differ.
type text []piece

// piece is a piece of a text, and the link behind it; empty: there is none.
type piece struct{ Text, Link string }

// change is one attribute.
type change struct {
	Name string
	Text text
	Diff []line
}

// line is one line of a diff.
type line struct {
	Class string
	Text  text
}

// values are what hosts have at a place where they differ.
type values struct{ Anchor, Title, List string }

// builder sorts rows into the sections of a page.
type builder struct {
	*view
	hosts  []Host
	gaps   *ui.Gaps
	values []values       // of the row that is being made
	sets   map[string]int // sets of hosts, by the hosts in them
	states map[string]int // groups, by their titles
	marks  map[string]mark
	links  [][]hostRow // rows of each host
	number int         // of values
}

// rowLink leads to a row; Anchor is empty where that is not on the page.
type rowLink struct{ Anchor, Text string }

// maxOpen is how many rows a page has that begins with all of them open.
const maxOpen = 100

// add sorts rows into their sections, and notes what each invocation would do.
func (b *builder) add(rows []grouping.Row) {
	b.links = make([][]hostRow, len(b.hosts))
	list := make([]*grouping.Row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	b.gaps = ui.NewGaps(list)
	for _, r := range list {
		switch ev := &r.Row; {
		case ev.Type == states.EventPart:
			b.part(r)
		case ev.Type == states.EventInvocation: // the sum of its parts
		case ev.Type == states.EventOrphan && ev.Action != "": // its row tells
		case ev.Type == states.EventOrphan:
			b.Orphans = append(b.Orphans, b.notes(r)...)
		case ev.Type == states.EventConfirm && ev.Run == "":
			b.Confirms = append(b.Confirms, b.notes(r)...)
		default: // what waits since an earlier run, too
			b.Past = append(b.Past, b.notes(r)...)
		}
	}
	for i := range b.Groups {
		for k := range b.Groups[i].Rows {
			b.Groups[i].Rows[k].IsOpen = b.Acts <= maxOpen
		}
	}
	b.link()
}

// notes are lines about what is no part: one for each host where these differ.
func (b *builder) notes(r *grouping.Row) (out []note) {
	on := map[string][]int{}
	var order []string
	for i, host := range r.Hosts {
		ev, err := r.Of(i)
		if err != nil {
			ev = r.Row
		}
		words := clean(strings.TrimSpace(ui.Row(&ev)))
		if words == "" {
			continue
		}
		if on[words] == nil {
			order = append(order, words)
		}
		on[words] = append(on[words], host)
	}
	for _, words := range order {
		n := note{Text: words}
		if len(on[words]) < len(b.hosts) {
			n.On = b.names(on[words], maxNames)
		}
		out = append(out, n)
	}
	return out
}

// part adds the row of a part.
func (b *builder) part(r *grouping.Row) {
	ev := b.gaps.Fill(r)
	b.values = nil
	out, acts := b.row(&ev)
	out.On, out.Values = b.on(r.Hosts), b.values
	out.Kinds = " " + out.Class + " "
	if out.Maybe {
		out.Kinds += "maybe "
	}
	m, known := b.marks[ev.Invocation]
	if acts {
		b.Acts++
		out.Anchor = "row" + strconv.Itoa(b.Acts)
		title := stateOf(&ev)
		i, found := b.states[title]
		if !found {
			i = len(b.Groups)
			b.states[title] = i
			b.Groups = append(b.Groups, group{Title: clean(title)})
		}
		b.Groups[i].Rows = append(b.Groups[i].Rows, out)
		for k, host := range r.Hosts {
			b.links[host] = append(b.links[host], hostRow{Anchor: out.Anchor, Class: out.Class, Mark: out.Mark, Address: out.Address, at: r.At[k]})
		}
	} else {
		b.Others = append(b.Others, out)
	}
	if !known || acts && !m.acts {
		b.marks[ev.Invocation] = mark{class: out.Class, acts: acts, anchor: out.Anchor, label: out.Word}
	}
}

// topLevel is the title of the parts that stand in no state.
const topLevel = "Parts at top level"

// stateOf is the state that a row is of.
func stateOf(ev *states.Event) string {
	if ev.Invocation == "" || ev.Invocation == ev.Address {
		return topLevel
	}
	return states.WithoutWave(ev.Invocation)
}

func (b *builder) row(ev *states.Event) (r row, acts bool) {
	r = row{Address: clean(ev.Address), Word: clean(string(ev.Action)), Reason: b.text(ev.Reason), Output: b.text(ev.Output)}
	if ev.Key != "" && !strings.Contains(ev.Address, ev.Key) {
		r.Key = b.text(ev.Key)
	}
	r.Class, r.Mark = "none", "·"
	switch ev.Action {
	case states.Create:
		r.Class, r.Mark = "create", "+"
	case states.Update:
		r.Class, r.Mark = "update", "~"
	case states.Remove:
		r.Class, r.Mark = "remove", "−"
	case states.Execute:
		r.Class, r.Mark = "execute", "▸"
	}
	acts = r.Class != "none"
	if ev.Outcome != "" {
		r.Word = clean(string(ev.Outcome))
		if acts = ev.Outcome == states.Failed || ev.Outcome == states.Blocked; acts {
			r.Class, r.Mark = "failed", "✗"
		} else {
			r.Class, r.Mark = "none", "·"
		}
	}
	r.Maybe = ev.Certain != nil && !*ev.Certain
	if r.Maybe && ev.Cause != "" && ev.Cause != ev.Address {
		r.Doubt = ui.Open
		if ev.Assured {
			r.Doubt = ui.Assured + "; " + ui.AssuredNote
		}
		r.Cause.Text = clean(ev.Cause)
	}
	if ev.Error != nil {
		r.Problem, r.Hint = b.text(ev.Error.Message), b.text(ev.Error.Hint)
	}
	for _, c := range ev.Changes {
		r.Changes = append(r.Changes, b.change(c))
	}
	return r, acts
}

func (b *builder) change(c states.Change) change {
	out := change{Name: clean(c.Attribute)}
	switch from, to := ui.Value(c.From), ui.Value(c.To); {
	case c.Diff != "":
		out.Diff = b.diffLines(c.Diff)
	case c.From == nil:
		if c.WhenMade {
			to += " " + ui.WhenMade
		}
		out.Text = b.text("= " + to)
	case c.To == nil:
		out.Text = b.text("was " + from)
	case from == to: // both are hidden
		out.Text = b.text(to)
	default:
		out.Text = b.text(from + " → " + to)
	}
	return out
}

func (b *builder) diffLines(diff string) []line {
	var lines []line
	for text := range strings.SplitAfterSeq(diff, "\n") {
		if text == "" {
			continue
		}
		class := ""
		switch text[0] {
		case '+':
			class = "add"
		case '-':
			class = "del"
		case '@', '\\':
			class = "at"
		}
		lines = append(lines, line{class, b.text(strings.TrimSuffix(text, "\n") + "\n")})
	}
	return lines
}

// text makes a text of one with gaps, whose values are listed with the row.
func (b *builder) text(s string) text {
	if s == "" {
		return nil
	}
	pieces, gaps := b.gaps.Cut(s)
	out := make(text, len(pieces))
	for i, words := range pieces {
		out[i].Text = clean(words)
		if i < len(gaps) {
			out[i].Link = b.list(gaps[i])
		}
	}
	return out
}

// list adds the values of a gap to the row, and gives where they are.
func (b *builder) list(g *ui.Gap) string {
	b.number++
	on := map[string][]int{}
	var order []string
	for i, host := range g.Row.Hosts {
		if value := g.Values[i]; on[value] == nil {
			order = append(order, value)
		}
		on[g.Values[i]] = append(on[g.Values[i]], host)
	}
	var list strings.Builder
	for _, value := range order {
		list.WriteString(b.names(on[value], len(b.hosts)) + ": " + clean(value) + "\n")
	}
	v := values{Anchor: "values" + strconv.Itoa(b.number), List: list.String(),
		Title: fmt.Sprintf("%d values on %d hosts", len(order), len(g.Row.Hosts))}
	b.values = append(b.values, v)
	return v.Anchor
}

// names lists hosts, not more of them than wanted.
func (b *builder) names(hosts []int, most int) string {
	var names []string
	for _, host := range hosts[:min(len(hosts), most)] {
		names = append(names, clean(b.hosts[host].Name))
	}
	out := strings.Join(names, ", ")
	if more := len(hosts) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// clean makes a text fit to be shown: it holds no control characters, and none
// that XML does not know.
func clean(s string) string {
	return strings.NewReplacer("\ufffe", "\ufffd", "\uffff", "\ufffd").Replace(ui.Clean(s))
}

// ranges writes numbers as "0-3,7".
func ranges(numbers []int) string {
	var out strings.Builder
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[0]+n {
			n++
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Itoa(numbers[0]))
		if n > 1 {
			out.WriteString("-" + strconv.Itoa(numbers[n-1]))
		}
		numbers = slices.Clip(numbers[n:])
	}
	return out.String()
}

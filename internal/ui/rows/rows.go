package rows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

// Row is one part, on all hosts that say the same of it but for values.
type Row struct {
	Anchor, Class, Mark string
	Address, Word       string
	Key                 Text
	Maybe, IsOpen       bool
	Kinds               string // to filter by
	On                  On
	Reason              Text
	Doubt               string // how far a row is certain that hangs on another part
	Cause               Link   // that part
	Hanging             []Link // the rows that hang on this one
	Changes             []Change
	Output              Text
	Problem, Hint       Text
	Values              []Values
}

// Text is shown with links in the place of values that differ.
type Text []Piece

// Piece is a piece of a text, and the link behind it; empty: there is none.
type Piece struct{ Text, Link string }

// Change is one attribute.
type Change struct {
	Name string
	Text Text
	Diff []Line
}

// Line is one line of a diff.
type Line struct {
	Class string // add, del, at or none
	Text  Text
}

// Values are what hosts have at a place where they differ.
type Values struct{ Anchor, Title, List string }

// Link leads to a row; Anchor is empty where that is not on the page.
type Link struct{ Anchor, Text string }

// maxOpen is how many rows a page has that begins with all of them open.
const maxOpen = 100

// notes are lines about what is no part: one for each host where these differ.
func (b *builder) notes(r *grouping.Row) (out []Note) {
	on := map[string][]int{}
	var order []string
	for i, host := range r.Hosts {
		ev, err := r.Of(i)
		if err != nil {
			ev = r.Row
		}
		words := Clean(strings.TrimSpace(ui.Row(&ev)))
		if words == "" {
			continue
		}
		if on[words] == nil {
			order = append(order, words)
		}
		on[words] = append(on[words], host)
	}
	for _, words := range order {
		n := Note{Text: words}
		if len(on[words]) < len(b.names) {
			n.On = b.nameAll(on[words], maxNames)
		}
		out = append(out, n)
	}
	return out
}

// row makes the row of a part, and tells whether something would be done.
func (b *builder) row(ev *states.Event) (r Row, acts bool) {
	r = Row{Address: Clean(ev.Address), Word: Clean(string(ev.Action)), Reason: b.text(ev.Reason), Output: b.text(ev.Output)}
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
		r.Word = Clean(string(ev.Outcome))
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
		r.Cause.Text = Clean(ev.Cause)
	}
	if ev.Error != nil {
		r.Problem, r.Hint = b.text(ev.Error.Message), b.text(ev.Error.Hint)
	}
	for _, c := range ev.Changes {
		r.Changes = append(r.Changes, b.change(c))
	}
	return r, acts
}

func (b *builder) change(c states.Change) Change {
	out := Change{Name: Clean(c.Attribute)}
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

// DiffLines takes a diff apart, for a page that shows it by itself.
func DiffLines(diff string) []Line { return (&builder{View: &View{}}).diffLines(diff) }

func (b *builder) diffLines(diff string) []Line {
	var lines []Line
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
		lines = append(lines, Line{class, b.text(strings.TrimSuffix(text, "\n") + "\n")})
	}
	return lines
}

// text makes a text of one with gaps, whose values are listed with the row.
func (b *builder) text(s string) Text {
	if s == "" {
		return nil
	}
	if b.gaps == nil { // whatever is in the text is the host's own
		return Text{{Text: Clean(s)}}
	}
	pieces, gaps := b.gaps.Cut(s)
	out := make(Text, len(pieces))
	for i, words := range pieces {
		out[i].Text = Clean(words)
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
	for _, value := range order[:min(len(order), maxValues)] {
		list.WriteString(b.nameAll(on[value], maxOfSet) + ": " + Clean(value) + "\n")
	}
	if more := len(order) - maxValues; more > 0 {
		list.WriteString(fmt.Sprintf("and %d values more\n", more))
	}
	v := Values{Anchor: "values" + strconv.Itoa(b.number), List: list.String(),
		Title: fmt.Sprintf("%d values on %d hosts", len(order), len(g.Row.Hosts))}
	b.values = append(b.values, v)
	return v.Anchor
}

// nameAll lists hosts, not more of them than wanted.
func (b *builder) nameAll(hosts []int, most int) string {
	var names []string
	for _, host := range hosts[:min(len(hosts), most)] {
		names = append(names, Clean(b.names[host]))
	}
	out := strings.Join(names, ", ")
	if more := len(hosts) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// Clean makes a text fit to be shown: it holds no control characters, and none
// that XML does not know.
func Clean(s string) string {
	s = ui.Clean(s)
	if !strings.ContainsAny(s, "\ufffe\uffff") {
		return s
	}
	return strings.NewReplacer("\ufffe", "\ufffd", "\uffff", "\ufffd").Replace(s)
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

// Package rows prepares the rows of plans and runs for pages, those of a server and those that are
// one file, and has the templates that show them: a row looks the same wherever it is seen.
package rows

import (
	_ "embed" // the templates
	"strconv"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

// Templates are the templates of rows: row-plan shows a *View by states, row-hosts by hosts, row-sets
// the lists of hosts to which both lead, row-part one Row, and row-notes Notes. They are well-formed XML.
//
//go:embed rows.html
var Templates string

// View is the plan of some hosts, as pages show it. All that is in it is fit to be shown.
type View struct {
	Past     []Note // what earlier runs have left
	Confirms []Note // blocks that are to be confirmed
	Orphans  []Note // what is no longer declared
	Groups   []Group
	Others   []Row  // what stays, or is skipped
	Hosts    []Host // by their index; none where the plan is of one alone, or the page does not have them
	HostSets []HostSet
	Acts     int // rows of Groups
	// Marks are what the invocations would do, by their addresses.
	Marks map[string]Mark
}

// Note is a line about what is no part.
type Note struct{ Text, On string }

// Group is what would be done by one state.
type Group struct {
	Title string
	Rows  []Row
}

// Mark is how an invocation is shown: by what its parts would do.
type Mark struct {
	Class  string
	Acts   bool
	Anchor string // of its first row
	Label  string
	Sign   string
}

// Of prepares the grouped plans of hosts, which have these names, for a page that has their rows, and names some hosts of each set.
func Of(names []string, list []grouping.Row) *View {
	b := newBuilder(names)
	b.most = maxOfSet
	b.add(list)
	return b.View
}

// WithHosts prepares them for a page that has each host with its rows, too, by which it is searched: it names all.
func WithHosts(names []string, list []grouping.Row) *View {
	b := newBuilder(names)
	b.most, b.links = len(names), make([][]HostRow, len(names))
	b.add(list)
	if len(names) > 1 {
		b.addHosts()
	}
	return b.View
}

func newBuilder(names []string) *builder {
	return &builder{View: &View{Marks: map[string]Mark{}}, names: names, sets: map[string]int{}, states: map[string]int{}}
}

// builder sorts rows into the sections of a page.
type builder struct {
	*View
	names  []string       // of hosts
	gaps   *ui.Gaps       // nil: the row that is being made has none
	filled *ui.Gaps       // of all rows
	values []Values       // of the row that is being made
	sets   map[string]int // sets of hosts, by the hosts in them
	states map[string]int // groups, by their titles
	links  [][]HostRow    // rows of each host; nil: the page does not have them
	most   int            // hosts that are named of a set
	number int            // of values
}

// add sorts rows into their sections, and notes what each invocation would do.
func (b *builder) add(rows []grouping.Row) {
	list := make([]*grouping.Row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	b.filled = ui.NewGaps(list)
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

// part adds the row of a part.
func (b *builder) part(r *grouping.Row) {
	ev := b.filled.Fill(r)
	if b.values, b.gaps = nil, nil; len(r.Fields) > 0 {
		b.gaps = b.filled
	}
	out, acts := b.row(&ev)
	out.On, out.Values = b.on(r.Hosts), b.values
	out.Kinds = " " + out.Class + " "
	if out.Maybe {
		out.Kinds += "maybe "
	}
	m, known := b.Marks[ev.Invocation]
	if acts {
		b.Acts++
		out.Anchor = "row" + strconv.Itoa(b.Acts)
		b.group(&ev, out)
		for k, host := range r.Hosts {
			if b.links == nil {
				break
			}
			b.links[host] = append(b.links[host], HostRow{Anchor: out.Anchor, Class: out.Class, Mark: out.Mark, Address: out.Address, at: r.At[k]})
		}
	} else {
		b.Others = append(b.Others, out)
	}
	if !known || acts && !m.Acts {
		b.Marks[ev.Invocation] = Mark{Class: out.Class, Acts: acts, Anchor: out.Anchor, Label: out.Word, Sign: out.Mark}
	}
}

// group adds a row to those of its state.
func (b *builder) group(ev *states.Event, out Row) {
	title := stateOf(ev)
	i, found := b.states[title]
	if !found {
		i = len(b.Groups)
		b.states[title] = i
		b.Groups = append(b.Groups, Group{Title: Clean(title)})
	}
	b.Groups[i].Rows = append(b.Groups[i].Rows, out)
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

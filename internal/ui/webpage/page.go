// Package webpage shows a plan as one page of HTML, which needs nothing else: no
// script, no network, no font. It can be read on paper and in the dark, and is
// well-formed XML too.
package webpage

import (
	_ "embed" // the template
	"encoding/json"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/states"
)

//go:embed page.html
var source string

// Plan is what the page is about.
type Plan struct {
	Site, Host string // for people
	Program    string // the version that made it
	Created    time.Time
	Run        *states.StateRun
	Rows       []states.Event
}

// view is the page as the template wants it.
type view struct {
	Title, Sum string
	About      []pair
	Graph      drawing
	Past       []string // what earlier runs have left
	Confirms   []string // blocks that are to be confirmed
	Orphans    []string // what is no longer declared
	Acts       []row
	Others     []row // what stays, or is skipped
}

type pair struct{ Name, Value string }

// row is one part.
type row struct {
	Anchor, Class, Mark string
	Address, Key, Word  string
	Maybe               bool
	Reason              string
	Changes             []change
	Output              string
	Problem, Hint       string
}

// change is one attribute.
type change struct {
	Name, Text string
	Diff       []line
}

// line is one line of a diff.
type line struct{ Class, Text string }

// Write writes the page of a plan. All that comes from hosts and sites is text
// in it, whatever it holds.
func Write(w io.Writer, p Plan) error {
	parsed, err := template.New("page").Parse(source)
	if err != nil {
		return err
	}
	v := view{
		Title: clean("Plan of " + p.Site + " for " + p.Host), Sum: ui.Sum(p.Run, p.Rows),
		About: []pair{
			{"Site", clean(p.Site)}, {"Host", clean(p.Host)}, {"Made", p.Created.UTC().Format("2006-01-02 15:04:05 UTC")},
			{"By", clean("tenet " + p.Program)}, {"Revision", clean(p.Run.Revision)},
		},
	}
	marks := v.rows(p.Rows)
	v.Graph = draw(p.Run, marks)
	return parsed.Execute(w, v)
}

// rows sorts the rows into sections, and tells what each invocation would do.
func (v *view) rows(events []states.Event) map[string]mark {
	marks := map[string]mark{}
	for i := range events {
		ev := &events[i]
		switch ev.Type {
		case states.EventPart:
		case states.EventOrphan:
			if ev.Action == "" { // else its row tells
				v.Orphans = append(v.Orphans, note(ev))
			}
			continue
		case states.EventInvocation:
			continue // the sum of its parts
		case states.EventConfirm:
			if ev.Run == "" { // else it waits since an earlier run
				v.Confirms = append(v.Confirms, note(ev))
			} else {
				v.Past = append(v.Past, note(ev))
			}
			continue
		default:
			if text := note(ev); text != "" {
				v.Past = append(v.Past, text)
			}
			continue
		}
		r, acts := rowOf(ev)
		if acts {
			r.Anchor = "row" + number(len(v.Acts)+1)
			v.Acts = append(v.Acts, r)
		} else {
			v.Others = append(v.Others, r)
		}
		m, known := marks[ev.Invocation]
		if !known || acts && !m.acts {
			m = mark{class: r.Class, acts: acts, anchor: r.Anchor, label: r.Word}
		}
		marks[ev.Invocation] = m
	}
	return marks
}

// note is a row that is no part, in words.
func note(ev *states.Event) string {
	return clean(strings.TrimSpace(ui.Row(ev)))
}

func number(n int) string {
	text, _ := json.Marshal(n) // a number always is
	return string(text)
}

func rowOf(ev *states.Event) (r row, acts bool) {
	r = row{Address: clean(ev.Address), Word: string(ev.Action), Reason: clean(ev.Reason), Output: clean(ev.Output)}
	if ev.Key != "" && !strings.Contains(ev.Address, ev.Key) {
		r.Key = clean(ev.Key)
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
		r.Word = string(ev.Outcome)
		if acts = ev.Outcome == states.Failed || ev.Outcome == states.Blocked; acts {
			r.Class, r.Mark = "failed", "✗"
		} else {
			r.Class, r.Mark = "none", "·"
		}
	}
	r.Maybe = ev.Certain != nil && !*ev.Certain
	if ev.Error != nil {
		r.Problem, r.Hint = clean(ev.Error.Message), clean(ev.Error.Hint)
	}
	for _, c := range ev.Changes {
		r.Changes = append(r.Changes, changeOf(c))
	}
	return r, acts
}

func changeOf(c states.Change) change {
	out := change{Name: clean(c.Attribute)}
	switch from, to := ui.Value(c.From), ui.Value(c.To); {
	case c.Diff != "":
		out.Diff = diffLines(c.Diff)
	case c.From == nil:
		out.Text = "= " + to
	case c.To == nil:
		out.Text = "was " + from
	case from == to: // both are hidden
		out.Text = to
	default:
		out.Text = from + " → " + to
	}
	out.Text = clean(out.Text)
	return out
}

func diffLines(diff string) []line {
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
		lines = append(lines, line{class, clean(strings.TrimSuffix(text, "\n")) + "\n"})
	}
	return lines
}

// clean makes a text fit to be shown: it holds no control characters, and none
// that XML does not know.
func clean(s string) string {
	return strings.NewReplacer("\ufffe", "\ufffd", "\uffff", "\ufffd").Replace(ui.Clean(s))
}

package web

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

// logLine is an event of a run, as its log has it.
type logLine struct {
	ID            string // on the page
	Line          int64
	At            time.Time
	Type, Address string
	Class, Mark   string
	Word, Text    string
	Problem, Hint string
	Out           []outLine
	More          int    // lines that are not in Out
	Path          string // to all of it
	Link          string // to this line
}

// Limits of a piece of the log.
const (
	maxLines   = 300
	maxLineOut = 20 // lines of an output
)

// addLines adds a piece of the log.
func (v *view) addLines(r *runPage) error {
	query := url.Values{"limit": {strconv.Itoa(maxLines)}, "after": {digits(r.After)}}
	for name, values := range r.Filter {
		query[name] = values
	}
	part, err := v.lines(r, query)
	if err != nil {
		return err
	}
	for i := range part.Items {
		r.Lines = append(r.Lines, r.lineOf(part.Items[i].Number, part.Items[i].Event))
	}
	if part.Next > 0 {
		r.goOn(v, part.Next)
	}
	if r.After > 0 {
		query := v.r.URL.Query()
		query.Set("after", digits(max(0, r.After-maxLines)))
		r.Before = r.Path() + "?" + query.Encode()
	}
	return nil
}

// lineOf shows an event. What is none is shown as it came.
func (r *runPage) lineOf(number int64, text json.RawMessage) logLine {
	l := logLine{ID: "L" + digits(number), Line: number, Link: link(r.Path(), "view", "log", "after", digits(number-1)) + "#L" + digits(number), Path: r.Path("lines", digits(number))}
	var ev states.Event
	if json.Unmarshal(text, &ev) != nil {
		l.Text = rows.Clean(string(text[:min(len(text), maxRowBytes)]))
		return l
	}
	l.At, l.Type, l.Address, l.Text = ev.Time, rows.Clean(ev.Type), rows.Clean(ev.Address), rows.Clean(ev.Reason)
	switch {
	case ev.Type == states.EventPart || ev.Type == states.EventInvocation || ev.Outcome != "":
		row := rows.OfEvent(&states.Event{Outcome: ev.Outcome, Action: ev.Action})
		l.Class, l.Mark, l.Word = row.Class, row.Mark, row.Word
	case ev.Type == states.EventSummary && ev.Counts != nil:
		l.Text = strings.Join([]string{count(ev.Changed, "change"), commas(ev.Failed) + " failed", commas(ev.Unchanged) + " unchanged"}, ", ")
	case ev.Type == states.EventBegin:
		l.Word = rows.Clean(string(ev.Action))
	}
	if ev.Error != nil {
		l.Problem, l.Hint = rows.Clean(ev.Error.Message), rows.Clean(ev.Error.Hint)
	}
	row := runRow{}
	row.setOutput(ev.Output, maxLineOut)
	l.Out, l.More = row.Out, row.More
	return l
}

package web

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// runPage is a run, part by part or line by line.
type runPage struct {
	Run    api.RunDetail
	Tab    string
	Filter url.Values
	After  int64
	Counts []runCount

	Failed []runRow // what has failed, where nothing is filtered
	Groups []runGroup
	Now    []runRow // that goes on
	NowAt  int64    // the line behind which it was looked for what goes on; 0: in all

	Lines  []logLine
	Next   string // where the list goes on, the anchor of what comes there, and the line after which it does
	At     string
	AtLine int64
	Before string // what comes before, of the log
}

// runCount is how many parts have come to something.
type runCount struct {
	Outcome string
	Count   int
}

// runGroup are rows of one invocation, in the order in which they ended.
type runGroup struct {
	Title string
	Wave  string // of a handler that has several
	Rows  []runRow
}

// runRow is a part of a run, as one line tells it.
type runRow struct {
	rows.Row
	ID     string // on the page
	Line   int64
	Took   string
	Since  time.Time
	Source string // where it is declared
	// Path leads to all of it, where it is too long to be here.
	Path string
	Log  string // leads to its line in the log
	Out  []outLine
	More int    // lines of its output that are not in Out
	Rest string // leads to them
}

// outLine is a line of an output, by its number.
type outLine struct {
	Number int
	Text   string
}

// Limits of what one page shows.
const (
	maxRunRows   = 500
	maxFailed    = 20
	maxRowBytes  = 4 << 10 // of an event; what is longer is shown when it is asked for
	maxOutLines  = 200     // of the output of what has failed
	nowLines     = 1000    // the last lines, which tell what goes on; it is looked so many times
	nowLooks     = 4
	maxShownLine = 2000 // lines of one output on its page
)

// runTabs are the parts of the page of a run.
func runTabs() []option { return []option{{"", "Parts"}, {"log", "Log"}} }

// Path is that of the page.
func (r *runPage) Path(more ...string) string {
	return route(append([]string{"hosts", r.Host(), "runs", r.Run.Run.Run}, more...)...)
}

// Host is by what the page of its host is found.
func (r *runPage) Host() string {
	if r.Run.Name != "" {
		return r.Run.Name
	}
	return string(r.Run.Host)
}

// Tabs lists the parts of the page as links.
func (r *runPage) Tabs() []navigation { return runTabsOf(r.Host(), r.Run.Site, r.Run.Run.Run, r.Tab) }

// runTabsOf lists the parts of the page of a run, the graph among them, which has a page of its own.
func runTabsOf(host, site, run, current string) []navigation {
	list := []navigation{}
	for _, t := range runTabs() {
		list = append(list, navigation{link(route("hosts", host, "runs", run), "view", t.Value), t.Label, current == t.Value})
	}
	return append(list, navigation{link(route("hosts", host, "graph"), "site", site, "run", run), "Graph", current == "graph"})
}

// IsAll tells that nothing is filtered.
func (r *runPage) IsAll() bool { return len(r.Filter) == 0 }

// Chunk names this piece of a list.
func (r *runPage) Chunk() string { return chunkOf(r.After) }

func chunkOf(after int64) string { return "chunk-" + digits(after) }

func (p *Pages) registerRun() {
	p.show("/hosts/{name}/runs/{run}", p.run)
	p.show("/hosts/{name}/runs/{run}/lines/{line}", p.runLine)
}

// runOf gives a run, without its parts.
func (v *view) runOf() (*runPage, error) {
	r := &runPage{}
	var err error
	r.Run, err = get[api.RunDetail](v, route("v1", "hosts", v.r.PathValue("name"), "runs", v.r.PathValue("run")), url.Values{"limit": {"1"}})
	return r, err
}

func (p *Pages) run(v *view) (*page, error) {
	r, err := v.runOf()
	if err != nil {
		return nil, err
	}
	query := v.r.URL.Query()
	if r.Tab = query.Get("view"); r.Tab != "log" {
		r.Tab = ""
	}
	if r.After, err = strconv.ParseInt("0"+query.Get("after"), 10, 63); err != nil {
		return nil, invalid("after", "the number of a line")
	}
	r.Filter = v.filter("outcome", "address", "contains", "type")
	shown := &page{Template: "run", Title: "Run " + r.Run.Run.Run + " of " + r.Run.Name, Section: "runs", Data: r}
	if r.Run.Ended == nil {
		shown.Live, shown.LiveHost = []string{"host.run", "host.events"}, string(r.Run.Host)
	}
	r.count()
	if r.Tab == "log" {
		return shown, v.addLines(r)
	}
	return shown, v.addParts(r)
}

// count says how many parts have come to what.
func (r *runPage) count() {
	c := r.Run.Counts
	if c == nil {
		return
	}
	for _, one := range []runCount{{"failed", c.Failed}, {"unknown", c.Unknown}, {"blocked", c.Blocked}, {"changed", c.Changed}, {"unchanged", c.Unchanged}, {"skipped", c.Skipped}, {"idle", c.Idle}} {
		if one.Count > 0 {
			r.Counts = append(r.Counts, one)
		}
	}
}

// lines asks for events of a run.
func (v *view) lines(r *runPage, query url.Values) (api.RunLines, error) {
	return get[api.RunLines](v, route("v1", "hosts", string(r.Run.Host), "runs", r.Run.Run.Run, "lines"), query)
}

// addParts adds the parts that have ended, those that have failed first, and what goes on.
func (v *view) addParts(r *runPage) error {
	query := url.Values{"type": {"part"}, "limit": {strconv.Itoa(maxRunRows)}, "after": {digits(r.After)}}
	for name, values := range r.Filter {
		query[name] = values
	}
	if r.IsAll() && r.After == 0 && (r.Run.Failed || r.Run.Ended == nil) {
		failed, err := v.lines(r, url.Values{"type": {"part"}, "outcome": {"failed", "unknown"}, "limit": {strconv.Itoa(maxFailed)}})
		if err != nil {
			return err
		}
		for i := range failed.Items {
			if row, ok := r.rowOf(failed.Items[i].Number, failed.Items[i].Event); ok {
				row.ID, row.IsOpen, row.Path = "failed-"+row.ID, true, "" // it is below, too
				r.Failed = append(r.Failed, row)
			}
		}
	}
	part, err := v.lines(r, query)
	if err != nil {
		return err
	}
	for i := range part.Items {
		r.add(part.Items[i].Number, part.Items[i].Event)
	}
	if part.Next > 0 {
		r.goOn(v, part.Next)
	}
	if r.Run.Ended == nil && r.After == 0 {
		return v.addNow(r, part.Total)
	}
	return nil
}

// goOn says where the list goes on.
func (r *runPage) goOn(v *view, next int64) {
	query := v.r.URL.Query()
	query.Set("after", digits(next))
	r.Next, r.At, r.AtLine = r.Path()+"?"+query.Encode(), chunkOf(next), next
}

// add adds a row to the group of its invocation.
func (r *runPage) add(number int64, text json.RawMessage) {
	var ev states.Event
	row, ok := r.rowOf(number, text)
	if !ok || json.Unmarshal(text, &ev) != nil {
		return
	}
	title, wave := states.WithoutWave(ev.Invocation), ""
	if title != ev.Invocation {
		wave = strings.TrimPrefix(ev.Invocation[len(title):], "#")
	}
	if title == "" || ev.Invocation == ev.Address {
		title = "Parts at top level"
	}
	last := len(r.Groups) - 1
	if last < 0 || r.Groups[last].Title != rows.Clean(title) || r.Groups[last].Wave != wave {
		r.Groups = append(r.Groups, runGroup{Title: rows.Clean(title), Wave: wave})
		last++
	}
	r.Groups[last].Rows = append(r.Groups[last].Rows, row)
}

// rowOf makes the row of an event. What is no event is none: it came from a host.
func (r *runPage) rowOf(number int64, text json.RawMessage) (row runRow, ok bool) {
	var ev states.Event
	if json.Unmarshal(text, &ev) != nil {
		return row, false
	}
	row = runRow{ID: "L" + digits(number), Line: number, Since: ev.Time, Log: link(r.Path(), "view", "log", "after", digits(number-1)) + "#L" + digits(number)}
	if ev.Duration >= time.Millisecond { // less says nothing
		row.Took = duration(ev.Duration)
	}
	if ev.Error != nil {
		row.Source = rows.Clean(ev.Error.Source)
	}
	if len(text) > maxRowBytes {
		row.Path = r.Path("lines", digits(number))
	}
	row.setOutput(ev.Output, maxOutLines)
	row.Rest = link(r.Path("lines", digits(number)), "from", strconv.Itoa(maxOutLines))
	ev.Output = ""
	row.Row = rows.OfEvent(&ev)
	return row, true
}

// setOutput takes so many lines of an output.
func (row *runRow) setOutput(text string, most int) {
	if text == "" {
		return
	}
	lines := rows.Lines(text)
	for i, line := range lines[:min(len(lines), most)] {
		row.Out = append(row.Out, outLine{i + 1, line})
	}
	row.More = max(0, len(lines)-most)
}

// runLine shows one event, all of it.
func (p *Pages) runLine(v *view) (*page, error) {
	r, err := v.runOf()
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(v.r.PathValue("line"), 10, 64)
	if err != nil || number < 1 {
		return nil, noLine()
	}
	part, err := v.lines(r, url.Values{"after": {digits(number - 1)}, "limit": {"1"}})
	if err != nil {
		return nil, err
	}
	if len(part.Items) == 0 {
		return nil, noLine()
	}
	var ev states.Event
	row, ok := r.rowOf(number, part.Items[0].Event)
	if !ok || json.Unmarshal(part.Items[0].Event, &ev) != nil {
		return nil, noLine()
	}
	from, err := strconv.Atoi("0" + v.r.URL.Query().Get("from"))
	if err != nil {
		return nil, invalid("from", "the number of a line")
	}
	row.Path, row.Out, row.More = "", nil, 0
	if all := rows.Lines(ev.Output); ev.Output != "" {
		from = min(from, len(all))
		for i, line := range all[from:min(len(all), from+maxShownLine)] {
			row.Out = append(row.Out, outLine{from + i + 1, line})
		}
		if rest := len(all) - from - maxShownLine; rest > 0 {
			row.More, r.Next = rest, link(r.Path("lines", digits(number)), "from", strconv.Itoa(from+maxShownLine))
		}
	}
	r.Failed = []runRow{row}
	return &page{Template: "line", Title: "Line " + commas(number) + " of run " + r.Run.Run.Run, Section: "runs", Data: r}, nil
}

func noLine() error {
	return &api.Problem{Status: 404, Title: "No such line", Detail: "The run has told no such line, or it is kept no more.", Hint: "Look at the log of the run."}
}

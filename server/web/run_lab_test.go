//go:build lab

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/web/webtest"
	"github.com/tenetcm/tenet/states"
)

// longLine is the line of a run whose output is loaded when it is unfolded.
const longLine = 7

// bigRun is a run with so many lines, of which the API gives a piece at a time.
type bigRun struct {
	*fakeAPI
	lines atomic.Int64
}

func (b *bigRun) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/lines") {
		b.fakeAPI.ServeHTTP(w, r)
		return
	}
	q := r.URL.Query()
	after, _ := strconv.ParseInt(q.Get("after"), 10, 64)
	limit, _ := strconv.Atoi(q.Get("limit"))
	lines := b.lines.Load()
	out := api.RunLines{Total: lines}
	for n := after + 1; n <= lines && len(out.Items) < limit; n++ {
		ev := states.Event{Seq: n, Type: states.EventPart, Time: noon(), Address: fmt.Sprintf("state.s%d.file.f%d", n/20, n), Invocation: fmt.Sprintf("state.s%d", n/20), Outcome: states.Changed, Action: states.Update,
			Changes: []states.Change{{Attribute: "content", From: "a", To: "b", Diff: "@@ -1,2 +1,2 @@\n-old\n+new\n same\n"}}}
		if slices.Contains(q["outcome"], "failed") {
			break
		}
		if n == longLine {
			ev.Output = strings.Repeat("much\n", 2000)
		}
		text, _ := json.Marshal(ev) // it has been one before
		out.Items = append(out.Items, sessions.Line{Number: n, Event: text})
		if out.Next = n; n == lines {
			out.Next = 0
		}
	}
	b.answer(w, out)
}

// browse opens a tab in which somebody has logged in to pages over an API.
func browse(t *testing.T, f http.Handler) (context.Context, string) {
	t.Helper()
	p, err := New(Options{API: f, Clock: noon, Version: "test", OnFault: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return browsePages(t, p)
}

// browsePages opens a tab in which somebody has logged in to pages.
func browsePages(t *testing.T, pages http.Handler) (context.Context, string) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: "secret"})
		pages.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	b, err := webtest.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	tab, done, err := b.Tab(5 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return tab, s.URL
}

// tell evaluates an expression in a tab, again and again until it is true.
func tell(t *testing.T, tab context.Context, expression string) {
	t.Helper()
	var last error
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		isTrue, err := chromedp.Run(tab, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if last = err; err == nil && isTrue {
			return
		}
	}
	t.Fatalf("it never came to this: %s (%v)", expression, last)
}

// open goes to a page, and gives how long it takes until that is drawn.
func open(t *testing.T, tab context.Context, address, ready string) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := chromedp.Do(tab, chromedp.Navigate(address), chromedp.WaitReady(ready)); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.body.offsetHeight > 0`)); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

// bigAnswers are those about a host whose run has so many lines.
func bigAnswers(t *testing.T, lines int64) *bigRun {
	t.Helper()
	answers := hostAnswers()
	delete(answers, "lines")
	ended := noon()
	run := answers["/v1/hosts/web7/runs/0008"].(api.RunDetail)
	run.Ended, run.Failed, run.Lines, run.Run.Outcome = &ended, false, lines, sessions.OutcomeChanged
	answers["/v1/hosts/web7/runs/0008"] = run
	_, f := newTest(t, access.AllGrants(), answers)
	b := &bigRun{fakeAPI: f}
	b.lines.Store(lines)
	return b
}

// TestBigRun draws a run of 10,000 parts within a second, has more of it when one scrolls, and unfolds a row.
func TestBigRun(t *testing.T) {
	tab, url := browse(t, bigAnswers(t, 10_000))
	open(t, tab, url+"/runs", "#main") // what all pages load is there
	took := open(t, tab, url+"/hosts/web7/runs/0008", "#L500")
	t.Log("a run of 10,000 parts is drawn within ", took)
	if took > time.Second {
		t.Errorf("it takes %s", took)
	}
	tell(t, tab, `(document.querySelector("#L3").open = true, document.querySelector("#L3 pre .add").offsetHeight > 0)`)
	for _, n := range []string{"501", "1500", "2500"} {
		tell(t, tab, `(scrollTo(0, document.body.scrollHeight), document.getElementById("L`+n+`"))`)
	}
	tell(t, tab, `document.querySelector("#L3").open`)
}

// TestBigLog scrolls through a log of a million lines, of which only some are ever in the browser, and goes to a line by its link.
func TestBigLog(t *testing.T) {
	tab, url := browse(t, bigAnswers(t, 1_000_000))
	t.Log("a log of 1,000,000 lines is drawn within ", open(t, tab, url+"/hosts/web7/runs/0008?view=log", "#L300"))
	tell(t, tab, `(scrollTo(0, document.body.scrollHeight), document.getElementById("L6000"))`)
	tell(t, tab, `document.querySelectorAll(".log li").length <= 3600 && !document.getElementById("L1") && document.querySelector(".earlier a")`)
	t.Log("its last lines are drawn within ", open(t, tab, url+"/hosts/web7/runs/0008?after=999699&view=log#L999999", "#L999999"))
	tell(t, tab, `document.querySelector("#L999999:target").getBoundingClientRect().top < innerHeight && !document.querySelector(".more")`)
}

// TestGraphPage selects, searches and zooms a drawing.
func TestGraphPage(t *testing.T) {
	tab, url := browse(t, bigAnswers(t, 10))
	open(t, tab, url+"/hosts/web7/graph?site=shop", "[data-graph]")
	tell(t, tab, `!document.querySelector("[data-graph-tools]").hidden`)
	tell(t, tab, `document.querySelector("[data-node=node2] a").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })) || document.querySelector("[data-why]").textContent.includes("Requires")`)
	tell(t, tab, `document.querySelector("[data-graph]").classList.contains("chosen") && location.hash === "#node2" && document.querySelectorAll(".graph g.way").length === 2`)
	tell(t, tab, `(() => { const find = document.querySelector("[data-graph-find]"); find.value = "PAGE"; find.dispatchEvent(new Event("input", { bubbles: true })); return document.querySelectorAll(".graph .found").length === 1 && document.getElementById("node2").hidden; })()`)
	tell(t, tab, `(() => { const svg = document.querySelector("[data-graph] svg"), was = svg.getAttribute("width"); document.querySelector("[data-zoom='1.25']").click(); return Number(svg.getAttribute("width")) > Number(was); })()`)
}

// TestAccessible looks at each part of the pages of a host that has failed, of its runs and of the graph, in each theme and width: nothing is found by axe, and none is wider than a phone.
func TestAccessible(t *testing.T) {
	answers := hostAnswers()
	lines := answers["lines"]
	delete(answers, "lines")
	for _, name := range []string{"web7", hostID} {
		answers["/v1/hosts/"+name+"/runs/0008/lines"] = map[string]any{"items": lines, "total": 40}
	}
	answers["/v1/sites/shop/revisions"] = list(api.Revision{Number: 6, By: "ada", Message: strings.Repeat("a long message ", 20)})
	_, f := newTest(t, access.AllGrants(), answers)
	tab, url := browse(t, f)
	for _, path := range []string{"", "?tab=parts", "?tab=runs", "?tab=now", "?tab=facts", "?tab=keys", "/runs/0008", "/runs/0008?view=log", "/runs/0008/lines/3", "/graph?site=shop&run=0008", "/hold", "/sites/shop/rollback"} {
		for _, l := range webtest.Looks() {
			if err := chromedp.Do(tab, l.Use(), chromedp.Navigate(url+"/hosts/web7"+path), chromedp.WaitReady("#main")); err != nil {
				t.Fatal(err)
			}
			found, err := webtest.Findings(tab)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range found {
				t.Errorf("%q, %s: %s", path, l.Name, one)
			}
			if isWide, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)); err != nil || isWide {
				t.Errorf("%q, %s: it is wider than the window (%v)", path, l.Name, err)
			}
		}
	}
}

//go:build lab

package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/access"
)

// stage is pages over an API whose answers change while somebody looks, which tells events, and before which something can stand.
type stage struct {
	*fakeAPI
	api    http.Handler // answers what is no event
	pages  *Pages
	tab    context.Context
	url    string
	inside sync.Mutex
	// before answers in place of the pages, if it gives true; nil: nothing does.
	before  func(w http.ResponseWriter, r *http.Request) bool
	refuses bool // that events are heard
	opened  int  // streams of events
	options Options
	streams map[chan string]bool
}

// newStage opens a tab for pages over an API; a script runs in each page before its own.
func newStage(t *testing.T, o Options, f *fakeAPI, script string) *stage {
	t.Helper()
	s := &stage{fakeAPI: f, api: f, streams: map[chan string]bool{}, refuses: o.Standby}
	if o.API != nil {
		s.api = o.API
	}
	o.API, o.Clock, o.Version, o.OnFault = http.HandlerFunc(s.serveAPI), noon, "test", func(err error) { t.Error(err) }
	s.options = o
	var err error
	if s.pages, err = New(o); err != nil {
		t.Fatal(err)
	}
	s.tab, s.url = browsePages(t, http.HandlerFunc(s.servePage))
	run := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
	if err := chromedp.Do(s.tab, run); err != nil {
		t.Fatal(err)
	}
	return s
}

// setStage is a stage on which somebody who may do everything looks at answers.
func setStage(t *testing.T, answers map[string]any, script string) *stage {
	t.Helper()
	_, f := newTest(t, access.AllGrants(), answers)
	return newStage(t, Options{}, f, script)
}

func (s *stage) servePage(w http.ResponseWriter, r *http.Request) {
	s.inside.Lock()
	before, pages := s.before, s.pages
	s.inside.Unlock()
	if before == nil || !before(w, r) {
		pages.ServeHTTP(w, r)
	}
}

func (s *stage) serveAPI(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/events" {
		s.api.ServeHTTP(w, r)
		return
	}
	told := make(chan string, 100)
	s.inside.Lock()
	s.opened++
	refuses := s.refuses
	s.streams[told] = true
	s.inside.Unlock()
	if refuses {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	text := "id: 1\nevent: ready\ndata: {}\n\n"
	for {
		fmt.Fprint(w, text)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case text = <-told:
		}
	}
}

// happen tells an event about a site and a host.
func (s *stage) happen(event, site, host string) {
	s.inside.Lock()
	defer s.inside.Unlock()
	for stream := range s.streams {
		select {
		case stream <- fmt.Sprintf("id: 2\nevent: %s\ndata: {\"site\":%q,\"data\":{\"host\":%q}}\n\n", event, site, host):
		default: // nobody reads it any more
		}
	}
}

// answerWith changes what the API answers.
func (s *stage) answerWith(path string, answer any) {
	s.fakeAPI.mu.Lock()
	defer s.fakeAPI.mu.Unlock()
	s.answers[path] = answer
}

// setBefore puts something before the pages.
func (s *stage) setBefore(before func(w http.ResponseWriter, r *http.Request) bool) {
	s.inside.Lock()
	defer s.inside.Unlock()
	s.before = before
}

// takeOver makes of a server that stands by the active one.
func (s *stage) takeOver(t *testing.T) {
	t.Helper()
	s.options.Standby = false
	pages, err := New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	s.inside.Lock()
	defer s.inside.Unlock()
	s.pages, s.refuses = pages, false
}

// streamsOpened is how many streams of events there were.
func (s *stage) streamsOpened() int {
	s.inside.Lock()
	defer s.inside.Unlock()
	return s.opened
}

// show goes to a page, and waits until it hears what happens.
func (s *stage) show(t *testing.T, path string) {
	t.Helper()
	had := s.streamsOpened()
	open(t, s.tab, s.url+path, "#main")
	s.awaitStream(t, had)
}

// awaitStream waits until there were more streams of events.
func (s *stage) awaitStream(t *testing.T, had int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); s.streamsOpened() == had; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the page does not hear what happens")
		}
	}
	time.Sleep(200 * time.Millisecond) // until it has read that the stream is there
}

// is evaluates an expression in the tab until it is true.
func (s *stage) is(t *testing.T, expression string) {
	t.Helper()
	tell(t, s.tab, expression)
}

// remains checks that an expression is true for some time, and not only before something has come.
func (s *stage) remains(t *testing.T, patience time.Duration, expression string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if isTrue, err := chromedp.Run(s.tab, chromedp.Evaluate[bool]("Boolean("+expression+")")); err != nil || !isTrue {
			t.Fatalf("it did not remain so: %s (%v)", expression, err)
		}
	}
}

// press does what one does with keys and a mouse.
func (s *stage) press(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	limited, cancel := context.WithTimeout(s.tab, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(limited, steps...); err != nil {
		t.Fatal(err)
	}
}

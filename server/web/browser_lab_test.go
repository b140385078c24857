//go:build lab

package web_test

import (
	"context"
	"flag"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// demoTab is a tab that is logged in to a demo.
func demoTab(t *testing.T) (context.Context, *webtest.Server) {
	tab, s, _ := demoBrowser(t)
	return tab, s
}

// demoBrowser is a browser with one tab that is logged in to a demo.
func demoBrowser(t *testing.T) (context.Context, *webtest.Server, *webtest.Browser) {
	t.Helper()
	s := webtest.Run(t, webtest.Build(t), "--demo", "20")
	b, err := webtest.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	tab, done, err := b.Tab(10 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	do(t, tab, webtest.LogIn(s.URL, "admin", s.Password))
	return tab, s, b
}

func do(t *testing.T, tab context.Context, steps ...webtest.Step) {
	t.Helper()
	limited, cancel := context.WithTimeout(tab, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(limited, steps...); err != nil {
		shot := path.Join(t.ArtifactDir(), "failed.png")
		_ = webtest.Picture(tab, shot) // what went wrong counts
		t.Fatalf("%v; what the browser showed is in %s", err, shot)
	}
}

// text gives the text of what the tab shows.
func text(t *testing.T, tab context.Context, selector string) string {
	t.Helper()
	out, err := chromedp.Run(tab, chromedp.TextContent(selector))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEveryPage goes to every kind of page that a demo has, in both themes, and wide and narrow: none lets people down
// who use a keyboard or a screen reader, none has a script that fails, none scrolls sideways on a phone.
func TestEveryPage(t *testing.T) {
	tab, s := demoTab(t)
	time.Sleep(12 * time.Second) // until there is something to see
	kinds, err := webtest.Crawl(tab, s.URL, func(at string, l webtest.Look) error {
		checkPage(t, tab, at, l)
		if !keepsPictures() {
			return nil
		}
		return webtest.Picture(tab, path.Join(t.ArtifactDir(), webtest.FileName(at)+"-"+l.Name+".png"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"/", "/hosts", "/enrolment", "/people", "/people/*", "/audit", "/account"} {
		if !kinds[kind] {
			t.Errorf("no page leads to %s", kind)
		}
	}
	t.Logf("%d kinds of pages: %s", len(kinds), strings.Join(slices.Sorted(maps.Keys(kinds)), " "))
}

// keepsPictures tells whether somebody wants to look at the pages: go test -artifacts -outputdir DIR.
func keepsPictures() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}

// checkPage looks at one page in one look.
func checkPage(t *testing.T, tab context.Context, at string, l webtest.Look) {
	t.Helper()
	findings, err := webtest.Findings(tab)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	for _, f := range findings {
		t.Errorf("%s, %s: %s", at, l.Name, f)
	}
	wide, err := chromedp.Run(tab, chromedp.Evaluate[float64](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	if err != nil {
		t.Fatal(err)
	}
	if wide > 0 {
		t.Errorf("%s, %s: the page is %v pixels wider than the window", at, l.Name, wide)
	}
	if heading := text(t, tab, "h1"); strings.Contains(heading, "fault") || strings.Contains(heading, "Not found") {
		t.Errorf("%s: %s: %s", at, heading, text(t, tab, "#main"))
	}
}

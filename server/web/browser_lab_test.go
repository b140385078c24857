//go:build lab

package web_test

import (
	"context"
	"net/url"
	"os"
	"path"
	"regexp"
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

// links gives the pages to which a page leads, those of this server alone.
func links(t *testing.T, tab context.Context) []string {
	t.Helper()
	list, err := chromedp.Run(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a[href]")].map(a => new URL(a.href)).filter(u => u.origin === location.origin).map(u => u.pathname + u.search)`))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEveryPage goes to every kind of page that a demo has, in both themes, and wide and narrow: none lets people down
// who use a keyboard or a screen reader, none has a script that fails, none scrolls sideways on a phone.
func TestEveryPage(t *testing.T) {
	tab, s := demoTab(t)
	time.Sleep(12 * time.Second) // until there is something to see
	seen, todo := map[string]bool{"/": true}, []string{"/"}
	pictures := os.Getenv("TENET_PICTURES") // a directory, for who wants to look at them
	for len(todo) > 0 && len(seen) < 80 {
		at := todo[0]
		todo = todo[1:]
		for _, l := range webtest.Looks() {
			checkPage(t, tab, s.URL, at, l, pictures)
		}
		for _, next := range links(t, tab) {
			if kind := kindOfPage(next); kind != "" && !seen[kind] {
				seen[kind] = true
				todo = append(todo, next)
			}
		}
	}
	for _, kind := range []string{"/", "/hosts", "/enrolment", "/people", "/people/*", "/audit", "/account"} {
		if !seen[kind] {
			t.Errorf("no page leads to %s", kind)
		}
	}
	t.Logf("%d kinds of pages: %s", len(seen), strings.Join(sorted(seen), " "))
}

func sorted(set map[string]bool) (list []string) {
	for one := range set {
		list = append(list, one)
	}
	slices.Sort(list)
	return list
}

// kindOfPage is a page's address without the names in it, so that of many alike one is looked at; empty: it is no page.
func kindOfPage(address string) string {
	u, err := url.Parse(address)
	if err != nil || strings.HasPrefix(u.Path, "/v1/") || strings.HasPrefix(u.Path, "/assets/") {
		return ""
	}
	names := regexp.MustCompile(`^/(hosts|sites|people|deployments|clusters|sources)/[^/]+`)
	kind := names.ReplaceAllString(u.Path, "/$1/*")
	kind = regexp.MustCompile(`/(runs|revisions|sessions|tokens|programs|sites|updates|releases|clusters)/[^/]+`).ReplaceAllString(kind, "/$1/*")
	if tab := u.Query().Get("tab"); tab != "" {
		kind += "?tab=" + tab
	}
	return kind
}

// checkPage looks at one page in one look.
func checkPage(t *testing.T, tab context.Context, server, at string, l webtest.Look, pictures string) {
	t.Helper()
	do(t, tab, l.Use(), chromedp.Navigate(server+at), chromedp.WaitReady("#main"))
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
	if pictures != "" {
		name := strings.Trim(regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(at, "-"), "-")
		if name == "" {
			name = "overview"
		}
		if err := webtest.Picture(tab, path.Join(pictures, name+"-"+l.Name+".png")); err != nil {
			t.Error(err)
		}
	}
}

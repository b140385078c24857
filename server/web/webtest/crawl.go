package webtest

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"github.com/chromedp/chromedp"
)

// Crawl goes to every kind of page to which links lead from the overview of a server, and shows it in each look: of pages
// that differ by the names in their addresses alone, it shows one. It gives the kinds.
func Crawl(tab context.Context, server string, each func(address string, l Look) error) (kinds map[string]bool, err error) {
	const enough = 200 // pages; there are fewer kinds
	kinds = map[string]bool{"/": true}
	for todo := []string{"/"}; len(todo) > 0 && len(kinds) < enough; todo = todo[1:] {
		for _, l := range Looks() {
			if err := chromedp.Do(tab, l.Use(), chromedp.Navigate(server+todo[0]), chromedp.WaitReady("#main")); err != nil {
				return nil, err
			}
			if err := each(todo[0], l); err != nil {
				return nil, err
			}
		}
		links, err := chromedp.Run(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a[href]")].map(a => new URL(a.getAttribute("href"), location.href)).filter(u => u.origin === location.origin).map(u => u.pathname + u.search)`))
		if err != nil {
			return nil, err
		}
		for _, next := range links {
			if kind := kindOf(next); kind != "" && !kinds[kind] {
				kinds[kind] = true
				todo = append(todo, next)
			}
		}
	}
	return kinds, nil
}

// kindOf is a page's address without the names in it; empty: it is no page.
func kindOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || strings.HasPrefix(u.Path, "/v1/") || strings.HasPrefix(u.Path, "/assets/") {
		return ""
	}
	kind := regexp.MustCompile(`/(hosts|sites|people|roles|deployments|clusters|sources|runs|revisions|sessions|tokens|programs|updates|releases)/[^/]+`).ReplaceAllString(u.EscapedPath(), "/$1/*")
	kind = regexp.MustCompile(`^/clusters/\*/[^/]+`).ReplaceAllString(kind, "/clusters/*/*")
	for _, name := range []string{"tab", "by", "view"} {
		if value := u.Query().Get(name); value != "" {
			kind += "?" + name + "=" + value
		}
	}
	return kind
}

// FileName is a page's address as the name of a file.
func FileName(address string) string {
	name := strings.Trim(regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(address, "-"), "-")
	if name == "" {
		return "overview"
	}
	return name
}

//go:build lab

package web_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// TestReading has every kind of page read as a screen reader does, and finds what is wrong where something is: by it, it is known that the others were looked at.
func TestReading(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/deployments"), chromedp.WaitReady("#main"))
	until(t, tab, `document.querySelectorAll("main tr[data-row]").length > 3`) // then there is something to read
	pages := 0
	_, err := webtest.Crawl(tab, s.URL, func(at string, l webtest.Look) error {
		if l.Theme != "light" { // themes are read alike
			return nil
		}
		pages++
		for _, fault := range faultsOf(t, tab, l) {
			t.Errorf("%s, %s: %s", at, l.Name, fault)
		}
		return nil
	})
	if err != nil || pages < 30 {
		t.Fatalf("%d pages were read (%v)", pages, err)
	}
	do(t, tab, webtest.Looks()[0].Use(), chromedp.Navigate(s.URL+"/hosts"), chromedp.WaitReady("#main"))
	until(t, tab, `(() => { const p = document.createElement("div"); p.innerHTML = "<h1>two</h1><h4>deep</h4><button></button><main></main>"; document.getElementById("notice").removeAttribute("role"); document.body.append(p); return true; })()`)
	found := faultsOf(t, tab, webtest.Looks()[0])
	for _, wanted := range []string{`the heading "two" has level 1, and is not the first`, `the heading "deep" has level 4 after 1`, "a button has no name", "there are 2 of main", "nothing tells what an act has come to"} {
		if !slices.Contains(found, wanted) {
			t.Errorf("it is not found that %s: %q", wanted, found)
		}
	}
}

// faultsOf reads the tree that a tab gives to assistive technology, in its order.
func faultsOf(t *testing.T, tab context.Context, l webtest.Look) (faults []string) {
	t.Helper()
	tree, err := webtest.Reading(tab)
	if err != nil {
		t.Fatal(err)
	}
	count, level, hasStatus := map[string]int{}, 0, false
	for _, n := range tree {
		count[n.Role]++
		switch n.Role {
		case "heading":
			switch {
			case level == 0 && n.Level != 1:
				faults = append(faults, fmt.Sprintf("the first heading is %q, of level %d", n.Name, n.Level))
			case level > 0 && n.Level == 1:
				faults = append(faults, fmt.Sprintf("the heading %q has level 1, and is not the first", n.Name))
			case n.Level > level+1:
				faults = append(faults, fmt.Sprintf("the heading %q has level %d after %d", n.Name, n.Level, level))
			}
			level = n.Level
		case "status":
			hasStatus = hasStatus || n.Live == "polite"
		}
		if n.IsControl && n.Name == "" {
			faults = append(faults, "a "+n.Role+" has no name")
		}
	}
	for _, role := range []string{"main", "banner"} {
		if count[role] != 1 {
			faults = append(faults, fmt.Sprintf("there are %d of %s", count[role], role))
		}
	}
	if count["navigation"] == 0 && l.Name == "wide-light" {
		faults = append(faults, "there is no navigation")
	}
	if !hasStatus {
		faults = append(faults, "nothing tells what an act has come to")
	}
	return faults
}

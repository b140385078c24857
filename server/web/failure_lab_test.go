//go:build lab

package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFailure follows a failure from the overview to the line that tells of it: two clicks.
func TestFailure(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/"), chromedp.WaitReady("#main"))
	until(t, tab, `document.querySelector("main a[href*='/runs/']")`)
	do(t, tab, chromedp.Click(`main a[href*='/runs/']`), chromedp.WaitReady("details.row[open]"))
	until(t, tab, `location.pathname.includes("/runs/") && document.querySelector("section h2.failed + details[open] .failed").offsetHeight > 0`)
	do(t, tab, chromedp.Click(`details[open] a[href*='view=log']`))
	until(t, tab, `/^#L[0-9]+$/.test(location.hash) && document.querySelector("li:target .failed") && document.querySelector("li:target").getBoundingClientRect().top < innerHeight`)
}

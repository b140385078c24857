package webtest

import (
	"context"
	_ "embed" // axe-core
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1 by Deque, under MPL-2.0: https://github.com/dequelabs/axe-core
//
//go:embed axe.min.js
var axe string

// Finding is something that keeps people from using a page.
type Finding struct {
	Rule    string   `json:"id"`
	Impact  string   `json:"impact"`
	Help    string   `json:"help"`
	Targets []string `json:"targets"`
}

// String is for who mends it.
func (f Finding) String() string {
	return fmt.Sprintf("%s (%s): %s\n\t%s", f.Rule, f.Impact, f.Help, strings.Join(f.Targets, "\n\t"))
}

// Findings has axe look at what a tab shows, by the rules of WCAG 2.2 AA and what axe holds good practice.
func Findings(tab context.Context) ([]Finding, error) {
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](axe+"; true")); err != nil {
		return nil, err
	}
	return chromedp.Run(tab, chromedp.Evaluate[[]Finding](`axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(r => r.violations.map(v => ({
		id: v.id, impact: v.impact, help: v.help, targets: v.nodes.slice(0, 5).map(n => n.target.join(" ") + "  " + n.html.slice(0, 200) + "  " + n.any.map(a => a.message).join("; ").slice(0, 300))})))`, chromedp.EvalAwaitPromise))
}

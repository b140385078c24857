// Planpage measures the page of `tenet show --html` in a browser: how long it takes to be drawn, to be filtered, and to be
// unfolded as a whole.
//
//	go run ./bench/planpage -rows 10000 -hosts 20
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/internal/ui/webpage"
	"github.com/tenetcm/tenet/server/web/webtest"
	"github.com/tenetcm/tenet/states"
)

func main() {
	rows, hosts := flag.Int("rows", 10_000, "rows of each host's plan"), flag.Int("hosts", 20, "hosts")
	keep := flag.String("keep", "", "the file in which the page is left")
	flag.Parse()
	if err := measure(*rows, *hosts, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "planpage:", err)
		os.Exit(1)
	}
}

// measure makes a page, and looks at it.
func measure(rows, hosts int, keep string) error {
	dir, err := os.MkdirTemp("", "planpage")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if keep == "" {
		keep = filepath.Join(dir, "plan.html")
	}
	begin := time.Now()
	if err := write(keep, rows, hosts); err != nil {
		return err
	}
	made := time.Since(begin)
	info, err := os.Stat(keep)
	if err != nil {
		return err
	}
	fmt.Printf("made     %v, %.1f MB\n", made.Round(time.Millisecond), float64(info.Size())/1e6)
	b, err := webtest.Start(context.Background())
	if err != nil {
		return err
	}
	defer b.Close()
	tab, done, err := b.Tab(5 * time.Minute)
	if err != nil {
		return err
	}
	defer done()
	return look(tab, keep)
}

// write writes the page of a plan.
func write(file string, rows, hosts int) error {
	p := webpage.Page{Site: "shop", Program: "test", Created: time.Unix(1_800_000_000, 0), Revision: "sha256:0"}
	for h := range hosts {
		host := webpage.Host{Name: fmt.Sprint("web", h+1)}
		for i := range rows {
			invocation := fmt.Sprintf("state.s%d", i/50)
			host.Rows = append(host.Rows, states.Event{Type: states.EventPart, Invocation: invocation, Address: fmt.Sprintf("%s.file.f%d", invocation, i), Action: []states.Action{states.Create, states.Update, states.Remove, states.NoChange}[i%4], Certain: new(true),
				Changes: []states.Change{{Attribute: "content", From: "a", To: "b", Diff: fmt.Sprintf("@@ -1,3 +1,3 @@\n same\n-listen %d\n+listen %d on %s\n end\n", i, i+1, host.Name)}}})
		}
		p.Hosts = append(p.Hosts, host)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := webpage.Write(f, p); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// look looks at a page as somebody who reads it.
func look(tab context.Context, file string) error {
	begin := time.Now()
	if err := chromedp.Do(tab, chromedp.Navigate("file://"+file), chromedp.WaitReady("#count"), chromedp.WaitVisible("#find")); err != nil {
		return err
	}
	fmt.Println("drawn   ", time.Since(begin).Round(time.Millisecond))
	parsed, err := chromedp.Run(tab, chromedp.Evaluate[string](`(() => { const n = performance.getEntriesByType("navigation")[0], p = performance.getEntriesByName("first-contentful-paint")[0]; return Math.round(n.domInteractive) + " ms to be read, " + Math.round(n.loadEventEnd) + " ms to be ready, first painted after " + Math.round(p ? p.startTime : 0) + " ms" })()`))
	if err != nil {
		return err
	}
	fmt.Println("        ", parsed)
	for _, step := range []struct{ name, script string }{
		{"filter by text", `const f = document.getElementById("find"); f.value = "f77"; f.dispatchEvent(new Event("input")); await new Promise(r => setTimeout(r, 60))`},
		{"filter by another text", `const f = document.getElementById("find"); f.value = "listen 42"; f.dispatchEvent(new Event("input")); await new Promise(r => setTimeout(r, 60))`},
		{"filter by what would be done", `const f = document.getElementById("find"); f.value = ""; const k = document.getElementById("kind"); k.value = "remove"; k.dispatchEvent(new Event("change"))`},
		{"no filter", `const k = document.getElementById("kind"); k.value = ""; k.dispatchEvent(new Event("change"))`},
		{"unfold all", `document.getElementById("open").click()`},
		{"to the end", `scrollTo(0, document.body.scrollHeight)`},
		{"fold all", `document.getElementById("close").click()`},
	} {
		// From the act to the second frame after it: then what has changed was seen.
		took, err := chromedp.Run(tab, chromedp.Evaluate[float64](`(async () => { const begin = performance.now(); `+step.script+`; await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))); return performance.now() - begin })()`, chromedp.EvalAwaitPromise))
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%s  %.0f ms\n", step.name, took)
	}
	return nil
}

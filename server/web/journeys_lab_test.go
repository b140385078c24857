//go:build lab

package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// until waits until an expression is true in a tab. While a page is loaded, there is nothing to evaluate it in.
func until(t *testing.T, tab context.Context, expression string) {
	t.Helper()
	awaitTrue(t, tab, 40*time.Second, expression)
}

// soon is less than the time after which a page is renewed though nothing was heard: what comes to be true by then does so by an event.
const soon = 20 * time.Second

// awaitTrue waits so long until an expression is true.
func awaitTrue(t *testing.T, tab context.Context, patience time.Duration, expression string) {
	t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		isTrue, err := chromedp.Run(tab, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if last = err; err == nil && isTrue {
			return
		}
	}
	t.Fatalf("it never came to this: %s (%v)\n%s", expression, last, text(t, tab, "#main"))
}

// TestKeyboard goes through the hosts without a mouse.
func TestKeyboard(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/hosts"), chromedp.WaitReady("[data-row]"))
	do(t, tab, chromedp.KeyEvent("/"))
	until(t, tab, `document.activeElement.id === "words"`)
	// The protocol types the key even where the page has taken it.
	do(t, tab, chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("web1"))
	until(t, tab, `location.search === "?words=web1" && document.activeElement.id === "words" && [...document.querySelectorAll("[data-row] .name")].every(a => a.textContent.includes("web1"))`)
	do(t, tab, chromedp.KeyEvent(kb.Escape))
	until(t, tab, `location.search === "" && document.querySelectorAll("[data-row]").length > 15`)
	do(t, tab, chromedp.KeyEvent("jjk"))
	until(t, tab, `document.querySelectorAll("[data-row]")[0].classList.contains("current")`)
	do(t, tab, chromedp.KeyEvent("x"))
	until(t, tab, `!document.getElementById("selected").hidden && document.querySelector("[data-act='/selected/lock']").href.endsWith("/selected/lock?select=" + document.querySelector("[data-row] .name").textContent)`)
	do(t, tab, chromedp.Click(`[data-act='/selected/lock']`))
	until(t, tab, `document.getElementById("dialog").open && document.querySelector("#dialog h1").textContent === "Lock 1 host"`)
	do(t, tab, chromedp.KeyEvent(kb.Escape))
	until(t, tab, `!document.getElementById("dialog").open`)
	do(t, tab, chromedp.KeyEvent("?"))
	until(t, tab, `document.getElementById("help").open`)
	do(t, tab, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("go"))
	until(t, tab, `location.pathname === "/"`)
}

// TestLostConnection kills the server below an open page, which says so, and goes on where it was when the server is back.
func TestLostConnection(t *testing.T) {
	s := webtest.Run(t, webtest.Build(t), "--dir", t.TempDir())
	b, err := webtest.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tab, done, err := b.Tab(5 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	do(t, tab, webtest.LogIn(s.URL, "admin", s.Password), chromedp.Navigate(s.URL+"/enrolment"), chromedp.WaitReady("#main"))
	until(t, tab, `document.getElementById("lost").hidden`)
	s.Kill()
	until(t, tab, `!document.getElementById("lost").hidden`)
	s.Start(t)
	until(t, tab, `document.getElementById("lost").hidden`)
	// What another browser does is seen here without loading the page, in half a minute where no event tells it.
	before := text(t, tab, "#main")
	if strings.Contains(before, "for the east") {
		t.Fatal("the token is there already")
	}
	other, close, err := b.Tab(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer close()
	do(t, other, chromedp.Navigate(s.URL+"/enrolment/tokens/new"), chromedp.SendKeys(`input[name=note]`, "for the east"), webtest.Follow(`main button[type=submit]`), chromedp.WaitReady(`.warning`))
	const patience = 15 * time.Second // less than that after which a page is renewed without an event
	for end := time.Now().Add(patience); !strings.Contains(text(t, tab, "#main"), "for the east"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what another browser has done is not seen")
		}
	}
}

// TestManyTabs opens more tabs than a browser has connections for HTTP/1.1: all are renewed by one stream of events.
func TestManyTabs(t *testing.T) {
	tab, s, b := demoBrowser(t)
	for range 8 {
		one, done, err := b.Tab(2 * time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(done)
		do(t, one, chromedp.Navigate(s.URL+"/hosts"), chromedp.WaitReady("[data-row]"))
	}
	do(t, tab, chromedp.Navigate(s.URL+"/hosts"), chromedp.WaitReady("[data-row]"))
	tag := `document.getElementById("main").dataset.tag`
	before, err := chromedp.Run(tab, chromedp.Evaluate[string](tag))
	if err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, tab, soon, tag+` !== '`+before+`'`) // something goes on in a demo at any time
}

// TestWithoutScript reads, filters and acts in a browser that runs no script.
func TestWithoutScript(t *testing.T) {
	s := webtest.Run(t, webtest.Build(t), "--demo", "20")
	b, err := webtest.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tab, done, err := b.Tab(3 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	do(t, tab, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}), webtest.LogIn(s.URL, "admin", s.Password), chromedp.Navigate(s.URL+"/hosts"), chromedp.WaitReady("[data-row]"),
		chromedp.SendKeys(`input[name=words]`, "web1"), webtest.Follow(`noscript button`), chromedp.WaitReady("[data-row]"))
	if rows := text(t, tab, "#results"); !strings.Contains(rows, "web1") || strings.Contains(rows, "web2") {
		t.Errorf("the words filter nothing:\n%s", rows)
	}
	do(t, tab, chromedp.Navigate(s.URL+"/enrolment"), webtest.Follow(`a[href="/enrolment/tokens/new"]`), chromedp.SendKeys(`input[name=note]`, "by hand"), webtest.Follow(`main button[type=submit]`), chromedp.WaitReady(`.warning`))
	do(t, tab, webtest.Follow(`a[href="/enrolment"].button`), chromedp.WaitReady("h1"))
	if page := text(t, tab, "#main"); !strings.Contains(page, "by hand") {
		t.Errorf("the token is not there:\n%s", page)
	}
}

// TestManyHosts filters 50,000 hosts as one types. The server answers within the patience of who types.
func TestManyHosts(t *testing.T) {
	s := webtest.RunFilled(t, webtest.Build(t), 50_000, 200_000)
	b, err := webtest.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tab, done, err := b.Tab(5 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	do(t, tab, webtest.LogIn(s.URL, "admin", s.Password), chromedp.Navigate(s.URL+"/hosts"), chromedp.WaitReady("[data-row]"))
	until(t, tab, `/^50,0\d\d hosts$/.test(document.querySelector(".pages span").textContent)`)
	do(t, tab, chromedp.SendKeys("#words", "node4999"))
	until(t, tab, `document.querySelector(".pages span").textContent === "10 hosts" && document.querySelectorAll("[data-row]").length === 10`)
	do(t, tab, chromedp.KeyEvent(kb.Escape), chromedp.SendKeys("#select", "zone=z3,!node0*"))
	until(t, tab, `document.querySelectorAll("[data-row]").length === 100 && [...document.querySelectorAll("[data-row]")].every(r => r.textContent.includes("zone=z3") && !r.textContent.includes("node0"))`)
	first := `document.querySelector("[data-row] .name").textContent`
	before, err := chromedp.Run(tab, chromedp.Evaluate[string](first))
	if err != nil {
		t.Fatal(err)
	}
	do(t, tab, chromedp.Click(`a[rel=next]`))
	until(t, tab, `document.querySelectorAll("[data-row]").length === 100 && `+first+` > "`+before+`" && document.getElementById("select").value === "zone=z3,!node0*"`)
}

// deploymentThat is the path of the newest deployment whose row of the list says something.
func deploymentThat(t *testing.T, tab context.Context, server, says string) string {
	t.Helper()
	do(t, tab, chromedp.Navigate(server+"/deployments"), chromedp.WaitReady("#main"))
	row := `[...document.querySelectorAll("[data-row]")].find(r => r.textContent.includes("` + says + `"))`
	until(t, tab, row)
	path, err := chromedp.Run(tab, chromedp.Evaluate[string](row+`.querySelector("a").getAttribute("href")`))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// press opens an act of the page that is shown as a dialog, fills in a reason, and does it.
func press(t *testing.T, tab context.Context, act, reason string) {
	t.Helper()
	link := `main a[data-dialog][href*="` + act + `"]`
	// In one step, once the scripts are there: a page that is renewed between two steps has another node there, and without scripts
	// the act opens as a page.
	until(t, tab, "(l => l && document.readyState === 'complete' && (l.click(), true))(document.querySelector(`"+link+"`))")
	do(t, tab, chromedp.WaitVisible(`#dialog button[type=submit]`))
	if reason != "" {
		do(t, tab, chromedp.SendKeys(`#dialog input[name=reason]`, reason))
	}
	do(t, tab, chromedp.Click(`#dialog button[type=submit]`))
}

// TestDeploymentJourney approves a deployment that somebody else has asked for, pauses it, goes on, and brings its hosts back.
func TestDeploymentJourney(t *testing.T) {
	tab, s := demoTab(t)
	path := deploymentThat(t, tab, s.URL, "has to approve")
	do(t, tab, chromedp.Navigate(s.URL+path), chromedp.WaitReady("#main"))
	until(t, tab, `document.querySelector("main").textContent.includes("have planned") && document.querySelector("main pre .add")`)
	press(t, tab, "/approve", "looked at with the team")
	until(t, tab, `location.pathname === "`+path+`" && document.querySelector("#notice").textContent.trim() !== "" && document.querySelector("h1").textContent.includes("rolling")`)
	press(t, tab, "/pause", "a quick look")
	until(t, tab, `document.querySelector("h1").textContent.includes("paused") && document.querySelector("main").textContent.includes("a quick look")`)
	press(t, tab, "/continue", "all is well")
	until(t, tab, `document.querySelector("#notice").textContent.includes("goes on")`)
	// Who deployed is asked by the audit, with the reasons that were given.
	do(t, tab, chromedp.Navigate(s.URL+"/audit?action=deployment.pause"), chromedp.WaitReady("[data-row]"))
	until(t, tab, `document.querySelector("[data-row]").textContent.includes("a quick look")`)
	do(t, tab, chromedp.Navigate(s.URL+"/sites/shop/rollback?hosts=web2"), chromedp.WaitReady(`input[name=reason]`))
	if says := text(t, tab, "#main"); !strings.Contains(says, "web2") || !strings.Contains(says, "pinned") || !strings.Contains(says, "tenet rollback shop web2") {
		t.Errorf("it does not say what it will do:\n%s", says)
	}
	do(t, tab, chromedp.SendKeys(`input[name=reason]`, "back to what worked"), chromedp.Click(`main button[type=submit]`))
	until(t, tab, `document.querySelector("#notice")?.textContent.includes("went back")`)
}

// TestApproveHost takes a host in that asks, and one that asks for another's name, whose difference is shown first.
func TestApproveHost(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/enrolment"), chromedp.WaitReady("#main"))
	until(t, tab, `document.querySelectorAll("[id^=pending-]").length === 2`)
	if page := text(t, tab, "#main"); !strings.Contains(page, "Another host has this name") || !strings.Contains(page, "identity") {
		t.Errorf("what differs is not shown:\n%s", page)
	}
	do(t, tab, chromedp.Click(`a[aria-label="Approve kiosk2"]`), chromedp.WaitVisible(`#dialog button[type=submit]`), chromedp.SendKeys(`#dialog input[name=reason]`, "it is ours"), chromedp.Click(`#dialog button[type=submit]`))
	until(t, tab, `document.querySelector("#notice")?.textContent.trim() !== ""`)
	do(t, tab, chromedp.Navigate(s.URL+"/hosts?words=kiosk2"), chromedp.WaitReady("[data-row]"))
	until(t, tab, `!document.querySelector("[data-row]").textContent.includes("pending")`)
	do(t, tab, chromedp.Navigate(s.URL+"/audit?action=host.approve&actor=admin"), chromedp.WaitReady("[data-row]"))
	until(t, tab, `document.querySelector("[data-row]").textContent.includes("it is ours")`)
}

// TestFailureInFourClicks follows a failure from the overview to the line of its output.
func TestFailureInFourClicks(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/"), chromedp.WaitReady("#main"))
	until(t, tab, `document.querySelector("main a[href*='/runs/']")`)
	clicks := 0
	click := func(selector string) {
		clicks++
		do(t, tab, chromedp.WaitVisible(selector), chromedp.Click(selector))
	}
	click(`main a[href*='/runs/']`)
	until(t, tab, `document.querySelector("h1").textContent.includes("Run") && document.querySelector("main").textContent.includes("What has failed")`)
	click(`main a[href*='#L']`)
	until(t, tab, `document.querySelector(":target")?.textContent.includes("is a file, not a directory")`)
	if clicks > 4 {
		t.Errorf("it takes %d clicks", clicks)
	}
}

// TestRunLive watches a run: what it does is on the page before it has ended, without loading it. A run that ends before
// it could be seen to go on shows nothing: then another one is watched.
func TestRunLive(t *testing.T) {
	tab, s := demoTab(t)
	for end := time.Now().Add(2 * time.Minute); !grows(t, tab, s.URL); {
		if time.Now().After(end) {
			t.Fatal("no run was seen to go on")
		}
	}
}

// grows opens the page of a run that goes on, and tells whether it got further rows while it went on.
func grows(t *testing.T, tab context.Context, server string) bool {
	t.Helper()
	do(t, tab, chromedp.Navigate(server+"/runs?outcome=running"), chromedp.WaitReady("#main"))
	until(t, tab, `document.querySelector("[data-row] a[href*='/runs/']")`)
	path, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("[data-row] a[href*='/runs/']")?.getAttribute("href") ?? ""`))
	if err != nil {
		t.Fatal(err)
	}
	if path == "" {
		return false // it has ended
	}
	do(t, tab, chromedp.Navigate(server+path), chromedp.WaitReady("#main"))
	state := `[document.querySelector("h1").textContent.includes("running") ? 1 : 0, document.querySelectorAll("main details.row").length]`
	first := -1
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now, err := chromedp.Run(tab, chromedp.Evaluate[[]int](state))
		if err != nil {
			t.Fatal(err)
		}
		isRunning, rows := now[0] == 1, now[1]
		switch {
		case !isRunning:
			return false
		case first < 0:
			first = rows
		case rows > first:
			return true
		}
	}
	return false
}

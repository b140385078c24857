//go:build lab

package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestDialogTells checks that what comes of an act is told in its dialog: why it was not done, beside what was typed, and a secret, which stays until
// it is said to be kept.
func TestDialogTells(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/hosts/web1"), chromedp.WaitReady("#main"))
	hold := `main a[data-dialog][href$="/hold"]`
	ask := `main .acts a[href="/hosts/web1?tab=now"]` // it is not known yet whether it is on hold
	do(t, tab, chromedp.WaitVisible(ask), chromedp.Click(ask), chromedp.WaitVisible(hold), chromedp.Click(hold), chromedp.WaitVisible(`#dialog button[type=submit]`),
		chromedp.SendKeys(`#dialog input[name=reason]`, "a new disk"), chromedp.SendKeys(`#dialog input[name=hours]`, "many"), chromedp.Click(`#dialog button[type=submit]`))
	until(t, tab, `document.querySelector("#dialog .problem")?.textContent.includes("a whole number from 1")`)
	until(t, tab, `location.pathname === "/hosts/web1" && document.getElementById("dialog").open && document.activeElement.matches(".problem") && document.querySelector("#dialog input[name=reason]").value === "a new disk" && document.querySelector("#dialog input[name=hours]").value === "many"`)
	do(t, tab, chromedp.SendKeys(`#dialog input[name=hours]`, kb.Backspace+kb.Backspace+kb.Backspace+kb.Backspace+"x"), chromedp.Click(`#dialog button[type=submit]`))
	until(t, tab, `document.querySelectorAll("#dialog .problem").length === 1 && !document.querySelector("#dialog form").dataset.sent`)
	do(t, tab, chromedp.SendKeys(`#dialog input[name=hours]`, kb.Backspace+"2"), chromedp.Click(`#dialog button[type=submit]`))
	until(t, tab, `location.pathname === "/hosts/web1" && !document.getElementById("dialog").open && document.querySelector("#notice").textContent.includes("It is on hold")`)
	// What the API refuses when the dialog opens.
	do(t, tab, chromedp.Navigate(s.URL+"/sites/shop"), chromedp.WaitReady("#main"))
	until(t, tab, `(() => { const a = document.createElement("a"); a.href = "/sites/shop/rollback?hosts=none"; a.dataset.dialog = ""; document.getElementById("main").append(a); a.click(); return true; })()`)
	until(t, tab, `location.pathname === "/sites/shop" && document.querySelector("#dialog .problem")?.textContent.includes("names no host")`)
	do(t, tab, chromedp.Click(`#dialog button[data-close]`))
	until(t, tab, `!document.getElementById("dialog").open`)
	do(t, tab, chromedp.Navigate(s.URL+"/enrolment"), chromedp.WaitReady("#main"), chromedp.Click(`main a[href="/enrolment/tokens/new"]`), chromedp.WaitVisible(`#dialog input[name=note]`),
		chromedp.SendKeys(`#dialog input[name=note]`, "for the west"), chromedp.Click(`#dialog button[type=submit]`))
	until(t, tab, `document.querySelector("#dialog [data-once] code")?.textContent.trim().length > 10`)
	do(t, tab, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape))
	until(t, tab, `document.getElementById("dialog").open && location.pathname === "/enrolment"`)
	do(t, tab, chromedp.Click(`#dialog a.button[href="/enrolment"]`))
	until(t, tab, `!document.getElementById("dialog").open && document.querySelector("main").textContent.includes("for the west")`)
}

// TestCommandFollows checks that the command beside a form does what is chosen in it, whatever is written there, and is copied as it is shown.
func TestCommandFollows(t *testing.T) {
	tab, s := demoTab(t)
	do(t, tab, chromedp.Navigate(s.URL+"/sites"), chromedp.WaitVisible(`main a[href="/sites/shop"]`)) // the demo is about to deploy it
	do(t, tab, chromedp.Navigate(s.URL+"/sites/shop"), chromedp.WaitReady("#main"))
	link := `main a[data-dialog][href="/sites/shop/policy"]`
	do(t, tab, chromedp.WaitVisible(link))
	until(t, tab, "(l => l && document.readyState === 'complete' && (l.click(), true))(document.querySelector(`"+link+"`))")
	do(t, tab, chromedp.WaitVisible(`#dialog input[name=approvals]`))
	shows := func(line string) {
		t.Helper()
		until(t, tab, "document.querySelector('#dialog [data-command] code').textContent === `"+line+"` && document.querySelector('#dialog [data-copy]').dataset.copy === `"+line+"`")
	}
	shows("tenet server policy set shop --reason TEXT")
	do(t, tab, chromedp.Click(`#dialog input[name=approvals]`), chromedp.SendKeys(`#dialog input[name=reason]`, "it's ours"))
	shows(`tenet server policy set shop --approve --reason 'it'\\''s ours'`)
	do(t, tab, chromedp.Click(`#dialog input[name=approvals]`), chromedp.Click(`#dialog input[name=signed]`))
	shows(`tenet server policy set shop --sign --reason 'it'\\''s ours'`)
	do(t, tab, chromedp.Navigate(s.URL+"/sites/shop/deploy"), chromedp.WaitReady(`main select[name=consent]`))
	deploys := `document.querySelector("[data-command] code").textContent.match(/^tenet deploy shop --revision [0-9]+ (.*)$/)?.[1]`
	until(t, tab, deploys+` === "--deadline 60m"`)
	do(t, tab, chromedp.SetValue(`main select[name=consent]`, "approve"), chromedp.SetValue(`main input[name=deadline]`, "90"), chromedp.SendKeys(`main input[name=message]`, "calm"))
	until(t, tab, deploys+` === "--approve --deadline 90m --message calm"`)
}

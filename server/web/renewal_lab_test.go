//go:build lab

package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// twoPins are those of the site, and one more.
func twoPins() map[string]any {
	other := pinOf("web9", "2")
	other["host"] = strings.Repeat("q", 51) + "a"
	return list(pinOf("web1", "2"), other)
}

// TestRenewalKeepsForms fills in a form while its page is renewed: what was typed and chosen stays, and there is one more to choose.
func TestRenewalKeepsForms(t *testing.T) {
	s := setStage(t, siteAnswers(), "")
	s.show(t, "/sites/shop")
	s.is(t, `(document.querySelector("select[name=revision]").value = "2", true)`)
	s.press(t, chromedp.SendKeys(`input[aria-label="Hosts to deploy to"]`, "web*"), chromedp.Focus(`input[aria-label="Hosts to roll back"]`))
	s.answerWith("/v1/sites/shop/pins", twoPins())
	s.answerWith("/v1/sites/shop/revisions", list(revisionOf(4, "web1"), revisionOf(3, "web1"), revisionOf(2, "web1")))
	s.happen("deployment.changed", "shop", "")
	s.is(t, `document.getElementById("main").textContent.includes("web9")`)
	s.is(t, `document.querySelectorAll("select[name=revision]").length === 1 && document.querySelector("select[name=revision]").value === "2" && document.querySelector("select[name=revision]").options.length === 3`)
	s.is(t, `document.querySelector("input[aria-label='Hosts to deploy to']").value === "web*" && document.activeElement.getAttribute("aria-label") === "Hosts to roll back"`)
}

// TestRenewalKeepsFilter types into a filter of a deployment whose first plan comes meanwhile, and with it a further field.
func TestRenewalKeepsFilter(t *testing.T) {
	d := waiting("bob", 4)
	plan := d["plan"]
	delete(d, "plan")
	s := setStage(t, map[string]any{"/v1/deployments/7": d}, "")
	s.show(t, "/deployments/7?tab=hosts")
	s.press(t, chromedp.SendKeys(`input[name=words]`, "web"), chromedp.Focus(`select[name=state]`))
	d = waiting("bob", 4)
	d["plan"] = plan
	s.answerWith("/v1/deployments/7", d)
	s.happen("deployment.changed", "shop", "")
	s.is(t, `document.querySelector("nav.tabs") !== null`)
	s.is(t, `document.querySelectorAll("#hosts input[type=search]").length === 1 && document.querySelector("#hosts input[type=search]").value === "web" && document.querySelectorAll("#hosts input[name=tab]").length === 1`)
}

// TestRenewalKeepsSelection selects hosts, of which one goes.
func TestRenewalKeepsSelection(t *testing.T) {
	host := func(name string) map[string]any {
		return map[string]any{"id": strings.Repeat(name[3:], 51) + "a", "name": name, "state": "active"}
	}
	s := setStage(t, map[string]any{"/v1/hosts": list(host("webb"), host("webc"))}, "")
	s.show(t, "/hosts")
	s.press(t, chromedp.Click(`[data-select-all]`))
	s.is(t, `document.querySelectorAll("[data-select]:checked").length === 2`)
	s.answerWith("/v1/hosts", list(host("webb"), host("webc"), host("webd")))
	s.happen("host.changed", "", "x")
	s.is(t, `document.querySelectorAll("[data-select]").length === 3`)
	s.is(t, `document.querySelectorAll("[data-select]:checked").length === 2 && document.querySelector("[data-select-all]").indeterminate`)
	s.answerWith("/v1/hosts", list(host("webb"), host("webc")))
	s.happen("host.changed", "", "x")
	s.is(t, `document.querySelectorAll("[data-select]").length === 2 && document.querySelector("[data-select-all]").checked`)
}

// TestPlanChanges reads a plan that becomes another one meanwhile: what is read stays, and so does that to which one consents.
func TestPlanChanges(t *testing.T) {
	s := setStage(t, map[string]any{"/v1/deployments/7": waiting("bob", 4)}, "")
	s.show(t, "/deployments/7")
	other := waiting("bob", 4)
	other["plan"].(map[string]any)["digest"] = strings.Repeat("cd", 32)
	other["plan"].(map[string]any)["hosts"] = []string{"web1", "web2"}
	s.answerWith("/v1/deployments/7", other)
	s.happen("deployment.changed", "shop", "")
	s.is(t, `document.querySelector("#plan-changed[role=alert]")?.textContent.includes("The plan has changed")`)
	approve := `document.querySelector("a[href*='/approve']").getAttribute("href").endsWith("` + planDigest() + `")`
	s.is(t, approve+` && document.getElementById("main").textContent.includes("1 host of 4 has planned")`)
	had := s.streamsOpened()
	s.press(t, chromedp.Click(`#plan-changed a`))
	s.is(t, `!document.getElementById("plan-changed") && document.querySelector("a[href*='/approve']").href.endsWith("cdcd")`)
	s.awaitStream(t, had)
	// What somebody else has decided is shown.
	other["phase"] = "rolling"
	s.answerWith("/v1/deployments/7", other)
	s.happen("deployment.changed", "shop", "")
	s.is(t, `document.querySelector("h1").textContent.includes("rolling")`)
}

// TestRenewalFails has the server answer nonsense, and then nothing at all: the page says so for as long as it is so, and goes on.
func TestRenewalFails(t *testing.T) {
	s := setStage(t, siteAnswers(), `{ const was = AbortSignal.timeout; AbortSignal.timeout = ms => was.call(AbortSignal, ms / 30); }`)
	s.show(t, "/sites/shop")
	s.is(t, `document.getElementById("lost").hidden`)
	s.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/sites/shop" {
			w.WriteHeader(http.StatusBadGateway)
		}
		return r.URL.Path == "/sites/shop"
	})
	s.happen("deployment.changed", "shop", "")
	s.is(t, `!document.getElementById("lost").hidden`)
	s.remains(t, 3*time.Second, `!document.getElementById("lost").hidden`)
	s.setBefore(nil)
	s.is(t, `document.getElementById("lost").hidden`)
	s.setBefore(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/sites/shop" {
			<-r.Context().Done()
		}
		return r.URL.Path == "/sites/shop"
	})
	s.happen("deployment.changed", "shop", "")
	s.is(t, `!document.getElementById("lost").hidden`)
	s.setBefore(nil)
	s.answerWith("/v1/sites/shop/pins", twoPins())
	s.is(t, `document.getElementById("main").textContent.includes("web9") && document.getElementById("lost").hidden`)
}

// TestStandbyPage reads on a server that stands by: it asks for no events, is not lost, and shows what there is now and then, until it is the active one.
func TestStandbyPage(t *testing.T) {
	_, f := newTest(t, access.AllGrants(), siteAnswers())
	const hasty = `{ const was = setInterval; window.setInterval = (f, ms) => was(f, ms / 10); }`
	s := newStage(t, Options{Standby: true}, f, hasty)
	open(t, s.tab, s.url+"/sites/shop", "#main")
	s.remains(t, 3*time.Second, `document.getElementById("lost").hidden`)
	if s.streamsOpened() > 0 {
		t.Error("it asks for events, which are refused")
	}
	s.answerWith("/v1/sites/shop/pins", twoPins())
	s.is(t, `document.getElementById("main").textContent.includes("web9")`)
	s.takeOver(t)
	s.is(t, `!document.querySelector(".content > .warning") && document.getElementById("lost").hidden`)
	s.awaitStream(t, 0)
}

// TestWithoutSharedWorker hears what happens in a browser whose tabs share nothing.
func TestWithoutSharedWorker(t *testing.T) {
	s := setStage(t, siteAnswers(), `delete window.SharedWorker;`)
	s.show(t, "/sites/shop")
	s.answerWith("/v1/sites/shop/pins", twoPins())
	s.happen("deployment.changed", "shop", "")
	s.is(t, `document.getElementById("main").textContent.includes("web9")`)
}

// TestFilterIsRefused types what the server does not take: it says why in the place of what would be shown, until it is something else.
func TestFilterIsRefused(t *testing.T) {
	refusal := &api.Problem{Status: http.StatusUnprocessableEntity, Title: "Invalid", Detail: "a selector ends too early", Hint: "close the bracket"}
	s := setStage(t, map[string]any{"/v1/hosts?count=true&select=web%28": refusal}, "")
	s.show(t, "/hosts")
	s.press(t, chromedp.SendKeys(`#select`, "web("))
	s.is(t, `document.querySelector("#results > .problem")?.textContent.includes("a selector ends too early")`)
	s.happen("host.changed", "", "x")
	s.remains(t, 4*time.Second, `document.querySelector("#results > .problem")`)
	s.press(t, chromedp.SendKeys(`#select`, ")"))
	s.is(t, `!document.querySelector("#results > .problem") && document.querySelector("#results .empty")`)
}

// TestFilterIsLost filters while the server is away: the page says so, and has filtered when it is back.
func TestFilterIsLost(t *testing.T) {
	s := setStage(t, nil, "")
	s.show(t, "/hosts")
	s.setBefore(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.RawQuery != "" && !strings.HasPrefix(r.URL.Path, "/assets/") {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	s.press(t, chromedp.SendKeys(`#select`, "web1"))
	s.is(t, `!document.getElementById("lost").hidden`)
	s.setBefore(nil)
	s.is(t, `document.getElementById("lost").hidden && location.search === "?select=web1"`)
}

// TestFilterOfEvents filters deployments: events of the site that is looked at then are heard, and typing is one step of the way back.
func TestFilterOfEvents(t *testing.T) {
	s := setStage(t, nil, "")
	s.show(t, "/deployments?site=shop")
	s.is(t, `(window.steps = history.length) > 0`)
	for _, key := range []string{"s", "x"} {
		s.press(t, chromedp.SendKeys(`#site`, kb.End+key))
		s.is(t, `location.search.endsWith("`+key+`")`)
	}
	s.is(t, `location.search === "?site=shopsx" && history.length === steps`)
	s.answerWith("/v1/deployments", list(map[string]any{"id": 9, "site": "shopsx", "phase": "rolling"}))
	s.happen("deployment.changed", "shopsx", "")
	s.is(t, `document.getElementById("deployment-9")`)
	s.is(t, `(document.querySelector("select[name=phase]").value = "done", document.querySelector("select[name=phase]").dispatchEvent(new Event("change", { bubbles: true })), true)`)
	s.is(t, `location.search.includes("phase=done") && history.length === steps + 1`)
}

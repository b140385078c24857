//go:build lab

package web

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/sessions"
)

// liveRun is a run that goes on, on a stage; it has so many lines when it is told.
func liveRun(t *testing.T, lines int64) (s *stage, grow func(lines int64)) {
	t.Helper()
	b := bigAnswers(t, lines)
	const at = "/v1/hosts/web7/runs/0008"
	run := b.answers[at].(api.RunDetail)
	run.Ended, run.Run.Outcome, run.Outcome = nil, "", sessions.OutcomeRunning
	b.answers[at] = run
	// However slow this machine is, the page does not wait longer for that.
	const hasty = `{ const was = Headers.prototype.get; Headers.prototype.get = function (name) { return name === "Refresh-Wait" ? "0" : was.call(this, name); }; }`
	s = newStage(t, Options{API: b}, b.fakeAPI, hasty)
	return s, func(lines int64) {
		b.lines.Store(lines)
		run.Lines = lines
		s.answerWith(at, run)
		s.happen("host.events", "", hostID)
	}
}

// hasLines tells whether the head of the page says how many lines there are: it was renewed.
func hasLines(text string) string {
	return `document.querySelector(".head").textContent.includes("` + text + ` lines")`
}

// TestUnfoldedStays unfolds what is long: it stays when the page is renewed.
func TestUnfoldedStays(t *testing.T) {
	s, grow := liveRun(t, 30)
	s.show(t, "/hosts/web7/runs/0008")
	s.is(t, fmt.Sprintf(`(document.querySelector("#L%d").open = true)`, longLine))
	unfolded := fmt.Sprintf(`document.querySelector("#L%d").open && document.querySelector("#L%d .line-body")?.textContent.includes("much")`, longLine, longLine)
	s.is(t, unfolded)
	grow(31)
	s.is(t, `document.getElementById("L31") && `+hasLines("31"))
	s.is(t, unfolded)
	s.remains(t, time.Second, unfolded)
}

// TestLastPieceGrows reads in the second piece of a run that goes on: it stays, and what comes is added to it, and then a third.
func TestLastPieceGrows(t *testing.T) {
	s, grow := liveRun(t, 700)
	s.show(t, "/hosts/web7/runs/0008")
	s.is(t, `(scrollTo(0, document.body.scrollHeight), document.getElementById("L700"))`)
	s.is(t, `(window.read = document.getElementById("L600")).open = true`)
	grow(800)
	s.is(t, `document.getElementById("L800")`)
	stays := `window.read.isConnected && window.read.open && !document.querySelector(".more")`
	s.is(t, stays)
	grow(801)
	s.is(t, `document.getElementById("L801") && `+stays)
	grow(1200)
	s.is(t, `(scrollTo(0, document.body.scrollHeight), document.getElementById("L1200"))`)
	s.is(t, `window.read.isConnected && window.read.open && document.querySelectorAll("[data-chunk]").length === 3`)
}

// TestLiveLog reads the end of a long log that goes on: what was passed does not come again, and there is a way back.
func TestLiveLog(t *testing.T) {
	s, grow := liveRun(t, 4400)
	s.show(t, "/hosts/web7/runs/0008?view=log")
	s.is(t, `(scrollTo(0, document.body.scrollHeight), document.getElementById("L4400"))`)
	s.is(t, `!document.getElementById("L1")`)
	grow(4401)
	s.is(t, `document.getElementById("L4401") && `+hasLines("4,401"))
	s.is(t, `!document.querySelector(".more") && document.querySelector("[data-chunk]").dataset.after === "1500" && document.querySelector(".earlier a").href.endsWith("after=1200")`)
	grow(4402)
	s.is(t, `document.getElementById("L4402") && `+hasLines("4,402"))
	s.is(t, `document.querySelectorAll("[data-chunk]").length === 10 && document.querySelectorAll(".earlier").length === 1`)
}

// TestCopyTwice presses a button twice: it says what came of it, also to who listens, and then what it said before.
func TestCopyTwice(t *testing.T) {
	s := setStage(t, nil, "")
	s.show(t, "/hosts")
	button := `document.querySelector("main [data-copy]")`
	for range 2 {
		s.is(t, `(`+button+`.click(), true)`)
		s.is(t, button+`.textContent !== "Copy" && document.querySelector("body > [data-said][role=status]").textContent === `+button+`.textContent`)
	}
	s.is(t, button+`.textContent === "Copy"`)
	s.remains(t, 2*time.Second, button+`.textContent === "Copy"`)
}

// TestSlowAct asks for an act that takes its time: its link says so, and after a while its page is gone to; a form that was stopped can be sent again.
func TestSlowAct(t *testing.T) {
	s := setStage(t, nil, `{ const was = AbortSignal.timeout; AbortSignal.timeout = ms => was.call(AbortSignal, ms / 20); }`)
	s.show(t, "/enrolment")
	s.setBefore(func(_ http.ResponseWriter, r *http.Request) bool {
		hangs := r.URL.Path == "/enrolment/tokens/new" && (r.Header.Get("HX-Request") != "" || r.Method == http.MethodPost)
		if hangs {
			_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that nobody waits
			<-r.Context().Done()
		}
		return hangs
	})
	s.press(t, chromedp.Click(`a[href="/enrolment/tokens/new"]`))
	s.is(t, `document.querySelector("a[href='/enrolment/tokens/new']").ariaBusy === "true"`)
	s.is(t, `location.pathname === "/enrolment/tokens/new" && document.querySelector(".scripted main form")`)
	// While the browser waits, nothing can be asked of it.
	s.is(t, `(document.querySelector("main button[type=submit]").click(), setTimeout(() => stop(), 500), document.querySelector("main form").dataset.sent)`)
	s.is(t, `!document.querySelector("main form").dataset.sent`)
}

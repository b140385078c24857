package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestSourceTimes checks that windows and downtimes are asked for as on the command line, sent as the API takes them, and shown.
func TestSourceTimes(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/sources/new": map[string]any{}, "/v1/sources": list(api.Source{Name: "main", Site: "shop", Phase: "pending",
		Windows: []api.SourceWindow{{Days: []string{"sat", "sun"}, Hours: "00:00-24:00", Timezone: "Europe/Berlin"}}, Downtimes: []api.SourceDowntime{{From: noon(), To: noon().Add(3 * time.Hour), Reason: "<i>move"}}})})
	body := request(p, "GET", "/sources", nil).Body.String()
	for _, wanted := range []string{"sat, sun 00:00-24:00 Europe/Berlin", `title="2026-11-28 15:00:00 UTC">in 3 h</time>: &lt;i&gt;move`} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	const window, downtime = "sat,sun 22:00-04:00 Europe/Berlin\r\n\r\n08:00-09:00", "2030-01-31T22:00:00Z/2030-02-01T04:00:00Z moving house"
	form := func(windows, downtimes string) url.Values {
		return url.Values{"token": {tokenOf(t, request(p, "GET", "/sources/add", nil).Body.String())}, "name": {"new"}, "address": {"git::https://git.test/s"}, "site": {"shop"}, "minutes": {"5"},
			"windows": {windows}, "downtimes": {downtimes}}
	}
	for _, wrong := range []struct{ windows, downtimes, says string }{
		{"at <night>", downtime, "<code>windows</code>: &#34;at&#34; is no day"}, {"25:00-26:00", downtime, "<code>windows</code>"}, {window, "tomorrow <b>", "is no time from one instant to a later one"}, {window, "2030-01-02T00:00:00Z/2030-01-01T00:00:00Z", "<code>downtimes</code>"},
	} {
		w := request(p, "POST", "/sources/add", form(wrong.windows, wrong.downtimes))
		if body := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, wrong.says) || !strings.Contains(body, "git::https://git.test/s") || strings.Contains(body, "<night>") || len(f.done) > 0 {
			t.Errorf("%q, %q: %d, the API was asked %q\n%s", wrong.windows, wrong.downtimes, w.Code, f.done, body)
		}
	}
	request(p, "POST", "/sources/add", form(window, downtime))
	wanted := `"downtimes":[{"from":"2030-01-31T22:00:00Z","to":"2030-02-01T04:00:00Z","reason":"moving house"}]`
	windows := `"windows":[{"days":["sat","sun"],"hours":"22:00-04:00","timezone":"Europe/Berlin"},{"hours":"08:00-09:00"}]`
	if len(f.done) != 1 || !strings.Contains(f.done[0], wanted) || !strings.Contains(f.done[0], windows) {
		t.Errorf("the API was asked %q", f.done)
	}
	f.done = nil
	if request(p, "POST", "/sources/add", form("", "")); len(f.done) != 1 || strings.Contains(f.done[0], "windows") || strings.Contains(f.done[0], "downtimes") {
		t.Errorf("without windows, the API was asked %q", f.done)
	}
	f.answers["/v1/sources/new"] = &api.Problem{Status: http.StatusConflict, Detail: "there is a source new", Hint: "remove it"}
	if body := request(p, "POST", "/sources/add", form(window, downtime)).Body.String(); !strings.Contains(body, "there is a source new") || !strings.Contains(body, "sat,sun 22:00-04:00 Europe/Berlin") {
		t.Errorf("what the API refuses is not told beside the form:\n%s", body)
	}
}

// TestTimesWithin checks that times within a text are shown as people say them, and that the rest stays text.
func TestTimesWithin(t *testing.T) {
	timed := timesWithin(noon)
	hour := `<time datetime="2026-11-28T11:00:00Z" title="2026-11-28 11:00:00 UTC">1 h ago</time>`
	for text, wanted := range map[string]string{
		"": "",
		"not connected since 2026-11-28T11:00:00Z":                  "not connected since " + hour,
		"<b>2026-11-28T12:00:00.00+01:00</b>, 2026-11-28T11:00:00Z": "&lt;b&gt;" + hour + "&lt;/b&gt;, " + hour,
		"2026-99-28T11:00:00Z, x2026-11-28T11:00:00Z":               "2026-99-28T11:00:00Z, x2026-11-28T11:00:00Z",
		`2026-11-28T11:00:00" onclick="x`:                           "2026-11-28T11:00:00&#34; onclick=&#34;x",
	} {
		if shown := string(timed(text)); shown != wanted {
			t.Errorf("%q is shown as %q", text, shown)
		}
	}
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/sources": list(api.Source{Name: "main", Phase: "pending", SourceText: api.SourceText{Reason: "web3: not connected since 2026-11-28T11:00:00Z"}})})
	if body := request(p, "GET", "/sources", nil).Body.String(); !strings.Contains(body, "<p>web3: not connected since "+hour) {
		t.Errorf("the reason of a source is shown as it came:\n%s", body)
	}
}

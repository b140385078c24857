package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/states"
)

const hostID = "jd6cn5rivgingko75gjppzg26fxjsn4bkjjejnqcsikiunk3eaba"

// hostile is what a host may call anything.
const hostile = `<img src=x onerror=alert(1)>`

// event is a line of a run.
func event(number int64, ev states.Event) map[string]any {
	return map[string]any{"line": number, "event": ev}
}

// hostAnswers are those of the API about a host that has failed.
func hostAnswers() map[string]any {
	loop := &control.Loop{Site: "shop", Revision: "7", Phase: control.PhaseHelp, Attempt: 8, Attempts: 8, Reason: "it is a file " + hostile, Next: noon().Add(time.Hour)}
	site := &sessions.SiteStatus{Delivery: sessions.Delivery{Target: &trust.Position{Epoch: 1, N: 7}, Revision: "7", Held: &trust.Position{Epoch: 1, N: 6}, Pending: "it is being delivered"},
		Loop: loop, Report: &sessions.ReportStatus{Run: "0008", Revision: "7"}}
	failed := states.Event{Type: states.EventPart, Address: "state.page.directory.shop", Invocation: "state.page#2", Outcome: states.Failed, Output: "one\ntwo " + hostile + "\n",
		Error: &states.Failure{Code: "wrong_kind", Message: "it is a file", Hint: "remove it", Source: "site.hcl:95:3"}}
	changed := states.Event{Type: states.EventPart, Address: "file.a", Invocation: "file.a", Outcome: states.Changed, Action: states.Update, Changes: []states.Change{{Attribute: "content", From: "x", To: "y", Diff: "@@ -1 +1 @@\n-" + hostile + "\n+new\n"}}}
	run := api.RunDetail{Run: api.Run{RunRecord: sessions.RunRecord{Host: hostID, Run: "0008", Site: "shop", Revision: "7", Started: noon(), Failed: true, Counts: &states.Counts{Changed: 1, Failed: 1}}, Name: "web7", Outcome: sessions.OutcomeRunning}, Lines: 40}
	at := "/v1/hosts/" + hostID
	return map[string]any{
		"/v1/hosts/web7": enroll.Host{ID: hostID, Name: "web7", State: "active", Labels: map[string]string{"role": hostile}}, "/v1/hosts/" + hostID: enroll.Host{ID: hostID, Name: "web7", State: "active"},
		at + "/status":        api.HostStatus{ID: hostID, Name: "web7", Sites: map[string]*sessions.SiteStatus{"shop": site}},
		"/v1/sites/shop/pins": list(deploy.Pin{Host: hostID, Site: "shop", Revision: "5", By: "eve", Why: "it is old"}),
		"/v1/clusters":        list(map[string]any{"cluster": "lab", "site": "shop", "state": "deployed", "leader": "web1", "peers": []any{}}), "/v1/runs": list(run.Run),
		at + "/runs/0008/lines":    api.RunLines{Items: nil, Total: 40, Next: 0},
		"/v1/hosts/web7/runs/0008": run,
		"/v1/hosts/web7/facts":     map[string]any{"at": noon(), "facts": map[string]any{"os": map[string]any{"id": "debian", "name": hostile}, "cpus": 2}},
		at + "/reports/shop":       api.HostReport{At: noon(), Report: &states.Report{Run: "0008", Parts: []states.PartReport{{ID: "1", Address: "file.fine", State: "present", Target: "present"}, {ID: "2", Address: "file.bad", State: "error", Target: "present", Error: failed.Error}}}},
		at + "/now":                api.HostNow{Owed: []states.Debt{{Handler: "state.reload", Notifier: "file.a", Run: "0007", Why: states.Changed}}},
		"lines":                    []any{event(3, failed), event(4, changed), event(9, states.Event{Type: states.EventBegin, Address: "command.slow", Action: states.Execute})},
		"/v1/hosts/web7/sites/shop/graph": api.HostGraph{Site: "shop", Revision: 7, StateRun: "sha256:7", Nodes: 2, Shown: []states.OutlineNode{{Address: "state.page#2", Kind: "handler"}, {Address: "file.a", Kind: "invocation"}},
			Arrows: []states.OutlineArrow{{From: "state.page#2", To: "file.a", Kind: "requires"}}},
	}
}

// newHost makes pages with a host.
func newHost(t *testing.T, grants []access.Grant) (*Pages, *fakeAPI) {
	t.Helper()
	answers := hostAnswers()
	items := answers["lines"]
	delete(answers, "lines")
	for _, name := range []string{"web7", hostID} {
		answers["/v1/hosts/"+name+"/runs/0008/lines"] = map[string]any{"items": items, "total": 40}
	}
	return newTest(t, grants, answers)
}

// has checks what is on a page, and that nothing of a host is more than text there.
func has(t *testing.T, p *Pages, path string, wanted ...string) string {
	t.Helper()
	w := request(p, "GET", path, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	text := w.Body.String()
	for _, one := range wanted {
		if !strings.Contains(text, one) {
			t.Errorf("%s lacks %q", path, one)
		}
	}
	if strings.Contains(text, "<img") || strings.Contains(text, "style=") {
		t.Errorf("%s has something of a host that is no text, or a style", path)
	}
	return text
}

// TestHost checks each part of the page of a host.
func TestHost(t *testing.T) {
	p, _ := newHost(t, access.AllGrants())
	has(t, p, "/hosts/web7", "attempt 8 of 8", "in 1 h", "revision 7", "1.7", "it is being delivered", "at revision 5 by eve", "it is old", `href="/clusters?words=shop%2Flab#cluster-shop-lab"`, "led by web1", "What has failed", "hint: remove it", `href="/hosts/web7/runs/0008"`, "/hosts/web7/sites/shop/unpin", "/hosts/web7/lock", "/selected/plan?select=web7", `data-live-host="`+hostID+`"`)
	text := has(t, p, "/hosts/web7?tab=parts", "file.fine", "site.hcl:95:3", "hint: remove it")
	if strings.Index(text, "file.bad") > strings.Index(text, "file.fine") {
		t.Error("what has failed does not come first")
	}
	if text := has(t, p, "/hosts/web7?tab=parts&state=error", "file.bad"); strings.Contains(text, "file.fine") {
		t.Error("parts are not filtered")
	}
	has(t, p, "/hosts/web7?tab=facts", "os.id", "debian", "cpus")
	if text := has(t, p, "/hosts/web7?tab=facts&words=debian", "os.id"); strings.Contains(text, "cpus") {
		t.Error("facts are not filtered")
	}
	if text := has(t, p, "/hosts/web7?tab=now", "state.reload", "file.a changed"); strings.Contains(text, "data-live=") {
		t.Error("a host is asked again at each event")
	}
	has(t, p, "/hosts/web7?tab=keys", hostID, "/hosts/web7/revoke", "/audit?host="+hostID)
	has(t, p, "/hosts/web7?tab=runs", "0008")
}

// TestHostForReaders checks that who may read alone is shown nothing that they may not do.
func TestHostForReaders(t *testing.T) {
	reads := access.AllGrants()[:1]
	reads[0].Verb = access.Read
	p, _ := newHost(t, reads)
	for _, path := range []string{"/hosts/web7", "/hosts/web7?tab=keys"} {
		text := has(t, p, path)
		for _, none := range []string{"/lock", "/revoke", "/hold", "/retry", "/rollback", "/unpin", "/audit", "/rename", "/selected/plan"} {
			if strings.Contains(text, none+`"`) || strings.Contains(text, none+"?") {
				t.Errorf("%s offers %s", path, none)
			}
		}
	}
}

// TestHostOfOneSite checks that who may deploy one site alone may bring the host back for it, and not hold it.
func TestHostOfOneSite(t *testing.T) {
	all := access.AllGrants()[0].Hosts
	p, _ := newHost(t, []access.Grant{{Verb: access.Read, Hosts: all, Site: "shop"}, {Verb: access.Deploy, Hosts: all, Site: "shop"}})
	text := has(t, p, "/hosts/web7", "/hosts/web7/sites/shop/unpin")
	for _, none := range []string{"/hold", "/release", "/retry"} {
		if strings.Contains(text, "/hosts/web7"+none) {
			t.Errorf("the page offers %s", none)
		}
	}
}

// TestHostActs checks what the acts ask of the API.
func TestHostActs(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	at := "/v1/hosts/" + hostID
	f.answers["/v1/sites/shop/revisions"] = list(api.Revision{Number: 6, By: "ada"})
	f.answers[at+"/ping"], f.answers[at+"/hold"], f.answers[at+"/lock"], f.answers["/v1/sites/shop/rollback"] = api.Pong{Program: "1.2", Seconds: 0.2}, struct{}{}, enroll.Host{}, list()
	for _, c := range []struct {
		path string
		form url.Values
		done string
	}{
		{"/hosts/web7/ping", url.Values{}, "POST " + at + "/ping "},
		{"/hosts/web7/hold", url.Values{"reason": {"disk"}, "hours": {"2"}}, "POST " + at + `/hold {"reason":"disk","seconds":7200}`},
		{"/hosts/web7/lock", url.Values{"reason": {"odd"}}, "POST " + at + `/lock {"reason":"odd"}`},
		{"/hosts/web7/sites/shop/rollback", url.Values{"reason": {"worse"}, "to": {"6"}}, `POST /v1/sites/shop/rollback {"hosts":"web7","reason":"worse","to":6}`},
		{"/hosts/web7/sites/shop/rollback", url.Values{"empty": {"yes"}}, `POST /v1/sites/shop/rollback {"empty":true,"hosts":"web7","reason":""}`},
	} {
		f.done = nil
		shown := has(t, p, c.path)
		if len(f.done) > 0 {
			t.Errorf("%s is done by looking at it", c.path)
		}
		c.form.Set("token", tokenOf(t, shown))
		w := request(p, "POST", c.path, c.form)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/hosts/web7" || len(f.done) != 1 || f.done[0] != c.done {
			t.Errorf("%s: %d to %q, done: %q", c.path, w.Code, w.Header().Get("Location"), f.done)
		}
	}
}

// TestRun checks a run by parts and by lines, with what has failed first, waves, and links to each line.
func TestRun(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	has(t, p, "/runs", `href="/hosts/web7/runs/0008"`, "running")
	text := has(t, p, "/hosts/web7/runs/0008", "What has failed", "wave 2", "hint: remove it", `id="L3.2"`, `href="#L3.2"`, "command.slow", "declared at <code>site.hcl:95:3", `<span class="del">`, "data-live=")
	if !strings.Contains(text, "&lt;img") {
		t.Error("the output is not there")
	}
	has(t, p, "/hosts/web7/runs/0008?view=log", `<li id="L3">`, `href="/hosts/web7/runs/0008?after=2&amp;view=log#L3"`)
	has(t, p, "/hosts/web7/runs/0008/lines/3", `id="L3.1"`)
	has(t, p, "/hosts/web7/graph?site=shop&run=0008", `data-node="node1"`, "state.page#2", `class="failed handler"`, "Is required by")
	for _, name := range []string{"web7", hostID} {
		f.answers["/v1/hosts/"+name+"/runs/0008/lines"] = map[string]any{"items": []any{}, "total": 40, "next": 20}
	}
	has(t, p, "/hosts/web7/runs/0008?view=log&after=5", `id="chunk-20"`, `hx-get="/hosts/web7/runs/0008?after=20&amp;view=log"`, "Earlier")
}

// TestHostActsByState checks that a pending host is offered nothing that it cannot have yet, and that the act which revokes a host leads to where it is found then.
func TestHostActsByState(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	shown := has(t, p, "/hosts/web7/revoke")
	f.answers["/v1/hosts/"+hostID+"/revoke"] = enroll.Host{}
	w := request(p, "POST", "/hosts/web7/revoke", url.Values{"token": {tokenOf(t, shown)}})
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != "/hosts/"+hostID {
		t.Errorf("revoked: %d to %q", w.Code, at)
	}
	f.answers["/v1/hosts/"+hostID+"/revoke"] = &api.Problem{Status: http.StatusConflict, Detail: "not now"}
	if body := request(p, "POST", "/hosts/web7/revoke", url.Values{"token": {tokenOf(t, shown)}}).Body.String(); !strings.Contains(body, `href="/hosts/web7"`) {
		t.Errorf("who leaves the act is not led back to the host:\n%s", body)
	}
	f.answers["/v1/hosts/web7"] = enroll.Host{ID: hostID, Name: "web7", State: "pending"}
	if body := has(t, p, "/hosts/web7?tab=keys", "/approve", "/revoke"); strings.Contains(body, "/rename") || strings.Contains(body, "/labels") {
		t.Error("a pending host is to be renamed or labelled")
	}
}

// TestRowNames checks that each row of a run has a name of its own, also what has failed, which is there twice: a page that is
// renewed takes what has the same name for the same.
func TestRowNames(t *testing.T) {
	p, _ := newHost(t, access.AllGrants())
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(has(t, p, "/hosts/web7/runs/0008", "What has failed"), -1) {
		if seen[found[1]] {
			t.Errorf("%q is there twice", found[1])
		}
		seen[found[1]] = true
	}
	if !seen["L3"] || !seen["failed-L3"] {
		t.Errorf("rows are named %v", seen)
	}
}

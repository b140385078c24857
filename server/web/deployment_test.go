package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// planDigest is that of the plan in these tests.
func planDigest() string { return strings.Repeat("ab", 32) }

// waiting is a deployment of some hosts that waits for an approval.
func waiting(by string, hosts int) map[string]any {
	members, names := []any{}, []string{}
	for i := range hosts {
		name := fmt.Sprint("web", i+1)
		members, names = append(members, map[string]any{"id": name, "name": name, "state": "pending", "batch": i%2 + 1, "why": map[string]any{"code": "approval", "text": "it waits"}}), append(names, name)
	}
	return map[string]any{"id": 7, "site": "shop", "revision": 3, "by": by, "hosts": "*", "consent": "approve", "phase": "planned", "turns": 2, "members": members,
		"batches": []any{map[string]any{"label": "batch 1 of 2", "hosts": hosts / 2}, map[string]any{"label": "batch 2 of 2", "hosts": hosts / 2}},
		"acts":    []any{map[string]any{"act": "approve", "may": by != "ada"}, map[string]any{"act": "abort", "may": true}},
		"plan": map[string]any{"digest": planDigest(), "hosts": names[:1], "rows": []any{map[string]any{"subject": 0, "hosts": []int{0}, "at": []int{0},
			"row": map[string]any{"type": "part", "address": "state.page.file.motd", "action": "update", "invocation": "state.page"}}}}}
}

// TestApproval checks that an approval names the plan that was looked at, that the one who has asked is told why they cannot give it, and that a plan that has changed is
// told of.
func TestApproval(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": waiting("bob", 4), "/v1/deployments/7/approve": map[string]any{}})
	body := request(p, "GET", "/deployments/7", nil).Body.String()
	at := "/deployments/7/approve?plan=" + planDigest()
	for _, wanted := range []string{at, "state.page.file.motd", "1 host of 4 has planned"} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	if hosts := request(p, "GET", "/deployments/7?tab=hosts", nil).Body.String(); strings.Contains(hosts, "/approve") {
		t.Error("one can approve where the plan is not shown")
	}
	asked := request(p, "GET", at, nil).Body.String()
	if !strings.Contains(asked, "4 hosts are brought to revision 3 of shop: web1, web2, web3, web4.") || !strings.Contains(asked, "tenet deployments approve 7 --plan "+planDigest()) {
		t.Errorf("it does not say what it does:\n%s", asked)
	}
	form := url.Values{"token": {tokenOf(t, asked)}, "reason": {"looks right"}}
	if w := request(p, "POST", at, form); w.Code != http.StatusSeeOther || len(f.done) != 1 || f.done[0] != `POST /v1/deployments/7/approve {"plan":"`+planDigest()+`","reason":"looks right"}` {
		t.Errorf("%d, and the API was asked %q", w.Code, f.done)
	}
	f.answers["/v1/deployments/7/approve"] = &api.Problem{Status: http.StatusConflict, Code: "plan_differs", Detail: "another one"}
	if w := request(p, "POST", at, form); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "The plan has changed since you looked at it. Nothing has begun.") {
		t.Errorf("a plan that has changed: %d\n%s", w.Code, w.Body.String())
	}
	if w := request(p, "GET", "/deployments/7/approve", nil); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("without a plan: %d", w.Code)
	}
	f.answers["/v1/deployments/7"] = waiting("ada", 4)
	if own := request(p, "GET", "/deployments/7", nil).Body.String(); strings.Contains(own, "/approve") || !strings.Contains(own, "another person has to approve it") {
		t.Errorf("who has asked:\n%s", own)
	}
}

// TestManyHosts checks that the page of a deployment of many hosts has counts, and hosts in pages, as they are filtered.
func TestManyHosts(t *testing.T) {
	d := waiting("bob", 5000)
	d["members"].([]any)[4321].(map[string]any)["state"] = "failed"
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": d})
	body := request(p, "GET", "/deployments/7?tab=hosts", nil).Body.String()
	if n := strings.Count(body, `id="host-`); n != maxMembers || len(body) > 200_000 {
		t.Errorf("%d hosts in %d bytes", n, len(body))
	}
	if first := strings.Index(body, `id="host-web4322"`); first < 0 || first > strings.Index(body, `id="host-web1"`) {
		t.Error("a host that has failed is not the first")
	}
	for _, wanted := range []string{`aria-label="2,500 hosts pending in batch 1 of 2"`, `aria-label="1 host failed in batch 2 of 2"`, "cursor=100"} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q", wanted)
		}
	}
	for query, wanted := range map[string]string{"state=failed": "1 host<", "batch=1": "2,500 hosts<", "words=web12": "111 hosts<", "reason=approval": "5,000 hosts<", "words=nobody": "0 hosts<"} {
		body := request(p, "GET", "/deployments/7?tab=hosts&"+query, nil).Body.String()
		if !strings.Contains(body, `<div class="pages"><span>`+wanted) {
			t.Errorf("%s: not %q", query, wanted)
		}
	}
}

// TestForbiddenActs checks that what the API says one may not do with a deployment is not offered.
func TestForbiddenActs(t *testing.T) {
	d := waiting("bob", 2)
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": d})
	for _, may := range []bool{true, false} {
		d["acts"] = []any{map[string]any{"act": "approve", "may": may}, map[string]any{"act": "abort", "may": may}}
		body := request(p, "GET", "/deployments/7", nil).Body.String()
		for _, act := range []string{"/deployments/7/approve", "/deployments/7/abort"} {
			if strings.Contains(body, act) != may {
				t.Errorf("may: %v, and %s:\n%s", may, act, body)
			}
		}
	}
}

// TestVast checks that a deployment of very many hosts is shown by counts, and by one page of its hosts.
func TestVast(t *testing.T) {
	d := waiting("bob", 1)
	d["members"], d["phase"], d["turn"] = nil, "rolling", 1
	d["counts"] = map[string]any{"hosts": 50000, "begun": 20000, "not_begun": 30000, "states": map[string]int{"ready": 19990, "failed": 10, "pending": 30000},
		"turns": []any{map[string]any{"turn": 0, "states": map[string]int{"pending": 30000}}, map[string]any{"turn": 1, "states": map[string]int{"ready": 19990, "failed": 10}}}}
	failed := list(map[string]any{"id": "x1", "name": "web1", "state": "failed", "why": map[string]any{"code": "gave_up", "text": "no room"}})
	failed["next"] = "c2"
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": d, "/v1/deployments/7/members": failed})
	body := request(p, "GET", "/deployments/7?tab=hosts&state=failed", nil).Body.String()
	for _, wanted := range []string{"50,000 hosts", "30,000", "19,990", "not begun", "no room", "10 hosts<", "state=failed&amp;tab=hosts#hosts"} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	if strings.Contains(body, "/rollback?") {
		t.Error("by the selector of the deployment hosts go back that have not begun")
	}
	d["counts"].(map[string]any)["not_begun"] = 0
	if body := request(p, "GET", "/deployments/7?tab=hosts", nil).Body.String(); !strings.Contains(body, `/sites/shop/rollback?hosts=%2A`) {
		t.Errorf("all have begun, and cannot go back:\n%s", body)
	}
	if !strings.Contains(body, "cursor=c2") {
		t.Error("there is no next page")
	}
}

// TestHostileDeployment checks that names and reasons from elsewhere stay text.
func TestHostileDeployment(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	d := waiting("bob", 2)
	d["site"], d["message"], d["why"] = "../"+evil, evil, map[string]any{"code": evil, "text": evil, "ask": evil}
	host := d["members"].([]any)[0].(map[string]any)
	host["name"], host["state"], host["why"] = "../"+evil, evil, map[string]any{"code": evil, "text": evil, "ask": evil}
	d["batches"].([]any)[0].(map[string]any)["label"] = evil
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": d, "/v1/deployments": list(d)})
	for _, path := range []string{"/deployments", "/deployments/7", "/deployments/7?tab=hosts&words=" + url.QueryEscape(evil), "/deployments/7/abort", "/deployments/7/approve?plan=" + planDigest()} {
		body := request(p, "GET", path, nil).Body.String()
		if strings.Contains(body, "<script>alert") || strings.Contains(body, `href="/hosts/../`) || strings.Contains(body, `href="/sites/../`) {
			t.Errorf("%s lets it through:\n%s", path, body)
		}
	}
}

// TestDoneDeployment checks that a deployment that is done is not aborted, and that hosts which may still join it can be kept from that.
func TestDoneDeployment(t *testing.T) {
	d := waiting("bob", 3)
	d["phase"] = "done"
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": d})
	for hosts, wanted := range map[int]bool{0: false, 2: true} {
		d["acts"] = []any{map[string]any{"act": "abort", "may": true, "hosts": hosts}}
		body := request(p, "GET", "/deployments/7", nil).Body.String()
		if strings.Contains(body, ">Abort<") || strings.Contains(body, ">Let no more join<") != wanted || strings.Contains(body, `href="/deployments/7/abort"`) != wanted {
			t.Errorf("with %d hosts that may join:\n%s", hosts, body)
		}
	}
	if body := request(p, "GET", "/deployments/7/abort", nil).Body.String(); !strings.Contains(body, "Let no more hosts join deployment 7 of shop") {
		t.Errorf("it is called otherwise:\n%s", body)
	}
	d["phase"] = "rolling"
	f.answers["/v1/deployments/7"] = d
	if body := request(p, "GET", "/deployments/7", nil).Body.String(); !strings.Contains(body, ">Abort<") {
		t.Errorf("one that rolls cannot be aborted:\n%s", body)
	}
}

// TestRollback checks that a rollback names hosts and revisions before it does anything, and does it with exactly these.
func TestRollback(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/sites/shop/rollback": list(map[string]any{"host": strings.Repeat("a", 52), "name": "web1", "from": 3, "to": 2}, map[string]any{"host": strings.Repeat("a", 52), "name": "web2", "from": 3, "to": 2}, map[string]any{"host": strings.Repeat("a", 52), "name": "db1", "from": 2, "to": 1}),
		"/v1/sites/shop/unpin": list(pinOf("db1", "10"), pinOf("web1", "2"), pinOf("web2", "2"))})
	at := "/sites/shop/rollback?hosts=web*,db1"
	body := request(p, "GET", at, nil).Body.String()
	for _, wanted := range []string{"Roll 3 hosts of shop back", "2 hosts from revision 3 of shop to 2: web1, web2.", "1 host from revision 2 of shop to 1: db1.", "tenet rollback shop &#39;web*,db1&#39;", `data-flag="--empty"`, `data-flag="--reason"`} {
		if !strings.Contains(body, wanted) {
			t.Errorf("it does not say %q:\n%s", wanted, body)
		}
	}
	w := request(p, "POST", at, url.Values{"token": {tokenOf(t, body)}, "reason": {"it was worse"}})
	if w.Code != http.StatusSeeOther || len(f.done) != 1 || f.done[0] != `POST /v1/sites/shop/rollback {"hosts":"web*,db1","reason":"it was worse"}` {
		t.Errorf("%d, and the API was asked %q", w.Code, f.done)
	}
	f.done = nil
	if request(p, "POST", at+"&to=1", url.Values{"token": {tokenOf(t, body)}}); len(f.done) != 1 || !strings.Contains(f.done[0], `"to":1`) {
		t.Errorf("to a revision that was chosen: the API was asked %q", f.done)
	}
	f.done = nil
	at = "/sites/shop/unpin?hosts=web*,db1"
	body = request(p, "GET", at, nil).Body.String()
	if pinned := "<li>2 hosts are pinned to revision 2 of shop: web1, web2.</li><li>1 host is pinned to revision 10 of shop: db1.</li>"; !strings.Contains(body, "Unpin 3 hosts of shop") || !strings.Contains(body, pinned) {
		t.Errorf("it does not say which hosts are pinned, and to what:\n%s", body)
	}
	if request(p, "POST", at, url.Values{"token": {tokenOf(t, body)}}); len(f.done) != 1 || f.done[0] != `POST /v1/sites/shop/unpin {"hosts":"web*,db1","reason":""}` {
		t.Errorf("the API was asked %q", f.done)
	}
	f.answers["/v1/sites/shop/unpin"] = &api.Problem{Status: http.StatusConflict, Detail: "none of web9 is pinned"}
	if w := request(p, "GET", "/sites/shop/unpin?hosts=web9", nil); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "none of web9 is pinned") {
		t.Errorf("where none is pinned: %d", w.Code)
	}
	for _, path := range []string{"/sites/shop/rollback", "/sites/shop/unpin?hosts=+", "/sites/shop/rollback?hosts=web1&to=-3"} {
		if w := request(p, "GET", path, nil); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// pinOf is a pin as the API gives it.
func pinOf(name, revision string) map[string]any {
	return map[string]any{"host": strings.Repeat("a", 52), "name": name, "site": "shop", "revision": revision, "by": "ada", "at": noon()}
}

// TestVastActs checks that what is done with a deployment of very many hosts is said in the words of the API, without its hosts, and that its plan is shown without them.
func TestVastActs(t *testing.T) {
	d := waiting("bob", 1)
	d["counts"] = map[string]any{"hosts": 50000, "not_begun": 50000, "states": map[string]int{"pending": 50000}}
	d["acts"] = []any{map[string]any{"act": "approve", "may": true, "says": "hosts get revision 3: 50000"}, map[string]any{"act": "abort", "may": true, "hosts": 9, "says": "hosts that have not begun keep what they have: 50000"}}
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7?members=none": d, "/v1/deployments/7?members=plan": d, "/v1/deployments/7/members": list()})
	f.answers["/v1/deployments/7"] = &api.Problem{Status: http.StatusServiceUnavailable, Detail: "all hosts were asked for"}
	for path, wanted := range map[string]string{"/deployments/7?tab=plan": "state.page.file.motd", "/deployments/7/abort": "Hosts that have not begun keep what they have: 50000.", "/deployments/7/approve?plan=" + planDigest(): "Hosts get revision 3: 50000."} {
		if w := request(p, "GET", path, nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), wanted) {
			t.Errorf("%s: %d, and not %q:\n%s", path, w.Code, wanted, w.Body)
		}
	}
}

// TestActsOnHidden checks that an act says that it concerns hosts, too, that the person does not see, and names none.
func TestActsOnHidden(t *testing.T) {
	d := waiting("bob", 2)
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/deployments/7": d})
	for _, isHidden := range []bool{false, true} {
		d["counts"] = map[string]any{"hosts": 2, "not_begun": 2, "hidden": isHidden}
		f.answers["/v1/deployments/7"] = d
		body := request(p, "GET", "/deployments/7/abort", nil).Body.String()
		if !strings.Contains(body, "2 hosts have not begun") || strings.Contains(body, "hosts of the deployment that you may not see") != isHidden {
			t.Errorf("where others are hidden, %v:\n%s", isHidden, body)
		}
	}
}

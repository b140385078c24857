package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// revisionOf is a revision as the API gives it.
func revisionOf(n int64, hosts ...string) api.Revision {
	return api.Revision{Site: "shop", Number: n, Tree: strings.Repeat("cd", 32), By: "bob", At: noon(), Hosts: hosts}
}

// siteAnswers are those of an API that has one site.
func siteAnswers() map[string]any {
	return map[string]any{
		"/v1/sites":                list(api.Site{Name: "shop", Newest: revisionOf(3, "web1"), Latest: 7}),
		"/v1/sites/shop/revisions": list(revisionOf(3, "web1", "web2", "db1"), revisionOf(2, "web1")), "/v1/sites/shop/targets": list(map[string]any{"revision": 2, "hosts": 4}),
		"/v1/sites/shop/policy": api.SitePolicy{Site: "shop", By: "olga", At: new(noon()), Reason: "audit", Demanded: api.Demands{Approvals: true}},
		"/v1/sites/shop/pins":   list(pinOf("web1", "2")), "/v1/deployments": list(waiting("bob", 1)),
		"/v1/sites/shop/revisions/3": api.RevisionDetail{Revision: revisionOf(3, "web1"), Errors: []api.SiteRemark{{Text: "site.hcl:4:2: there is no such variable", Hint: "declare it", Hosts: []string{"db1"}, Count: 1}}, Signers: []api.RevisionSigner{{Key: trust.ID(strings.Repeat("k", 51) + "a"), Name: "olga"}}},
		"/v1/sites/shop/revisions/3/files": list(map[string]any{"name": "site.hcl", "size": 10, "change": map[string]any{"kind": "changed", "diff": "@@ -1 +1 @@\n-a <b>\n+b\n"}},
			map[string]any{"name": "secrets.hcl", "size": 10, "change": map[string]any{"kind": "changed", "hidden": "encrypted"}}),
		"/v1/deployments/7": waiting("bob", 1),
	}
}

// TestSites checks what the pages of sites and revisions tell, and that who may not deploy is not asked to.
func TestSites(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), siteAnswers())
	for path, wanted := range map[string][]string{
		"/sites":                           {`href="/sites/shop"`, "deployment 7"},
		"/sites/shop":                      {"4 hosts", "web1", `href="/sites/shop/deploy?revision=3"`, "deployment 7", `href="/sites/shop/unpin?hosts=web1"`},
		"/sites/shop/revisions/3":          {"site.hcl:4:2: there is no such variable", "declare it", "by olga", `<span class="del">-a &lt;b&gt;`, "It is encrypted, and not shown.", "2 files differ from revision 2"},
		"/sites/shop/revisions/3?tab=plan": {"deployment 7", "state.page.file.motd"},
	} {
		body := request(p, "GET", path, nil).Body.String()
		for _, one := range wanted {
			if !strings.Contains(body, one) {
				t.Errorf("%s lacks %q:\n%s", path, one, body)
			}
		}
	}
	hosts, err := access.ParseSelector("web*")
	if err != nil {
		t.Fatal(err)
	}
	reader, f := newTest(t, []access.Grant{{Verb: access.Read, Hosts: hosts, Site: "shop"}}, siteAnswers())
	f.answers["/v1/sites/shop/revisions/3/files"] = &api.Problem{Status: http.StatusNotFound, Detail: "there is no site"}
	for _, path := range []string{"/sites", "/sites/shop", "/sites/shop/revisions/3"} {
		if body := request(reader, "GET", path, nil).Body.String(); strings.Contains(body, "/deploy?") || strings.Contains(body, "/rollback") {
			t.Errorf("%s has what its reader may not do", path)
		}
	}
	if body := request(reader, "GET", "/sites/shop/revisions/3", nil).Body.String(); !strings.Contains(body, "Its files are not shown to you") {
		t.Error("files that are hidden are not told of")
	}
}

// TestSitePolicy checks that the page of a site tells what is demanded, and that who administers all, and nobody else, is asked for it.
func TestSitePolicy(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), siteAnswers())
	body := request(p, "GET", "/sites/shop", nil).Body.String()
	for _, wanted := range []string{"Another person approves every deployment", "Set by olga", `href="/sites/shop/policy"`} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q", wanted)
		}
	}
	token := tokenOf(t, request(p, "GET", "/sites/shop/policy", nil).Body.String())
	w := request(p, "POST", "/sites/shop/policy", url.Values{"token": {token}, "signed": {"yes"}, "reason": {"why not"}})
	if wanted := `PUT /v1/sites/shop/policy {"approvals":false,"reason":"why not","signed":true}`; len(f.done) != 1 || f.done[0] != wanted {
		t.Errorf("%d, and the API was asked %q", w.Code, f.done)
	}
	all, err := access.ParseSelector(access.All)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := newTest(t, []access.Grant{{Verb: access.Read, Hosts: all, Site: "shop"}, {Verb: access.Deploy, Hosts: all, Site: "shop"}, {Verb: access.Admin, Hosts: all, Site: "shop"}}, siteAnswers())
	if strings.Contains(request(other, "GET", "/sites/shop", nil).Body.String(), `href="/sites/shop/policy"`) {
		t.Error("who administers one site is offered its policy")
	}
	if w := request(other, "GET", "/sites/shop/policy", nil); w.Code != http.StatusForbidden {
		t.Errorf("who administers one site sees the act: %d", w.Code)
	}
}

// TestDeploy checks that deploying says to which hosts a revision comes, and asks the API for that.
func TestDeploy(t *testing.T) {
	answers := siteAnswers()
	p, f := newTest(t, access.AllGrants(), answers)
	body := request(p, "GET", "/sites/shop/deploy?revision=3", nil).Body.String()
	if !strings.Contains(body, "3 hosts are brought to revision 3, where enrolled and not pinned: web1, web2, db1.") {
		t.Errorf("all hosts:\n%s", body)
	}
	f.answers["/v1/hosts"] = list(map[string]any{"id": strings.Repeat("a", 52), "name": "web1"}, map[string]any{"id": strings.Repeat("b", 51) + "a", "name": "web9"})
	at := "/sites/shop/deploy?revision=3&hosts=web*"
	body = request(p, "GET", at, nil).Body.String()
	if !strings.Contains(body, "1 host is brought to revision 3, where enrolled and not pinned: web1.") {
		t.Errorf("some hosts:\n%s", body)
	}
	f.answers["/v1/deployments"] = map[string]any{"id": 12, "site": "shop"}
	form := url.Values{"token": {tokenOf(t, body)}, "consent": {"approve"}, "deadline": {"30"}, "message": {"now"}}
	w := request(p, "POST", at, form)
	wanted := `POST /v1/deployments {"consent":"approve","deadline":1800,"empty":false,"hosts":"web*","message":"now","revision":3,"site":"shop"}`
	if w.Header().Get("Location") != "/deployments/12" || len(f.done) != 1 || f.done[0] != wanted {
		t.Errorf("%d to %q, and the API was asked %q", w.Code, w.Header().Get("Location"), f.done)
	}
	f.done = nil
	form.Set("consent", "")
	if request(p, "POST", at, form); len(f.done) != 1 || strings.Contains(f.done[0], "consent") { // the API refuses an empty one
		t.Errorf("without a consent, the API was asked %q", f.done)
	}
	if w := request(p, "GET", "/sites/shop/deploy?revision=9", nil); w.Code != http.StatusNotFound {
		t.Errorf("a revision that is not kept: %d", w.Code)
	}
}

// TestSources checks what is told of sources, and what is done with them.
func TestSources(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	looked := noon()
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/sources": list(api.Source{Name: "main", Site: "shop", Address: evil, Phase: "failed", Looked: &looked, SourceText: api.SourceText{Message: evil},
		Problem:    &api.SourceProblem{Code: "invalid_site", Message: "the site is wrong: site.hcl:1:2: a; b; site.hcl:3:4: " + evil, At: noon()},
		Components: []api.SourceComponent{{Name: "nginx", Phase: "installed"}, {Name: evil, Phase: "failed", SourceText: api.SourceText{Code: "c1"}}}, Windows: []api.SourceWindow{{Days: []string{"sat"}, Hours: "22:00-04:00"}}}),
		"/v1/sources/main/look": map[string]any{}, "/v1/sources/main": map[string]any{}, "/v1/sources/new": map[string]any{"secret": "s3cret"}})
	body := request(p, "GET", "/sources", nil).Body.String()
	for _, wanted := range []string{"<p>the site is wrong: site.hcl:1:2: a; b</p><p>site.hcl:3:4: ", "nginx", "sat 22:00-04:00", "every 5 minutes"} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	if strings.Contains(body, "<script>alert") {
		t.Error("what sources say gets through")
	}
	for _, name := range []string{"look", "remove"} {
		token := tokenOf(t, request(p, "GET", "/sources/main/"+name, nil).Body.String())
		if w := request(p, "POST", "/sources/main/"+name, url.Values{"token": {token}}); w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	token := tokenOf(t, request(p, "GET", "/sources/add", nil).Body.String())
	w := request(p, "POST", "/sources/add", url.Values{"token": {token}, "name": {"new"}, "address": {"git::https://git.test/s"}, "site": {"shop"}, "minutes": {"2"}, "hints": {"yes"}})
	if !strings.Contains(w.Body.String(), "s3cret") || len(f.done) != 3 || !strings.HasPrefix(f.done[2], `PUT /v1/sources/new {"address":"git::https://git.test/s","hints":true,"hosts":"","poll":120,`) {
		t.Errorf("%d, and the API was asked %q", w.Code, f.done)
	}
}

// TestClusters checks what is told of clusters, and that undeploying names who loses what.
func TestClusters(t *testing.T) {
	bench := map[string]any{"cluster": "bench", "site": "lab", "state": "waiting", "leader": "edge1", "waiting_for": []string{"edge2"}, "peers": []any{
		map[string]any{"host": "edge1", "connected": true, "membership": "member", "configuration": "done", "parts": []any{map[string]any{"address": "file.members", "target": "present", "state": "error", "reason": "no room"}}},
		map[string]any{"host": "edge2", "connected": false, "membership": "member", "missing": "not connected"}}}
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/clusters": list(bench), "/v1/sites/lab/clusters?name=bench": list(bench), "/v1/sites/lab/clusters?name=none": list(), "/v1/sites/lab/clusters/bench/undeploy": bench})
	body := request(p, "GET", "/clusters", nil).Body.String()
	for _, wanted := range []string{"It waits for", `href="/hosts/edge2"`, "leader", "1 part not as wanted", "no room", "not connected"} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	f.answers["/v1/clusters?cursor=c1&limit=50&state=waiting&words=edge"] = map[string]any{"items": []any{bench}, "next": "c2"}
	has(t, p, "/clusters?words=edge&state=waiting&cursor=c1", `value="edge"`, `href="/clusters?cursor=c2&amp;state=waiting&amp;words=edge" rel="next"`)
	f.answers["/v1/clusters"] = list()
	has(t, p, "/clusters", "No site has a cluster")
	has(t, p, "/clusters?words=none", "No cluster fits")
	at := "/sites/lab/clusters/bench/undeploy"
	body = request(p, "GET", at, nil).Body.String()
	if !strings.Contains(body, "2 hosts lose what the cluster has made there, 1 part in all: edge1, edge2.") || !strings.Contains(body, "1 host is away: it goes when they are back: edge2.") {
		t.Errorf("it does not say what it does:\n%s", body)
	}
	if w := request(p, "POST", at, url.Values{"token": {tokenOf(t, body)}}); w.Code != http.StatusSeeOther || len(f.done) != 1 {
		t.Errorf("%d, and the API was asked %q", w.Code, f.done)
	}
	if w := request(p, "GET", "/sites/lab/clusters/none/undeploy", nil); w.Code != http.StatusNotFound {
		t.Errorf("a cluster that is none: %d", w.Code)
	}
}

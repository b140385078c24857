package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/states"
)

var firstRun = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// run tells of a run that began n minutes after the first one.
func (w *fleetWorld) run(id trust.ID, site string, n int, outcome string) {
	r := &control.Run{Site: site, Run: fmt.Sprintf("r%03d", n), Revision: "1", Started: firstRun.Add(time.Duration(n) * time.Minute), Counts: &states.Counts{Unchanged: 3}}
	if outcome != "running" {
		r.Ended = r.Started.Add(30 * time.Second)
	}
	switch outcome {
	case "failed":
		r.Failed, r.Error = true, "it is wrong"
	case "changed":
		r.Counts.Changed = 2
	}
	w.tell(id, control.Item{Run: r})
}

// runs gives the runs that somebody gets, page by page, and how many pages there were.
func (w *fleetWorld) runs(secret, query string) (list []string, pages int) {
	w.t.Helper()
	cursor := ""
	for {
		page := read[api.List[api.Run]](w, secret, "/v1/runs?"+query+"&cursor="+url.QueryEscape(cursor))
		pages++
		for _, r := range page.Items {
			list = append(list, r.Name+" "+r.Run+" "+string(r.Outcome))
		}
		if cursor = page.Next; cursor == "" {
			return list, pages
		}
	}
}

// Runs of all hosts are listed as far as somebody may read them, the newest first, with filters, in pages.
func TestRunsOfAllHosts(t *testing.T) {
	w := startFleet(t)
	web, web2, db := w.host("web1", nil), w.host("web2", map[string]string{"role": "web"}), w.host("db1", map[string]string{"role": "db"})
	w.run(web, "shop", 1, "changed")
	w.run(db, "shop", 2, "failed")
	w.run(web2, "shop", 3, "unchanged")
	w.run(web, "base", 4, "failed")
	w.run(web, "shop", 5, "running")
	w.run(db, "shop", 5, "changed") // at the same time
	all, err := access.ParseSelector("*")
	must(t, err)
	w.add("dora", access.Grant{Verb: access.Read, Hosts: all, Site: "base"})
	dora := w.login("dora")
	at := firstRun.Add(4 * time.Minute).Format(time.RFC3339)
	for _, test := range []struct {
		secret, query string
		want          []string
	}{
		{w.carol, "", []string{"web1 r005 running", "web1 r004 failed", "web2 r003 unchanged", "web1 r001 changed"}},
		{dora, "", []string{"web1 r004 failed"}},
		{dora, "site=shop", nil},
		{w.alice, "outcome=failed", []string{"web1 r004 failed", "db1 r002 failed"}},
		{w.carol, "outcome=failed", []string{"web1 r004 failed"}},
		{w.alice, "outcome=failed&site=shop", []string{"db1 r002 failed"}},
		{w.alice, "outcome=running", []string{"web1 r005 running"}},
		{w.alice, "outcome=changed", []string{"db1 r005 changed", "web1 r001 changed"}},
		{w.alice, "outcome=unchanged", []string{"web2 r003 unchanged"}},
		{w.alice, "site=shop&before=" + at, []string{"web2 r003 unchanged", "db1 r002 failed", "web1 r001 changed"}},
		{w.alice, "select=role%3Ddb&outcome=changed", []string{"db1 r005 changed"}},
		{w.alice, "select=none*", nil},
		{w.alice, "host=web2", []string{"web2 r003 unchanged"}},
		{w.alice, "host=" + string(db) + "&outcome=failed", []string{"db1 r002 failed"}},
	} {
		for _, limit := range []int{1, 2, 100} {
			if got, _ := w.runs(test.secret, fmt.Sprintf("limit=%d&%s", limit, test.query)); !slices.Equal(got, test.want) {
				t.Errorf("%s in pages of %d: %q, not %q", test.query, limit, got, test.want)
			}
		}
	}
	var got []string
	for r, err := range w.client(w.alice).Runs(t.Context(), client.RunFilter{Select: "web*", Outcome: "changed", Before: firstRun.Add(time.Hour)}) {
		must(t, err)
		got = append(got, r.Name+" "+r.Run+" "+r.Outcome)
	}
	if !slices.Equal(got, []string{"web1 r001 changed"}) {
		t.Errorf("the client gets %q", got)
	}
	if got, _ := w.runs(w.alice, "limit=1"); len(got) != 6 || !strings.Contains(got[0]+got[1], "web1 r005 running") || !strings.Contains(got[0]+got[1], "db1 r005 changed") {
		t.Errorf("all of them are %q", got)
	}
	// Who may not read a host does not learn that it is there, nor of its runs by a cursor.
	w.wantProblem(w.ask("GET", "/v1/runs?host=db1", w.carol, ""), 404, access.CodeNotFound)
	w.wantProblem(w.ask("GET", "/v1/runs?host=none", w.carol, ""), 404, access.CodeNotFound)
	next := read[api.List[api.Run]](w, w.alice, "/v1/runs?limit=1").Next
	w.wantProblem(w.ask("GET", "/v1/runs?limit=1&cursor="+url.QueryEscape(next), w.carol, ""), 400, "cursor")
	w.wantProblem(w.ask("GET", "/v1/runs?limit=1&site=shop&cursor="+url.QueryEscape(next), w.alice, ""), 400, "cursor")
	if runs := read[api.List[api.Run]](w, w.carol, "/v1/hosts/web1/runs?limit=2"); len(runs.Items) != 2 || runs.Items[0].Run != "r005" {
		t.Errorf("the runs of web1 are %+v", runs.Items)
	}
}

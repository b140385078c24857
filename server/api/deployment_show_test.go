package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/store"
)

func (w *deployWorld) client(secret string) *client.Client {
	w.t.Helper()
	c, err := client.New(client.Saved{URL: w.server.URL, Authority: trust.DigestOf(w.server.Certificate().Raw), Secret: secret})
	must(w.t, err)
	return c
}

// acts gives what can be done with a deployment, each with whether somebody may.
func acts(d client.Deployment) (list []string) {
	for _, a := range d.Acts {
		list = append(list, fmt.Sprintf("%s %v %d", a.Act, a.May, a.Hosts))
	}
	return list
}

// What can be done with a deployment is told before, with to how many hosts it will be done and whether one may; and the counts are those of its hosts.
func TestDeploymentSaysWhatActsWillDo(t *testing.T) {
	w := startDeployments(t)
	must(t, err2(w.client(w.alice).Upload(t.Context(), "shop", []byte(packed(t, "site.hcl")), "first")))
	w.add("bob", access.AllGrants()...)
	alice, bob, carol := w.client(w.alice), w.client(w.login("bob")), w.client(w.carol)
	d, err := alice.Deploy(t.Context(), client.DeployRequest{Site: "shop", Consent: "approve"})
	must(t, err)
	w.rounds()
	check := func(c *client.Client, want ...string) client.Deployment {
		t.Helper()
		d, err := c.DeploymentBrief(t.Context(), d.ID)
		must(t, err)
		if got := acts(d); !slices.Equal(got, want) || len(d.Members) != 0 {
			t.Errorf("there is %q, not %q", got, want)
		}
		whole, err := c.Deployment(t.Context(), d.ID)
		must(t, err)
		if got := acts(whole); !slices.Equal(got, want) || len(whole.Members) != d.Counts.Hosts || (whole.Plan == nil) != (d.Plan == nil) {
			t.Errorf("with its hosts there is %q, not %q: %+v", got, want, whole)
		}
		return d
	}
	check(alice, "approve false 2", "abort true 2") // who has asked does not approve
	got := check(bob, "approve true 2", "abort true 2")
	if got.Plan == nil || got.Plan.Digest == "" || !strings.Contains(got.Acts[0].Says, "hosts get revision 1, batch by batch: 2") || got.Counts.Hidden || got.Counts.NotBegun != 2 || strings.Contains(got.Acts[0].Says, "may not read") {
		t.Errorf("it is %+v", got)
	}
	if mine := check(carol, "approve false 1", "abort false 1"); mine.Plan != nil || !mine.Counts.Hidden || mine.Counts.Hosts != 1 || !strings.HasSuffix(mine.Acts[1].Says, "; and so with hosts that you may not read") {
		t.Errorf("carol sees %+v", mine)
	}
	must(t, err2(bob.Consent(t.Context(), d.ID, "approve", got.Plan.Digest, "")))
	check(bob, "pause true 2", "abort true 2")
	must(t, err2(bob.Steer(t.Context(), d.ID, "pause", "")))
	check(alice, "continue true 2", "abort true 2")
	must(t, err2(bob.Steer(t.Context(), d.ID, "continue", "")))
	w.rounds()
	if done := check(bob, "abort true 0"); done.Counts.Begun != 2 || done.Counts.States["ready"] != 2 || done.Phase != "done" {
		t.Errorf("it is %+v", done)
	}
	must(t, err2(bob.Steer(t.Context(), d.ID, "abort", "")))
	check(bob)
}

func err2[T any](_ T, err error) error { return err }

// Hosts of a deployment are listed in pages and by state, also those that a former version of the server has written.
func TestDeploymentMembers(t *testing.T) {
	w := startDeployments(t)
	must(t, err2(w.client(w.alice).Upload(t.Context(), "shop", []byte(packed(t, "site.hcl")), "first")))
	d, err := w.client(w.alice).Deploy(t.Context(), client.DeployRequest{Site: "shop"})
	must(t, err)
	w.rounds()
	list := func(secret string, states ...string) (names []string) {
		t.Helper()
		for h, err := range w.client(secret).Members(t.Context(), d.ID, states...) {
			must(t, err)
			names = append(names, h.Name+" "+h.State)
		}
		return names
	}
	for _, sql := range []string{`UPDATE deploy_hosts SET state = '' WHERE place = 0`, `UPDATE deploy_hosts SET state = '' WHERE place = 0`} {
		if got := list(w.alice); !slices.Equal(got, []string{"web1 ready", "db1 ready"}) {
			t.Errorf("there are %q", got)
		}
		if got := list(w.carol, "ready", "out"); !slices.Equal(got, []string{"web1 ready"}) {
			t.Errorf("carol sees %q", got)
		}
		if got := list(w.alice, "failed"); got != nil {
			t.Errorf("failed are %q", got)
		}
		must(t, w.service.Store.Write(t.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(sql)
			return err
		}))
	}
	n, err := w.service.CountMembers(t.Context(), &access.Caller{Name: "x", Grants: access.AllGrants()}, d.ID)
	must(t, err)
	if n.States[rollout.Ready] != 2 || len(n.Turns) != 1 || n.Turns[0].Turn != 1 || n.Turns[0].States[rollout.Ready] != 2 {
		t.Errorf("counted are %+v", n)
	}
	must(t, w.service.Store.Write(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(`UPDATE deploy_versions SET version = version + 1`) // it was written by a server before this one
		return err
	}))
	w.rounds() // writes it as it is to be
	var empty int64
	must(t, w.service.Store.Read(t.Context(), func(r store.Reader) error {
		return err2(store.One(r, `SELECT COUNT(*) FROM deploy_hosts WHERE state = ''`, nil, &empty))
	}))
	if empty != 0 {
		t.Error("a state is not written")
	}
	page := w.ask("GET", fmt.Sprintf("/v1/deployments/%d/members?limit=1", d.ID), w.alice, "")
	var first api.List[api.DeployHost]
	must(t, json.Unmarshal([]byte(page.text), &first))
	if first.Next == "" || len(first.Items) != 1 {
		t.Error(page)
	}
	w.wantProblem(w.ask("GET", fmt.Sprintf("/v1/deployments/%d/members?limit=1&cursor=%s", d.ID, first.Next), w.carol, ""), 400, "cursor")
	all, err := access.ParseSelector("*")
	must(t, err)
	w.add("dora", access.Grant{Verb: access.Read, Hosts: all, Site: "base"})
	dora := w.login("dora")
	for _, path := range []string{"/v1/deployments/1/members", "/v1/deployments/1", "/v1/deployments/1?members=none", "/v1/deployments/9?members=none"} {
		w.wantProblem(w.ask("GET", path, dora, ""), 404, access.CodeNotFound)
	}
}

// Deployments are listed by their phases, as far as somebody may see their site.
func TestDeploymentsByPhase(t *testing.T) {
	w := startDeployments(t)
	alice := w.client(w.alice)
	must(t, err2(alice.Upload(t.Context(), "shop", []byte(packed(t, "site.hcl")), "first")))
	must(t, err2(alice.Deploy(t.Context(), client.DeployRequest{Site: "shop"})))
	w.rounds()
	aborted, err := alice.Deploy(t.Context(), client.DeployRequest{Site: "shop", Consent: "start"})
	must(t, err)
	w.rounds()
	for range 2 { // the second is known already
		for phases, want := range map[string]string{"": "2 1", "done": "1", "planned": "2", "planned,done": "2 1", "failed": ""} {
			var got []string
			f := client.DeploymentFilter{Site: "shop"}
			if phases != "" {
				f.Phase = strings.Split(phases, ",")
			}
			for d, err := range alice.DeploymentsBy(t.Context(), f) {
				must(t, err)
				if got = append(got, fmt.Sprint(d.ID)); d.Plan != nil || d.Turns == 0 {
					t.Errorf("%+v", d)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q, not %q", phases, got, want)
			}
		}
	}
	must(t, err2(alice.Steer(t.Context(), aborted.ID, "abort", "")))
	list, err := w.service.Deployments(context.Background(), &access.Caller{Grants: access.AllGrants()}, deploy.Filter{Phases: []deploy.Phase{deploy.Aborted}})
	if err != nil || len(list) != 1 || list[0].Phase != deploy.Aborted {
		t.Errorf("aborted are %+v: %v", list, err)
	}
}

// A rollback is shown before, by what would refuse it, and nothing is changed by that.
func TestRollbackIsPreviewed(t *testing.T) {
	w := startDeployments(t)
	alice, carol := w.client(w.alice), w.client(w.carol)
	must(t, err2(alice.Upload(t.Context(), "shop", []byte(packed(t, "site.hcl")), "")))
	must(t, err2(alice.Deploy(t.Context(), client.DeployRequest{Site: "shop"})))
	w.rounds()
	audit := func() string { return w.ask("GET", "/v1/audit?limit=1", w.alice, "").text }
	before := audit()
	got, err := alice.PreviewRollback(t.Context(), "shop", "*", 1)
	must(t, err)
	if len(got) != 2 || got[0].From != 1 || got[0].To != 1 || got[0].Pinned {
		t.Errorf("it would do %+v", got)
	}
	if got, err = carol.PreviewRollback(t.Context(), "shop", "web1", 1); err != nil || len(got) != 1 || got[0].Name != "web1" {
		t.Errorf("carol would do %+v: %v", got, err)
	}
	if got, err = carol.PreviewRollback(t.Context(), "shop", "*", 1); err != nil || len(got) != 1 || got[0].Name != "web1" {
		t.Errorf("carol would do %+v: %v", got, err)
	}
	w.wantProblem(w.ask("GET", "/v1/sites/shop/rollback?hosts=db1&to=1", w.carol, ""), http.StatusNotFound, deploy.ErrNotFound)
	w.wantProblem(w.ask("GET", "/v1/sites/shop/rollback?hosts=*", w.alice, ""), http.StatusGone, deploy.ErrGone)
	w.wantProblem(w.ask("GET", "/v1/sites/shop/rollback?hosts=none&to=1", w.alice, ""), http.StatusNotFound, deploy.ErrNotFound)
	w.wantProblem(w.ask("GET", "/v1/sites/shop/rollback", w.alice, ""), http.StatusUnprocessableEntity, access.CodeInvalid)
	if pins := w.ask("GET", "/v1/sites/shop/pins", w.alice, ""); pins.text != "{\"items\":[]}\n" || audit() != before {
		t.Errorf("something has changed: %s", pins.text)
	}
	must(t, err2(alice.Rollback(t.Context(), "shop", client.RollbackRequest{Hosts: "web1", To: 1})))
	if got, err = alice.PreviewRollback(t.Context(), "shop", "web1", 1); err != nil || !got[0].Pinned {
		t.Errorf("it would do %+v: %v", got, err)
	}
}

// What is unpinned is told before, by what would refuse it, of hosts that one may see alone; and nothing is changed by that.
func TestUnpinIsPreviewed(t *testing.T) {
	w := startDeployments(t)
	alice, carol := w.client(w.alice), w.client(w.carol)
	must(t, err2(alice.Upload(t.Context(), "shop", []byte(packed(t, "site.hcl")), "")))
	must(t, err2(alice.Deploy(t.Context(), client.DeployRequest{Site: "shop"})))
	w.rounds()
	w.wantProblem(w.ask("GET", "/v1/sites/shop/unpin?hosts=*", w.alice, ""), http.StatusConflict, deploy.ErrPinned)
	must(t, err2(alice.Rollback(t.Context(), "shop", client.RollbackRequest{Hosts: "*", To: 1, Reason: "it was better"})))
	for hosts, names := range map[string]string{"*": "db1 web1", "w*,!db1": "web1", "db1": "db1"} {
		got, err := alice.PreviewUnpin(t.Context(), "shop", hosts)
		var told []string
		for _, pin := range got {
			if told = append(told, pin.Name); pin.Revision != "1" || pin.By != "alice" || pin.Why != "it was better" {
				t.Errorf("%s: %+v", hosts, pin)
			}
		}
		slices.Sort(told)
		if err != nil || strings.Join(told, " ") != names {
			t.Errorf("%s: %q would be unpinned: %v", hosts, told, err)
		}
	}
	if got, err := carol.PreviewUnpin(t.Context(), "shop", "*"); err != nil || len(got) != 1 || got[0].Name != "web1" {
		t.Errorf("carol would unpin %+v: %v", got, err)
	}
	w.wantProblem(w.ask("GET", "/v1/sites/shop/unpin?hosts=db1", w.carol, ""), http.StatusNotFound, deploy.ErrNotFound)
	if pins, err := alice.PreviewUnpin(t.Context(), "shop", "*"); err != nil || len(pins) != 2 {
		t.Errorf("something has changed: %+v: %v", pins, err)
	}
	must(t, err2(alice.Unpin(t.Context(), "shop", "web1", "")))
	w.wantProblem(w.ask("GET", "/v1/sites/shop/unpin?hosts=web1", w.alice, ""), http.StatusConflict, deploy.ErrPinned)
}

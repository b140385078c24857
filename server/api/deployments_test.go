package api_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// fleet is two hosts that are connected and do what they are told, with a site that is always the same.
type fleet struct{ assigned map[trust.ID]trust.Position }

func fleetID(n int) trust.ID { return trust.ID(strings.Repeat(string(rune('a'+n)), 51) + "a") }

func (f *fleet) List(context.Context) ([]deploy.Enrolled, error) {
	return []deploy.Enrolled{{ID: fleetID(0), Name: "web1"}, {ID: fleetID(1), Name: "db1"}}, nil
}

func (f *fleet) Held(trust.ID, string) trust.Position { return trust.Position{} }

func (f *fleet) Loop(host trust.ID, _ string) (control.Loop, bool) {
	at, ok := f.assigned[host]
	return control.Loop{Position: at, Phase: control.PhaseWaiting, Condition: control.ConditionConverged}, ok
}

func (f *fleet) Away(trust.ID) time.Time { return time.Time{} }

func (f *fleet) Facts(trust.ID) (map[string]json.RawMessage, time.Time) {
	return map[string]json.RawMessage{}, time.Time{}
}

func (f *fleet) Outputs(trust.ID, string) (map[string]json.RawMessage, time.Time) {
	return nil, time.Time{}
}

func (f *fleet) Assign(_ store.Tx, host trust.ID, a *trust.Assignment) error {
	a.Position = trust.Position{Epoch: 1, N: f.assigned[host].N + 1}
	f.assigned[host] = a.Position
	return nil
}

func (f *fleet) Wake(context.Context, ...trust.ID) error { return nil }

func (f *fleet) Plan(context.Context, trust.ID, string, *deploy.Prepared) (*deploy.HostPlan, error) {
	return &deploy.HostPlan{}, nil
}

func (f *fleet) Ask(_ context.Context, q evaluate.Question) (*evaluate.Answer, error) {
	a := &evaluate.Answer{Name: "shop", Hosts: []site.Host{{Name: "web1", Executor: "agent"}, {Name: "db1", Executor: "agent"}}}
	for _, h := range q.Hosts {
		a.Results = append(a.Results, evaluate.Result{Host: h.Name, Identity: trust.DigestOf([]byte(h.Name)), Sealed: []byte("sealed")})
	}
	return a, nil
}

// deployWorld is a server that deploys; carol deploys to web*.
type deployWorld struct {
	*world
	service      *deploy.Service
	store        *store.Store
	alice, carol string
}

func startDeployments(t *testing.T) *deployWorld {
	ctx := t.Context()
	e, err := sqlite.Open(ctx, t.TempDir())
	must(t, err)
	s, err := store.New(ctx, e, store.Options{Migrations: append(slices.Concat(access.Migrations(), deploy.Migrations()), deploy.PlanMigration(), deploy.ClusterMigration(), deploy.OutlineMigration(), deploy.MembersMigration(), deploy.VersionMigration(), deploy.PolicyMigration(), deploy.ClassMigration())})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(ctx)
	must(t, err)
	c, err := contents.OpenFolder(t.TempDir())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	f := &fleet{assigned: map[trust.ID]trust.Position{}}
	w := &deployWorld{store: s, service: deploy.New(deploy.Options{Store: s, Contents: c, Dir: t.TempDir(), Hosts: f, Seen: f, Targets: f, Planner: f, Evaluate: f})}
	w.world = start(t, func(o *api.Options) { o.Deployments = w.service })
	web, err := access.ParseSelector("web*")
	must(t, err)
	w.add("carol", access.Grant{Verb: access.Deploy, Hosts: web, Site: "shop"}, access.Grant{Verb: access.Read, Hosts: web, Site: "shop"})
	w.alice, w.carol = w.login("alice"), w.login("carol")
	return w
}

func packed(t *testing.T, name string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}))
	must(t, w.Close())
	return out.String()
}

func (w *deployWorld) rounds() {
	for range 10 {
		_, err := w.service.Round(context.Background())
		must(w.t, err)
	}
}

func TestDeployments(t *testing.T) {
	w := startDeployments(t)
	expect := func(r reply, status int, words ...string) reply {
		t.Helper()
		if r.status != status || slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(r.text, word) }) {
			t.Fatalf("%d %s, want %d with %q", r.status, r.text, status, words)
		}
		return r
	}
	tarHeader := []string{"Content-Type", "application/x-tar"}
	expect(w.ask("POST", "/v1/sites/shop/revisions", w.carol, packed(t, "../site.hcl"), tarHeader...), http.StatusBadRequest, `"invalid"`)
	expect(w.ask("POST", "/v1/sites/other/revisions", w.alice, packed(t, "site.hcl"), tarHeader...), http.StatusBadRequest, `"invalid"`)
	expect(w.ask("POST", "/v1/sites/shop/revisions?message=first", w.carol, packed(t, "site.hcl"), tarHeader...), http.StatusCreated, `"number":1`, `"web1","db1"`)
	expect(w.ask("GET", "/v1/sites", w.carol, ""), http.StatusOK, `"name":"shop"`)
	expect(w.ask("GET", "/v1/sites/shop/revisions", w.carol, ""), http.StatusOK, `"message":"first"`)
	expect(w.ask("GET", "/v1/sites/none/revisions", w.carol, ""), http.StatusNotFound)
	expect(w.ask("POST", "/v1/deployments", w.carol, `{"site":"shop","hosts":"db1"}`), http.StatusBadRequest, "names no host")
	expect(w.ask("POST", "/v1/deployments", w.carol, `{"site":"shop","hosts":"web*"}`), http.StatusCreated, `"id":1`, `"phase":"planned"`)
	w.rounds()
	expect(w.ask("GET", "/v1/deployments/1", w.carol, ""), http.StatusOK, `"phase":"done"`, `"state":"ready"`)
	expect(w.ask("POST", "/v1/deployments", w.alice, `{"site":"shop","consent":"approve"}`), http.StatusCreated, `"id":2`)
	w.rounds()
	shown := expect(w.ask("GET", "/v1/deployments/2", w.alice, ""), http.StatusOK, `"code":"approval"`, `"db1"`, `"batches":[{"label":"batch 1 of 1","hosts":2}]`, `"batch":1`)
	var d api.Deployment
	must(t, json.Unmarshal([]byte(shown.text), &d))
	if r := expect(w.ask("GET", "/v1/deployments/2?members=plan", w.alice, ""), http.StatusOK, d.Plan.Digest, `"counts":`); strings.Contains(r.text, `"members"`) {
		t.Errorf("the plan comes with the hosts: %s", r.text)
	}
	if r := expect(w.ask("GET", "/v1/deployments/2", w.carol, ""), http.StatusOK); strings.Contains(r.text, "db1") || strings.Contains(r.text, `"plan"`) {
		t.Errorf("carol sees what she may not read: %s", r.text)
	}
	expect(w.ask("POST", "/v1/deployments/2/approve", w.alice, fmt.Sprintf(`{"plan":%q}`, d.Plan.Digest)), http.StatusForbidden, `"same_person"`)
	expect(w.ask("POST", "/v1/deployments/2/approve", w.carol, fmt.Sprintf(`{"plan":%q}`, d.Plan.Digest)), http.StatusForbidden)
	w.add("bob", access.AllGrants()...)
	bob := w.login("bob")
	expect(w.ask("POST", "/v1/deployments/2/approve", bob, fmt.Sprintf(`{"plan":%q}`, trust.DigestOf(nil))), http.StatusConflict, `"plan_differs"`)
	expect(w.ask("POST", "/v1/deployments/2/approve", bob, fmt.Sprintf(`{"plan":%q}`, d.Plan.Digest)), http.StatusOK, `"approved":"bob"`)
	w.rounds()
	expect(w.ask("GET", "/v1/deployments/2", bob, ""), http.StatusOK, `"phase":"done"`)
	expect(w.ask("POST", "/v1/deployments/2/pause", bob, `{}`), http.StatusConflict, `"wrong_phase"`)
	expect(w.ask("POST", "/v1/deployments/9/abort", bob, `{}`), http.StatusNotFound)
	expect(w.ask("POST", "/v1/sites/shop/rollback", bob, `{"hosts":"web1"}`), http.StatusGone, `"gone"`)
	expect(w.ask("POST", "/v1/sites/shop/rollback", bob, `{"hosts":"web1","to":1,"reason":"slow"}`), http.StatusOK, `"by":"bob"`)
	expect(w.ask("GET", "/v1/sites/shop/targets", w.alice, ""), http.StatusOK, `[{"revision":1,"hosts":2}]`)
	expect(w.ask("GET", "/v1/sites/shop/targets", w.carol, ""), http.StatusOK, `[{"revision":1,"hosts":1}]`)
	expect(w.ask("GET", "/v1/sites/none/targets", w.carol, ""), http.StatusNotFound)
	expect(w.ask("GET", "/v1/clusters", w.carol, ""), http.StatusOK, `{"items":[]}`)
	expect(w.ask("GET", "/v1/sites/shop/pins", w.carol, ""), http.StatusOK, `"name":"web1"`)
	expect(w.ask("GET", "/v1/sites/shop/pins?host=web1", w.carol, ""), http.StatusOK, `"name":"web1"`)
	expect(w.ask("GET", "/v1/sites/none/pins?host=web1", w.carol, ""), http.StatusOK, `{"items":[]}`)
	expect(w.ask("GET", "/v1/sites/shop/pins?host=db1", w.alice, ""), http.StatusOK, `{"items":[]}`)
	onlyDB, err := access.ParseSelector("db*")
	must(t, err)
	w.add("nora", access.Grant{Verb: access.Read, Hosts: onlyDB, Site: access.All})
	expect(w.ask("GET", "/v1/sites/shop/pins?host=web1", w.login("nora"), ""), http.StatusOK, `{"items":[]}`)
	expect(w.ask("POST", "/v1/sites/shop/unpin", w.carol, `{"hosts":"web1"}`), http.StatusOK, `"name":"web1"`)
	expect(w.ask("POST", "/v1/sites/shop/unpin", w.carol, `{"hosts":"web1"}`), http.StatusConflict, `"pinned"`)
	first := expect(w.ask("GET", "/v1/deployments?limit=1", w.alice, ""), http.StatusOK, `"id":2`, `"next"`)
	var page api.List[api.Deployment]
	must(t, json.Unmarshal([]byte(first.text), &page))
	if r := expect(w.ask("GET", "/v1/deployments?limit=1&cursor="+page.Next, w.alice, ""), http.StatusOK, `"id":1`); strings.Contains(r.text, `"next"`) {
		t.Error("there is another page")
	}
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}

// A server that deploys nothing says so.
func TestNoDeployments(t *testing.T) {
	w := start(t, nil)
	if r := w.ask("GET", "/v1/deployments", w.login("alice"), ""); r.status != http.StatusNotImplemented {
		t.Errorf("%d %s", r.status, r.text)
	}
}

package deploy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
)

// A deployment goes from host to host; each target is changed once, and audited in the same transaction.
func TestDeploy(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3")
	p.away[p.id("web2")] = p.now
	d := p.deploy(shop("one", "web1", "web2", "web3"), Request{})
	for range 3 {
		_, err := p.Round(t.Context())
		p.must(err)
	}
	if got := p.assigned(); len(got) != 1 || got[0].Host != p.id("web1") || got[0].Site != "shop" {
		t.Fatalf("before web1 is ready: %+v", got)
	}
	p.settle()
	d = p.expect(d.ID, Paused, CodeAllOut) // the batch of web2
	if d.Hosts[1].Why.Code != CodeAway {
		t.Errorf("web2: %+v", d.Hosts[1])
	}
	_, err := p.Continue(t.Context(), p.ann, d.ID, "web2 is being repaired")
	p.must(err)
	p.settle()
	p.expect(d.ID, Done, "")
	delete(p.away, p.id("web2"))
	p.settle()
	if d := p.expect(d.ID, Done, ""); d.Hosts[1].State != rollout.Ready {
		t.Errorf("web2 is back: %+v", d.Hosts[1])
	}
	if got := len(p.assigned()); got != 3 || p.audited("target.assign") != 3 {
		t.Errorf("%d targets, %d audited", got, p.audited("target.assign"))
	}
	// The same again is nothing new.
	again := p.deploy(shop("one", "web1", "web2", "web3"), Request{})
	p.settle()
	p.expect(again.ID, Done, "")
	if got := len(p.assigned()); got != 3 {
		t.Errorf("%d targets after the same again", got)
	}
	// A new host gets what was deployed last.
	p.enroll("web4")
	last := p.deploy(shop("two", "web1", "web2", "web3", "web4", "web5"), Request{})
	p.settle()
	id := p.enroll("web5")
	p.settle()
	if d := p.expect(last.ID, Done, ""); len(d.Hosts) != 5 || d.host(id).State != rollout.Ready {
		t.Errorf("web5: %+v", d.host(id))
	}
}

// A transaction that fails leaves no target, no audit and no progress behind, and the next round does all of it.
func TestTransactionFails(t *testing.T) {
	p := newPlace(t, "web1")
	d := p.deploy(shop("one", "web1"), Request{})
	p.fails = errors.New("the power is cut")
	for range 3 {
		_, _ = p.Round(t.Context())
	}
	if n := len(p.assigned()); n+p.audited("target.assign") != 0 || p.get(d.ID).Phase != Planned {
		t.Fatalf("%d targets, %d audited, %s", n, p.audited("target.assign"), p.get(d.ID).Phase)
	}
	p.fails = nil
	p.settle()
	p.expect(d.ID, Done, "")
	if n := len(p.assigned()); n != 1 || p.audited("target.assign") != 1 {
		t.Fatalf("%d targets, %d audited", n, p.audited("target.assign"))
	}
}

// Nothing but a signed absence, which somebody has asked for, takes from a host what it has.
func TestRemoval(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	p.deploy(shop("one", "web1", "web2"), Request{})
	p.settle()
	d := p.deploy(shop("two", "web1"), Request{})
	p.settle()
	d = p.get(d.ID)
	if h := d.host(p.id("web2")); h == nil || h.Why.Code != CodeEmpty || len(p.assigned()) != 3 {
		t.Fatalf("web2 is no longer declared: %+v, %d targets", h, len(p.assigned()))
	}
	empty := p.deploy(shop("", "web1"), Request{})
	p.settle()
	p.expect(empty.ID, Failed, CodeEmpty)
	if len(p.assigned()) != 3 {
		t.Fatal("an empty state was deployed")
	}
	meant := p.deploy(shop("two", "web1"), Request{Empty: true})
	p.settle()
	p.expect(meant.ID, Done, "")
	if last := p.assigned()[3]; last.Host != p.id("web2") || !last.Absent {
		t.Fatalf("the absence of web2: %+v", last)
	}
}

// That rules may delete all that they have made is a part of what hosts are given: the same revision is evaluated anew for it, once, and for what has no rules nothing changes.
func TestEmptyRules(t *testing.T) {
	for _, hasRules := range []bool{false, true} {
		p := newPlace(t, "web1")
		s := shop("one", "web1")
		s.Rules = hasRules
		before := 0
		for i, empty := range []bool{false, true, true, false} {
			d := p.deploy(s, Request{Empty: empty})
			p.settle()
			p.expect(d.ID, Done, "")
			n := len(p.assigned())
			if isNew, isWanted := n > before, i == 0 || hasRules && i != 2; isNew != isWanted {
				t.Errorf("rules %v, deployment %d: %d targets, after %d", hasRules, i, n, before)
			}
			before = n
		}
	}
}

// An approval is another person's, of the plan that there is; who plans the same later goes on, and who plans something else waits.
func TestApproval(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3", "web4")
	p.away[p.id("web3")], p.away[p.id("web4")] = p.now, p.now
	s := shop("one", "web1", "web2", "web3", "web4")
	s.Rollout = nil
	d := p.deploy(s, Request{Consent: Approval})
	p.settle()
	d = p.expect(d.ID, Planned, CodeApproval)
	if len(d.Plan.Hosts) != 2 || len(d.Plan.Rows) != 1 {
		t.Fatalf("the plan: %+v", d.Plan)
	}
	_, err := p.Approve(t.Context(), p.ann, d.ID, d.Plan.Digest, "")
	if diag.CodeOf(err) != access.CodeSamePerson {
		t.Errorf("who asks approves: %v", err)
	}
	if _, err := p.Approve(t.Context(), p.bob, d.ID, trust.DigestOf(nil), ""); diag.CodeOf(err) != ErrPlan {
		t.Errorf("another plan: %v", err)
	}
	mute := &access.Caller{Name: "eve"}
	if _, err := p.Approve(t.Context(), mute, d.ID, d.Plan.Digest, ""); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("without a grant: %v", err)
	}
	if len(p.assigned()) != 0 {
		t.Fatal("a target has changed before the approval")
	}
	_, err = p.Approve(t.Context(), p.bob, d.ID, d.Plan.Digest, "looks right")
	p.must(err)
	p.settle()
	p.expect(d.ID, Done, "")
	p.away = map[trust.ID]time.Time{}
	p.tell(p.id("web4"), `"suse"`)
	p.settle()
	d = p.expect(d.ID, Done, "")
	if a, b := d.host(p.id("web3")), d.host(p.id("web4")); a.State != rollout.Ready || b.Why.Code != CodeDiffers {
		t.Errorf("the same plan: %+v; another: %+v", a, b)
	}
}

// A pin keeps a host as it is, whatever is deployed, until it is taken away.
func TestPins(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	p.deploy(shop("one", "web1", "web2"), Request{})
	p.settle()
	p.deploy(shop("two", "web1", "web2"), Request{})
	p.settle()
	pins, err := p.Rollback(t.Context(), p.bob, Return{Site: "shop", Hosts: "web1", To: 0, Why: "two is slow"})
	p.must(err)
	got := p.assigned()
	if last := got[len(got)-1]; len(pins) != 1 || len(got) != 5 || last.Host != p.id("web1") || last.Identity != got[0].Identity || last.Position.Compare(got[3].Position) <= 0 {
		t.Fatalf("the rollback: %+v", got)
	}
	if p.audited("host.pin") != 1 || p.audited("target.assign") != 5 {
		t.Error("the rollback is not in the audit")
	}
	for i := range 5 { // it keeps the revision that it needs
		p.settle()
		p.deploy(shop(fmt.Sprint("later ", i), "web1", "web2"), Request{})
	}
	p.settle()
	d := p.deploy(shop("newest", "web1", "web2"), Request{})
	p.settle()
	if _, err := p.Continue(t.Context(), p.ann, d.ID, ""); err == nil {
		p.settle()
	}
	d = p.get(d.ID)
	if h := d.host(p.id("web1")); h.Why.Code != CodePinned || h.Turn != 0 {
		t.Fatalf("web1 is pinned: %+v", h)
	}
	list, err := p.Revisions(t.Context(), p.ann, "shop")
	p.must(err)
	if n := len(list); n < Keep+1 || n > Keep+2 || !slices.ContainsFunc(list, func(r Revision) bool { return r.Number == 1 }) {
		t.Errorf("%d revisions are kept: %+v", n, list)
	}
	_, err = p.Unpin(t.Context(), p.bob, "shop", "role=w", "")
	p.must(err)
	p.settle()
	if h := p.get(d.ID).host(p.id("web1")); h.State != rollout.Ready || p.audited("host.unpin") != 1 {
		t.Errorf("web1 is not pinned any more: %+v", h)
	}
}

// What changes is gathered, a host is not evaluated often, and what makes no difference changes nothing.
func TestChangedFacts(t *testing.T) {
	p := newPlace(t, "web1")
	d := p.deploy(shop("one", "web1"), Request{})
	p.settle()
	p.expect(d.ID, Done, "")
	asked := p.asked
	p.now = p.now.Add(Between)
	p.settle()
	if p.asked != asked {
		t.Error("nothing has changed, and it was evaluated anew")
	}
	p.tell(p.id("web1"), `"suse"`)
	p.now = p.now.Add(Gather - time.Second)
	p.settle()
	if p.asked != asked {
		t.Error("changes are not gathered")
	}
	p.now = p.now.Add(time.Second)
	p.settle()
	if p.asked != asked+1 || len(p.assigned()) != 2 {
		t.Fatalf("evaluated %d times, %d targets", p.asked-asked, len(p.assigned()))
	}
	p.tell(p.id("web1"), `"arch"`)
	p.now = p.now.Add(Between - time.Second)
	p.settle()
	if p.asked != asked+1 {
		t.Error("it was evaluated again too soon")
	}
	p.now = p.now.Add(time.Second)
	p.settle()
	if p.asked != asked+2 || len(p.assigned()) != 3 {
		t.Fatalf("evaluated %d times, %d targets", p.asked-asked, len(p.assigned()))
	}
}

// A later deployment ends one that rolls; what is invalid ends before anything begins.
func TestLaterDeployments(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	first := p.deploy(shop("one", "web1", "web2"), Request{})
	for range 3 {
		_, err := p.Round(t.Context())
		p.must(err)
	}
	wrong := p.deploy(shop("broken", "web1", "web2"), Request{})
	p.settle()
	p.expect(wrong.ID, Failed, CodeInvalid)
	p.expect(first.ID, Done, "")
	second := p.deploy(shop("two", "web1", "web2"), Request{})
	for range 3 {
		_, err := p.Round(t.Context())
		p.must(err)
	}
	third := p.deploy(shop("three", "web1", "web2"), Request{})
	p.settle()
	p.expect(second.ID, Superseded, CodeOrder)
	p.expect(third.ID, Done, "")
	if got := p.assigned(); got[len(got)-1].Revision == got[0].Revision {
		t.Errorf("%+v", got)
	}
}

// Who may deploy to some hosts deploys to no others, and sees no others.
func TestGrants(t *testing.T) {
	p := newPlace(t, "web1", "db1")
	selector, err := access.ParseSelector("web*")
	p.must(err)
	carl := &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Deploy, Hosts: selector, Site: "shop"}, {Verb: access.Read, Hosts: selector, Site: "shop"}}}
	_, err = p.Upload(t.Context(), carl, "shop", archive(t, shop("one", "web1", "db1")), "")
	p.must(err)
	if d, err := p.Create(t.Context(), carl, Request{Site: "shop"}); err != nil || len(d.Hosts) != 1 || d.Hosts[0].Name != "web1" {
		t.Errorf("all hosts are those that carl may see: %+v, %v", d, err)
	}
	all := selector
	p.must(all.UnmarshalText([]byte("*")))
	reader := &access.Caller{Name: "rita", Grants: append(slices.Clone(carl.Grants), access.Grant{Verb: access.Read, Hosts: all, Site: "shop"})}
	if _, err := p.Create(t.Context(), reader, Request{Site: "shop"}); diag.CodeOf(err) != access.CodeForbidden || !strings.Contains(err.Error(), "db1") {
		t.Errorf("who sees more than they may deploy to: %v", err)
	}
	// Nothing tells whether there is a host that carl may not see.
	answers := func(hosts string) (out []string) {
		_, created := p.Create(t.Context(), carl, Request{Site: "shop", Hosts: hosts})
		_, rolled := p.Rollback(t.Context(), carl, Return{Site: "shop", Hosts: hosts, To: 1, Why: ""})
		_, unpinned := p.Unpin(t.Context(), carl, "shop", hosts, "")
		_, previewed := p.PreviewRollback(t.Context(), carl, "shop", hosts, 1)
		_, looked := p.PreviewUnpin(t.Context(), carl, "shop", hosts)
		for _, err := range []error{created, rolled, unpinned, previewed, looked} {
			out = append(out, strings.ReplaceAll(fmt.Sprint(diag.CodeOf(err), " ", err), hosts, "HOSTS"))
		}
		return out
	}
	for _, names := range [][2]string{{"db1", "xx1"}, {"d*", "x*"}, {"?b1", "?x1"}} {
		if there, missing := answers(names[0]), answers(names[1]); !slices.Equal(there, missing) || strings.HasPrefix(there[0], " ") {
			t.Errorf("%q, and where there is none %q", there, missing)
		}
	}
	if _, err := p.Upload(t.Context(), carl, "other", archive(t, toySite{Name: "other"}), ""); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("another site: %v", err)
	}
	if _, err := p.Upload(t.Context(), p.ann, "other", archive(t, shop("one")), ""); diag.CodeOf(err) != ErrInvalid {
		t.Errorf("under another name: %v", err)
	}
	_, err = p.Create(t.Context(), carl, Request{Site: "shop", Hosts: "web*"})
	p.must(err)
	whole, err := p.Create(t.Context(), p.ann, Request{Site: "shop"})
	p.must(err)
	d, err := p.Deployment(t.Context(), carl, whole.ID)
	p.must(err)
	if len(d.Hosts) != 1 || d.Hosts[0].Name != "web1" || d.Batches != nil {
		t.Errorf("carl sees %+v", d.Hosts)
	}
	if _, err := p.Abort(t.Context(), carl, whole.ID, ""); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("carl aborts: %v", err)
	}
	if _, err := p.Deployment(t.Context(), &access.Caller{Name: "eve"}, whole.ID); diag.CodeOf(err) != ErrNotFound {
		t.Errorf("eve sees it: %v", err)
	}
}

// One host that takes too long to evaluate is no hindrance to others.
func TestOneReachesLimits(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3")
	p.slow = "web2"
	s := shop("one", "web1", "web2", "web3")
	d := p.deploy(s, Request{})
	p.settle()
	if d = p.expect(d.ID, Failed, CodeInvalid); !strings.Contains(d.Why.Text, "web2") || strings.Contains(d.Why.Text, "web1") {
		t.Errorf("%+v", d.Why)
	}
}

// What a killed process has left goes, and what revisions need stays.
func TestTidy(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("one", "web1"), Request{})
	p.settle()
	for _, name := range []string{"draft-1", "out-1", "tree-" + strings.Repeat("0", 64)} {
		p.must(os.MkdirAll(filepath.Join(p.Dir, name, "x"), 0o700))
	}
	long := time.Now().Add(-2 * time.Hour)
	p.must(os.Chtimes(filepath.Join(p.Dir, "out-1"), long, long))
	p.must(p.tidy(t.Context()))
	left, err := os.ReadDir(p.Dir)
	p.must(err)
	if len(left) != 1 || !strings.HasPrefix(left[0].Name(), "tree-") || left[0].Name() == "tree-"+strings.Repeat("0", 64) {
		t.Errorf("left: %v", left)
	}
	for range KeepDeployments + 5 {
		_, err := p.Create(t.Context(), p.ann, Request{Site: "shop", Message: "again"})
		p.must(err)
		_, err = p.Round(t.Context())
		p.must(err)
		_, err = p.Round(t.Context())
		p.must(err)
	}
	list, err := p.Deployments(t.Context(), p.ann, Filter{Site: "shop", Limit: 1000})
	p.must(err)
	if len(list) > KeepDeployments+3 || list[0].ID != KeepDeployments+6 {
		t.Errorf("%d deployments are kept, the newest is %d", len(list), list[0].ID)
	}
}

// A host is changed in its windows alone, and says until when it waits.
func TestOutsideOfWindows(t *testing.T) {
	p := newPlace(t, "web1")
	w, err := site.ParseWindow(nil, "02:00-04:00", "")
	p.must(err)
	s := shop("one", "web1")
	s.Windows = site.Schedule{{w}}
	d := p.deploy(s, Request{})
	p.settle()
	d = p.expect(d.ID, Paused, CodeAllOut)
	opens := time.Date(2023, 11, 15, 2, 0, 0, 0, time.UTC)
	if why := d.Hosts[0].Why; why.Code != CodeWindow || !why.Until.Equal(opens) || len(p.assigned()) != 0 {
		t.Fatalf("at %s: %+v", p.now, why)
	}
	p.now = opens
	p.settle()
	if p.expect(d.ID, Done, ""); len(p.assigned()) != 1 {
		t.Errorf("%d targets in the window", len(p.assigned()))
	}
}

package deploy

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/server/access"
)

// demand sets a policy.
func (p *place) demand(q Policy) {
	p.t.Helper()
	q.Why = "two see more than one"
	p.must(err2(p.SetPolicy(p.t.Context(), p.ann, q)))
}

// approve approves the present plan of a deployment.
func (p *place) approve(by *access.Caller, d *Deployment) error {
	p.t.Helper()
	return err2(p.Approve(p.t.Context(), by, d.ID, p.get(d.ID).Plan.Digest, ""))
}

// Where the policy of a site, or that of all, demands approvals, every deployment waits for one, whatever was asked for.
func TestPolicyDemandsApproval(t *testing.T) {
	for _, of := range []string{"shop", AllSites} {
		p := newPlace(t, "web1")
		p.deploy(shop("one", "web1"), Request{})
		p.settle()
		p.demand(Policy{Site: of, Approvals: true})
		for i, consent := range []Consent{NoConsent, Start, Approval} {
			d := p.deploy(shop(strings.Repeat("two", i+1), "web1"), Request{Consent: consent})
			p.settle()
			p.expect(d.ID, Planned, CodeApproval)
			if err := p.approve(p.ann, d); diag.CodeOf(err) != access.CodeSamePerson {
				t.Errorf("%s, %q: who asked approves: %v", of, consent, err)
			}
			if n := len(p.assigned()); n != 1+i {
				t.Errorf("%s, %q: %d targets before the approval", of, consent, n)
			}
			p.must(p.approve(p.bob, d))
			p.settle()
			p.expect(d.ID, Done, "")
		}
	}
}

// What has not begun when the policy is set waits for an approval, too; of what has begun, no further host gets anything.
func TestPolicyHoldsDeploymentsUnderWay(t *testing.T) {
	for _, consent := range []Consent{NoConsent, Start} {
		p := newPlace(t, "web1")
		d := p.deploy(shop("one", "web1"), Request{Consent: consent})
		p.demand(Policy{Site: "shop", Approvals: true})
		p.settle()
		p.expect(d.ID, Planned, CodeApproval)
		p.must(p.approve(p.bob, d))
		p.settle()
		p.expect(d.ID, Done, "")
	}
	p := newPlace(t, "web1", "web2")
	d := p.deploy(shop("one", "web1", "web2"), Request{})
	for range 3 {
		p.must(err2(p.Round(t.Context())))
	}
	if len(p.assigned()) != 1 {
		t.Fatalf("%d targets", len(p.assigned()))
	}
	p.demand(Policy{Site: "shop", Approvals: true})
	p.settle()
	_, err := p.Continue(t.Context(), p.ann, d.ID, "")
	p.settle()
	if h := p.get(d.ID).host(p.id("web2")); h.State != rollout.Out || h.Why.Code != CodePolicy || len(p.assigned()) != 1 {
		t.Errorf("web2, after a continue (%v): %+v, and %d targets", err, h, len(p.assigned()))
	}
}

// Neither hosts that come late, nor a rollback, nor an unpin, nor what a host has become by itself, nor taking a cluster away is a way past the policy.
func TestPolicyHasNoWayAround(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	declared := shop("one", "web1", "web2", "web3")
	declared.Clusters = []site.Cluster{{Name: "bench", Hosts: []string{"web1"}}}
	p.deploy(shop("zero", "web1", "web2", "web3"), Request{})
	p.settle()
	last := p.deploy(declared, Request{})
	p.settle()
	p.expect(last.ID, Done, "")
	p.must(err2(p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web2"})))
	p.settle()
	p.demand(Policy{Site: "shop", Approvals: true})
	before := len(p.assigned())

	if _, err := p.PreviewRollback(t.Context(), p.ann, "shop", "web1", 0); diag.CodeOf(err) != ErrPolicy {
		t.Errorf("a rollback is foreseen: %v", err)
	}
	if _, err := p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1"}); diag.CodeOf(err) != ErrPolicy {
		t.Errorf("a rollback: %v", err)
	}
	if _, err := p.Undeploy(t.Context(), p.ann, "shop", "bench", ""); diag.CodeOf(err) != ErrPolicy {
		t.Errorf("a cluster is taken away: %v", err)
	}
	p.must(err2(p.Unpin(t.Context(), p.ann, "shop", "web2", "")))
	id := p.enroll("web3")
	p.tell(p.id("web1"), `"another"`)
	p.now = p.now.Add(2 * Between)
	p.settle()
	d := p.get(last.ID)
	for _, host := range []*Host{d.host(id), d.host(p.id("web2")), d.host(p.id("web1"))} {
		if host == nil || host.State != rollout.Out || host.Why.Code != CodePolicy {
			t.Errorf("a host: %+v", host)
		}
	}
	if n := len(p.assigned()); n != before {
		t.Errorf("%d hosts have another target", n-before)
	}
	// Once it is approved, all of them have it.
	again := p.deploy(declared, Request{})
	p.settle()
	p.must(p.approve(p.bob, again))
	p.settle()
	p.expect(again.ID, Done, "")
	p.demand(Policy{Site: "shop"})
	p.must(err2(p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1"})))
}

// Where it demands signatures, nothing that the server signs is deployed.
func TestPolicyDemandsSignature(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("one", "web1"), Request{})
	p.settle()
	p.deploy(shop("two", "web1"), Request{})
	p.settle()
	waits := p.deploy(shop("three", "web1"), Request{Consent: Start})
	p.settle()
	p.demand(Policy{Site: "shop", Signed: true})
	p.expect(waits.ID, Aborted, CodeOrder)
	if _, err := p.Create(t.Context(), p.ann, Request{Site: "shop", Consent: Approval}); diag.CodeOf(err) != ErrSign {
		t.Errorf("a deployment: %v", err)
	}
	before := len(p.assigned())
	if _, err := p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1"}); diag.CodeOf(err) != ErrSign || len(p.assigned()) != before {
		t.Errorf("a rollback: %v, and %d targets more", err, len(p.assigned())-before)
	}
}

// Who administers all sets it, and says why; it is audited, and a site that is misspelt is none.
func TestSetPolicy(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("one", "web1"), Request{})
	all, err := access.ParseSelector(access.All)
	p.must(err)
	carl := &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Admin, Hosts: all, Site: "shop"}, {Verb: access.Deploy, Hosts: all, Site: "shop"}}}
	for name, one := range map[string]struct {
		by   *access.Caller
		q    Policy
		code string
	}{
		"by an administrator of the site":  {carl, Policy{Site: "shop", Approvals: true, Why: "so"}, access.CodeForbidden},
		"without a reason":                 {p.ann, Policy{Site: "shop", Approvals: true, Why: " "}, ErrInvalid},
		"of a site of which there is none": {p.ann, Policy{Site: "shpo", Approvals: true, Why: "so"}, ErrNotFound},
	} {
		if _, err := p.SetPolicy(t.Context(), one.by, one.q); diag.CodeOf(err) != one.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.audited("site.policy") != 0 {
		t.Error("what was refused is audited as done")
	}
	p.demand(Policy{Site: "shop", Signed: true})
	p.demand(Policy{Site: AllSites, Approvals: true})
	own, whole, err := p.Policy(t.Context(), p.bob, "shop")
	p.must(err)
	if own.Approvals || !own.Signed || own.By != "ann" || !whole.Approvals || !whole.Signed || p.audited("site.policy") != 2 {
		t.Errorf("its own is %+v, in all %+v, and %d are audited", own, whole, p.audited("site.policy"))
	}
	if _, _, err := p.Policy(t.Context(), carl, "shop"); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("who may not read the site: %v", err)
	}
}

// A rollback to a revision that wants nothing of a host says first that this is meant, as a deployment does.
func TestRollbackToEmpty(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("", "web1"), Request{Empty: true})
	p.settle()
	p.deploy(shop("two", "web1"), Request{})
	p.settle()
	before := len(p.assigned())
	if _, err := p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1", To: 1}); diag.CodeOf(err) != ErrEmpty || len(p.assigned()) != before {
		t.Errorf("it is not meant: %v", err)
	}
	p.must(err2(p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1", To: 1, Empty: true})))
	if list := p.assigned(); len(list) != before+1 || list[before].Revision != "1" {
		t.Errorf("it is meant: %+v", list[before:])
	}
}

package deploy

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
)

// A host that goes away before it has taken up its target, and returns when that is accepted no longer, gets it anew.
func TestTargetIsOver(t *testing.T) {
	p := newPlace(t, "web1")
	d := p.deploy(shop("one", "web1"), Request{})
	p.settleDeaf()
	p.away[p.id("web1")] = p.now
	p.settleDeaf()
	p.now = p.now.Add(validity + time.Second)
	delete(p.away, p.id("web1"))
	p.settle()
	got := p.assigned()
	if len(got) != 2 || got[0].Identity != got[1].Identity || !got[1].Until.After(p.now) {
		t.Fatalf("it was assigned %+v", got)
	}
	if h := p.expect(d.ID, Done, "").Hosts[0]; h.State != rollout.Ready {
		t.Errorf("it is %s: %+v", h.State, h.Why)
	}
	p.now = p.now.Add(2 * validity) // what the host has does not end
	p.settle()
	if got := len(p.assigned()); got != 2 {
		t.Errorf("%d targets", got)
	}
}

// A target that is sealed to a key which the host has replaced is sealed anew.
func TestTargetOfAFormerKey(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("one", "web1"), Request{})
	p.settleDeaf()
	p.hosts[0].Sealing = "age1another"
	again := p.deploy(shop("one", "web1"), Request{})
	p.settleDeaf()
	got := p.assigned()
	if len(got) != 2 || got[1].Recipient != "age1another" {
		t.Fatalf("it was assigned %+v", got)
	}
	p.settle()
	p.expect(again.ID, Done, "")
	p.hosts[0].Sealing = "age1third" // of a host that has taken it up
	p.settle()
	if got := len(p.assigned()); got != 2 {
		t.Errorf("%d targets", got)
	}
}

// After a recovery a host may have what the server does not know. It keeps that until somebody deploys to it, be it the same as is in the backup: then it
// gets that, and is not taken for ready before.
func TestHostIsBeyondItsTarget(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("one", "web1"), Request{})
	p.settle()
	p.loops[p.id("web1")] = control.Loop{Position: trust.Position{Epoch: 1, N: 9}, Phase: control.PhaseWaiting, Condition: control.ConditionConverged}
	round := func() {
		_, err := p.Round(t.Context())
		p.must(err)
	}
	for range 3 {
		round()
	}
	if got := len(p.assigned()); got != 1 {
		t.Fatalf("nobody has deployed, and there are %d targets", got)
	}
	again := p.deploy(shop("one", "web1"), Request{Consent: Approval})
	for range 5 {
		round()
	}
	d := p.expect(again.ID, Planned, CodeApproval)
	if d.Plan == nil || len(p.assigned()) != 1 {
		t.Fatalf("the plan is %+v, and there are %d targets", d.Plan, len(p.assigned()))
	}
	_, err := p.Approve(t.Context(), p.bob, again.ID, d.Plan.Digest, "")
	p.must(err)
	for range 5 {
		round()
	}
	if got := len(p.assigned()); got != 2 {
		t.Errorf("after it was deployed there are %d targets", got)
	}
}

// settleDeaf goes on as settle does, with hosts that take nothing up.
func (p *place) settleDeaf() {
	p.t.Helper()
	for range 10 {
		_, err := p.Round(p.t.Context())
		p.must(err)
	}
}

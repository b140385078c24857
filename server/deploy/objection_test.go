package deploy

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/rollout"
)

// What a host has against what it is to be is the reason for which its deployment waits, and only as long as it is about that.
func TestObjectionIsTheReason(t *testing.T) {
	p := newPlace(t, "web1")
	d := p.deploy(shop("one", "web1"), Request{})
	p.settleDeaf()
	why := func() Reason {
		t.Helper()
		h := p.expect(d.ID, Rolling, "").Hosts[0]
		if h.State != rollout.Begun {
			t.Errorf("it is %s: %+v", h.State, h.Why)
		}
		return h.Why
	}
	if r := why(); r.Code != CodeProgress {
		t.Errorf("it waits for %+v", r)
	}
	at := p.assigned()[0].Position
	p.objections[p.id("web1")] = &Objection{Position: at, Why: "the host refuses it: its clock", Cure: "set the clock of the host"}
	p.settleDeaf()
	if r := why(); r.Code != CodeRefused || r.Text != "the host refuses it: its clock" || r.Ask != "set the clock of the host" || r.Until.IsZero() {
		t.Errorf("it waits for %+v", r)
	}
	at.N++
	p.objections[p.id("web1")].Position = at
	p.settleDeaf()
	if r := why(); r.Code != CodeProgress {
		t.Errorf("it waits for %+v", r)
	}
	p.objections[p.id("web1")].Position.N--
	p.settle()
	p.expect(d.ID, Done, "")
}

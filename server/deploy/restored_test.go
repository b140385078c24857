package deploy

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// restore makes the server one that was restored from a backup of now.
func (p *place) restore() {
	p.t.Helper()
	p.must(p.Store.Write(p.t.Context(), func(tx store.Tx) error { return Restored(tx, p.now) }))
}

// later has a host hold what came after the backup.
func (p *place) later(name string) { p.held[p.id(name)] = trust.Position{Epoch: 1, N: 99} }

// What a host has that came after the backup stays, whatever the deployments of the backup would do by themselves, until somebody deploys.
func TestRestoredLeavesHostsAlone(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3")
	p.away[p.id("web3")] = p.now
	d := p.deploy(shop("one", "web1", "web2", "web3"), Request{})
	p.settle()
	_, err := p.Continue(p.t.Context(), p.ann, d.ID, "web3 is away")
	p.must(err)
	p.settle()
	p.expect(d.ID, Done, "")
	before := len(p.assigned())
	p.restore()
	p.later("web1")
	p.later("web3")
	p.tell(p.id("web1"), `"ubuntu"`) // of which the site makes something else
	p.tell(p.id("web2"), `"ubuntu"`)
	delete(p.away, p.id("web3"))
	p.now = p.now.Add(Between + Gather)
	p.settle()
	done := p.expect(d.ID, Done, "")
	for _, a := range p.assigned()[before:] {
		if a.Host != p.id("web2") {
			t.Errorf("%s was set back", a.Host)
		}
	}
	if h := done.host(p.id("web1")); h.State != rollout.Out || h.Why.Code != CodeKept || h.Why.Ask == "" {
		t.Errorf("web1 is %s: %+v", h.State, h.Why)
	}
	again := p.deploy(shop("one", "web1", "web2", "web3"), Request{})
	p.settleDeaf()
	got := map[trust.ID]bool{}
	for _, a := range p.assigned()[before:] {
		got[a.Host] = true
	}
	if !got[p.id("web1")] {
		t.Errorf("deployed again, web1 gets nothing: %+v", p.expect(again.ID, Rolling, "").Hosts[0])
	}
}

// A deployment that waits for hosts to return does not go on by itself after that.
func TestRestoredStaysPaused(t *testing.T) {
	p := newPlace(t, "web1")
	d := p.deploy(shop("one", "web1"), Request{})
	p.away[p.id("web1")] = p.now
	p.settle()
	p.expect(d.ID, Paused, CodeAllOut)
	p.restore()
	delete(p.away, p.id("web1"))
	p.settle()
	p.expect(d.ID, Paused, CodeOrder)
	if got := p.assigned(); len(got) != 0 {
		t.Errorf("%d targets", len(got))
	}
}

package deploy

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
)

// reinstall revokes a host, and takes in another one of the same name.
func (p *place) reinstall(name string) (former, next trust.ID) {
	p.t.Helper()
	for i := range p.hosts {
		if p.hosts[i].Name == name {
			p.hosts[i].Locked, former = "it was revoked", p.hosts[i].ID
		}
	}
	return former, p.enroll(name)
}

// A machine that was installed anew has its name again, and what the site says of it; the one that was revoked gets nothing.
func TestReinstalledHost(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	p.deploy(shop("one", "web1", "web2"), Request{})
	p.settle()
	before := len(p.assigned())
	former, next := p.reinstall("web1")
	d := p.deploy(shop("two", "web1", "web2"), Request{})
	p.settle()
	done := p.expect(d.ID, Done, "")
	if len(done.Hosts) != 2 || done.host(former) != nil || done.host(next) == nil || done.host(next).State != rollout.Ready {
		t.Errorf("its hosts are %+v", done.Hosts)
	}
	if got := len(p.assigned()); got != before+2 {
		t.Errorf("%d targets are new", got-before)
	}
}

// The same in a deployment that is done: the machine gets what it says as a host that is new.
func TestReinstalledHostOfADoneDeployment(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	d := p.deploy(shop("one", "web1", "web2"), Request{})
	p.settle()
	p.expect(d.ID, Done, "")
	former, next := p.reinstall("web1")
	p.settle()
	done := p.expect(d.ID, Done, "")
	if h := done.host(next); h == nil || h.State != rollout.Ready {
		t.Errorf("the new one stands as %+v", h)
	}
	for _, a := range p.assigned()[2:] {
		if a.Host != next {
			t.Errorf("%s got a target, and not %s alone", a.Host, next)
		}
	}
	if done.host(former) == nil {
		t.Error("the deployment does not tell of the former one any more")
	}
}

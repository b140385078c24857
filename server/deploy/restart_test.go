package deploy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// After a start no host counts as away for a while: a deployment that rolls is not paused by that.
func TestStart(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	d := p.deploy(shop("one", "web1", "web2"), Request{})
	for range 3 {
		_, err := p.Round(t.Context())
		p.must(err)
	}
	p.away[p.id("web1")], p.away[p.id("web2")] = p.now, p.now
	p.settles = p.now.Add(settling)
	_, err := p.Round(t.Context())
	p.must(err)
	if why := p.expect(d.ID, Rolling, CodeStarted).Why; !why.Until.Equal(p.settles) {
		t.Errorf("it waits until %s", why.Until)
	}
	p.away = map[trust.ID]time.Time{}
	p.settle()
	p.expect(d.ID, Done, "")
}

// Who stays away pauses it, and whoever returns has it go on.
func TestReturn(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	p.away[p.id("web1")] = p.now
	d := p.deploy(shop("one", "web1", "web2"), Request{})
	p.settles = p.now.Add(settling)
	p.settle()
	p.expect(d.ID, Rolling, CodeStarted)
	p.now = p.settles
	p.settle()
	p.expect(d.ID, Paused, CodeAllOut)
	delete(p.away, p.id("web1"))
	for range 2 {
		_, err := p.Round(t.Context())
		p.must(err)
	}
	if got := p.assigned(); len(got) != 1 || got[0].Host != p.id("web1") {
		t.Fatalf("not the first batch alone: %+v", got)
	}
	p.settle()
	p.expect(d.ID, Done, "")
}

// What is wrong within the server is told of the deployment that waits for it, and no longer once it is mended.
func TestFault(t *testing.T) {
	p := newPlace(t, "web1")
	d := p.deploy(shop("one", "web1"), Request{})
	p.broken = errors.New("/var/lib/secret cannot be read")
	if _, err := p.Round(t.Context()); err == nil {
		t.Fatal("the round has not failed")
	}
	if why := p.expect(d.ID, Planned, CodeFault).Why; strings.Contains(why.Text+why.Ask, "secret") || why.Since.IsZero() {
		t.Errorf("%+v", why)
	}
	p.broken = nil
	p.settle()
	p.expect(d.ID, Done, "")
}

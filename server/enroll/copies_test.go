package enroll

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
)

// A host of which there is a copy gets nothing new, may report, and is let on by a person; the copy is then noticed again.
func TestUnlock(t *testing.T) {
	w := newWorld(t)
	i, dir := w.host("web1")
	w.renew(i)
	other := w.copyOf(dir)
	w.renew(i)
	a := w.renew(other.Identity)
	if a.State != identity.Locked || a.Renewed {
		t.Errorf("the copy gets %+v", a)
	}
	h := w.wantState(i.ID(), identity.Locked)
	if !w.registry.MayConnect(h.ID, h.Keys.Connection) || w.registry.MayReceive(h.ID) {
		t.Error("a locked host is to report, and to get nothing")
	}
	if _, err := w.registry.Ticket(h.ID); err == nil {
		t.Error("a locked host gets a ticket")
	}
	if a := w.renew(i); a.State != identity.Locked || !a.Renewed || i.Name() != "web1" {
		t.Errorf("the original gets %+v", a)
	}
	_, err := w.registry.Unlock(w.ctx, ada, h.ID)
	must(t, err)
	if a := w.renew(i); a.State != identity.Active || !a.Renewed {
		t.Errorf("after it was unlocked: %+v", a)
	}
	if a := w.renew(other.Identity); a.State != identity.Locked {
		t.Errorf("the copy is no longer noticed: %+v", a)
	}
	if got := w.audited(h.ID); !slices.Equal(got, []string{"host.approve server", "host.lock server", "host.unlock ada", "host.lock server"}) {
		t.Errorf("audit: %q", got)
	}
}

// Where the copy has renewed first, the original is locked out; once a person has unlocked the host, whichever renews first is it.
func TestUnlockOriginal(t *testing.T) {
	w := newWorld(t)
	i, dir := w.host("web1")
	w.renew(i)
	other := w.copyOf(dir)
	w.renew(other.Identity)
	must(t, other.Close())
	if a := w.renew(i); a.State != identity.Locked || a.Renewed {
		t.Errorf("%+v", a)
	}
	_, err := w.registry.Unlock(w.ctx, ada, i.ID())
	must(t, err)
	for range 2 {
		if a := w.renew(i); a.State != identity.Active || !a.Renewed {
			t.Errorf("%+v", a)
		}
	}
}

// What is told late of an earlier commit does not take the place of what came after it.
func TestOrderOfCommits(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	early, err := w.registry.Get(w.ctx, i.ID())
	must(t, err)
	standby, err := Open(w.ctx, w.store, w.authority, w.contents, w.registry.options)
	must(t, err)
	_, err = w.registry.Revoke(w.ctx, ada, i.ID())
	must(t, err)
	must(t, standby.Refresh(w.ctx))
	if standby.MayReport(i.ID()) {
		t.Error("a standby does not see what was done elsewhere")
	}
	w.registry.remember(early)
	w.wantState(i.ID(), identity.Revoked)
	late := *early
	late.version += 10
	w.registry.remember(&late) // a commit that Refresh has not seen
	must(t, w.registry.Refresh(w.ctx))
	if s, _, _ := w.registry.State(i.ID()); s != late.State {
		t.Errorf("what was read before a commit has taken its place: %s", s)
	}
}

// Many hosts that are put back at once are not locked, not even the first: a person is asked about all of them.
func TestSnapshotStore(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Many = 3 })
	var hosts []*machine
	for k := range 5 {
		i, dir := w.host(fmt.Sprintf("web%d", k))
		w.renew(i)
		hosts = append(hosts, w.copyOf(dir))
		w.renew(i)
	}
	byPerson := hosts[0].ID()
	for k, m := range hosts {
		w.renew(m.Identity)
		if k == 0 {
			_, err := w.registry.Lock(w.ctx, By{Actor: "ada", Reason: "broken"}, byPerson)
			must(t, err)
		}
		w.pass(10 * time.Minute)
	}
	var asked []trust.ID
	for _, m := range hosts[1:] {
		h := w.wantState(m.ID(), identity.Active)
		if !h.Question {
			t.Errorf("nobody is asked about %s", h.Name)
		}
		asked = append(asked, h.ID)
	}
	w.wantState(byPerson, identity.Locked)
	if list, err := w.registry.List(w.ctx, Filter{Question: true}); err != nil || len(list) != 4 {
		t.Errorf("%d are listed: %v", len(list), err)
	}
	if a := w.renew(hosts[1].Identity); a.Renewed || a.State != identity.Active {
		t.Errorf("before a person has decided: %+v", a)
	}
	_, err := w.registry.Settle(w.ctx, ada, true, asked[:2]...)
	must(t, err)
	_, err = w.registry.Settle(w.ctx, ada, false, asked[2:]...)
	must(t, err)
	for k, m := range hosts[1:] {
		if a := w.renew(m.Identity); a.Renewed != (k < 2) {
			t.Errorf("host %d, settled: %+v", k, a)
		}
	}
	w.wantState(asked[0], identity.Active)
	w.wantState(asked[3], identity.Locked)
}

// A server that was put back from a backup takes no host for a copy.
func TestRestored(t *testing.T) {
	w := newWorld(t)
	i, dir := w.host("web1")
	w.renew(i)
	token := w.token(NewToken{Auto: true})
	backup := w.copyOf(dir) // the server knows as much as this one, and the host more
	w.renew(i)
	_, err := w.registry.Settle(w.ctx, ada, true, i.ID())
	must(t, err)
	must(t, w.store.Write(w.ctx, w.registry.Restored))
	must(t, w.registry.Refresh(w.ctx))
	if a := w.renew(backup.Identity); !a.Renewed || a.State != identity.Active {
		t.Errorf("%+v", a)
	}
	_, err = w.join(private(t), token, once("web2"))
	wantCode(t, err, CodeToken)
}

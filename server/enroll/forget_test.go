package enroll

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// newDir makes a folder for the keys of a host.
func (w *world) newDir() string {
	w.Helper()
	dir := w.TempDir()
	must(w, os.Chmod(dir, 0o700))
	return dir
}

// A host that was revoked is forgotten, by others too, and its key is refused from then on: also with a token that approves. Another server learns of it.
func TestForget(t *testing.T) {
	var steps []string
	w := newWorld(t, func(o *Options) {
		o.Forget = Forgetting{
			Before: func(context.Context, trust.ID) error { steps = append(steps, "before"); return nil },
			Within: func(store.Tx, trust.ID) error { steps = append(steps, "within"); return nil },
			After:  func(context.Context, trust.ID) error { steps = append(steps, "after"); return nil },
		}
	})
	key := newKey(t)
	id := key.Public().ID()
	certificate, keys := rawKeys(t, key, 1)
	join := func() *identity.Answer {
		t.Helper()
		token, err := trust.ParseToken(w.token(NewToken{Auto: true}))
		must(t, err)
		a, err := w.registry.Join(w.ctx, &identity.JoinRequest{Secret: token.Secret, Keys: certificate, Name: "web1", Value: make([]byte, identity.ValueSize)}, keys, "192.0.2.1")
		must(t, err)
		return a
	}
	if a := join(); a.State != identity.Approved {
		t.Fatal(a.State)
	}
	standby, err := Open(w.ctx, w.store, w.authority, w.contents, w.registry.options)
	must(t, err)
	if _, err := w.registry.Forget(w.ctx, ada, id); diag.CodeOf(err) != CodeState || diag.HintOf(err) != "tenet host revoke web1" || len(steps) > 0 {
		t.Errorf("%v (%s), %v", err, diag.HintOf(err), steps)
	}
	_, err = w.registry.Revoke(w.ctx, ada, id)
	must(t, err)
	var version int64
	must(t, w.store.Read(w.ctx, func(r store.Reader) error { _, version, err = ChangedSince(r, 0); return err }))
	if _, err := w.registry.Forget(w.ctx, By{Actor: "eve", Allow: func(access.Target) error { return fmt.Errorf("not eve") }}, id); err == nil {
		t.Error("somebody who may not has a host forgotten")
	}
	_, err = w.registry.Forget(w.ctx, ada, id)
	must(t, err)
	if got := strings.Join(steps, " "); got != "before within after" {
		t.Errorf("others do %s", got)
	}
	if _, err := w.registry.Get(w.ctx, id); diag.CodeOf(err) != CodeNotFound {
		t.Errorf("it is still there: %v", err)
	}
	must(t, standby.Refresh(w.ctx))
	for _, r := range []*Registry{w.registry, standby} {
		if _, _, isKnown := r.State(id); isKnown || len(r.inOrder()) > 0 {
			t.Error("it is still in memory")
		}
	}
	must(t, w.store.Read(w.ctx, func(r store.Reader) error {
		list, newest, err := ChangedSince(r, version)
		if len(list) != 1 || list[0].ID != id || list[0].WasApproved() || newest <= version {
			t.Errorf("%v after %d, up to %d", list, version, newest)
		}
		return err
	}))
	if acts := w.audited(id); acts[len(acts)-1] != "host.forget ada" {
		t.Error(acts)
	}
	if a := join(); a.State != identity.Revoked || !strings.Contains(a.Reason, "forgotten") {
		t.Errorf("its key is taken in again: %s (%s)", a.State, a.Reason)
	}
	if _, err := w.registry.Identity(w.ctx, id); diag.CodeOf(err) != CodeState || !strings.Contains(err.Error(), "tenet agent leave") {
		t.Errorf("it is told nothing when it renews: %v", err)
	}
	w.host("web1") // by other keys
}

// What was put out long ago is forgotten by itself, and so is a request that nobody has answered, which makes room for others and may be made again.
func TestForgetOld(t *testing.T) {
	w := newWorld(t)
	gone, _ := w.host("gone")
	stays, _ := w.host("stays")
	_, err := w.registry.Revoke(w.ctx, ada, gone.ID())
	must(t, err)
	dir := w.newDir()
	waits, err := w.join(dir, w.token(NewToken{}), once("waits"))
	must(t, err)
	w.pass(14*24*time.Hour + time.Minute)
	const month, fortnight = 30 * 24 * time.Hour, 14 * 24 * time.Hour
	must(t, w.registry.ForgetOld(w.ctx, month, 0))
	w.wantState(waits.ID(), identity.Pending)
	must(t, w.registry.ForgetOld(w.ctx, month, fortnight))
	w.wantState(gone.ID(), identity.Revoked)
	if _, err := w.registry.Get(w.ctx, waits.ID()); diag.CodeOf(err) != CodeNotFound {
		t.Errorf("a request that nobody has answered is still there: %v", err)
	}
	must(t, waits.Close())
	again, err := w.join(dir, w.token(NewToken{}), once("waits"))
	must(t, err)
	if h := w.wantState(again.ID(), identity.Pending); !strings.Contains(h.Reason, "it has asked before, as waits, and was forgotten") {
		t.Errorf("nobody is told: %s", h.Reason)
	}
	w.pass(17 * 24 * time.Hour)
	must(t, w.registry.ForgetOld(w.ctx, 0, 0))
	w.wantState(gone.ID(), identity.Revoked)
	must(t, w.registry.ForgetOld(w.ctx, month, fortnight))
	if _, err := w.registry.Get(w.ctx, gone.ID()); diag.CodeOf(err) != CodeNotFound {
		t.Errorf("a host that was revoked long ago is still there: %v", err)
	}
	if acts := w.audited(gone.ID()); !slices.Contains(acts, "host.forget server") {
		t.Error(acts)
	}
	w.wantState(stays.ID(), identity.Approved)
}

// Those who wait are rejected at once, by their token or by what they ask for, as far as the actor may do so.
func TestRejectAll(t *testing.T) {
	w := newWorld(t)
	text, stolen, err := w.registry.NewToken(w.ctx, ada, NewToken{Uses: 300})
	must(t, err)
	other := w.token(NewToken{Uses: 2})
	ask := func(token, name string) trust.ID {
		i, err := w.join(w.newDir(), token, once(name))
		must(t, err)
		return i.ID()
	}
	var ids []trust.ID
	for k := range 3 {
		ids = append(ids, ask(text, fmt.Sprint("bot", k)))
	}
	web, db := ask(other, "web1"), ask(other, "db1")
	webs := By{Actor: "wendy", Allow: func(t access.Target) error {
		if !strings.HasPrefix(t.Name, "web") {
			return fmt.Errorf("webs only")
		}
		return nil
	}}
	if n, err := w.registry.RejectAll(w.ctx, webs, stolen.ID, nil); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := w.registry.RejectAll(w.ctx, ada, stolen.ID, nil); err != nil || n != len(ids) {
		t.Errorf("%d, %v", n, err)
	}
	for _, id := range ids {
		w.wantState(id, identity.Revoked)
	}
	w.wantState(web, identity.Pending)
	if n, err := w.registry.RejectAll(w.ctx, webs, "", func(t access.Target) bool { return t.Name != "db1" }); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	w.wantState(web, identity.Revoked)
	w.wantState(db, identity.Pending)
	if acts := w.audited(web); acts[len(acts)-1] != "host.reject wendy" {
		t.Error(acts)
	}
}

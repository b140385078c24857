package enroll

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/store"
)

// machine is one that speaks for a host.
type machine struct {
	*identity.Identity
	dir string
}

func (w *world) open(dir string) *machine {
	w.Helper()
	i, err := identity.Load(dir, identity.Options{Clock: w.now})
	must(w, err)
	return &machine{i, dir}
}

// crash ends the process, and begins another.
func (w *world) crash(m *machine) {
	w.Helper()
	must(w, m.Close())
	*m = *w.open(m.dir)
}

// copyOf is what somebody has who copies the disk.
func (w *world) copyOf(dir string) *machine {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	must(w, err)
	other := private(w)
	must(w, os.WriteFile(filepath.Join(other, "identity.json"), data, 0o600))
	return w.open(other)
}

// step has a machine do something: renew, with an answer or without one, or crash.
func (w *world) step(rt *rapid.T, m *machine) {
	lost := errors.New("lost")
	w.before, w.after = nil, nil
	switch rapid.IntRange(0, 3).Draw(rt, "step") {
	case 0:
		w.before = func(*http.Request) bool { return true }
	case 1:
		w.after = func(q *http.Request) bool { return q.Header.Get(identity.ProofHeader) != "" && w.isCurrent(q) }
	case 2:
		w.crash(m)
		return
	default:
		lost = nil
	}
	w.pass(time.Hour)
	_, err := m.Renew(w.ctx)
	w.before, w.after = nil, nil
	if (err == nil) != (lost == nil) {
		rt.Fatalf("renewing: %v, want %v", err, lost)
	}
	if rapid.Bool().Draw(rt, "crash") {
		w.crash(m)
	}
}

// isCurrent tells whether a request has a nonce that counts: then it is the one that is served.
func (w *world) isCurrent(q *http.Request) bool {
	_, _, nonce, err := identity.ParseProof(q.Header.Get(identity.ProofHeader))
	return err == nil && holds(w.registry.codes.nonces, nonce, w.now(), "")
}

// A host alone is never locked, whatever is lost and whenever it crashes.
func TestHonestHost(t *testing.T) {
	w := newWorld(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		i, dir := w.host(fmt.Sprintf("honest%d", n))
		m := &machine{i, dir}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.step(rt, m)
			if h, err := w.registry.Get(w.ctx, m.ID()); err != nil || h.CopiedAt != nil || h.State == identity.Locked {
				rt.Fatalf("the host is taken for a copy: %+v, %v", h, err)
			}
		}
		if a, err := m.Renew(w.ctx); err != nil || !a.Renewed || a.State != identity.Active {
			rt.Fatalf("in the end: %+v, %v", a, err)
		}
		must(t, m.Close())
	})
}

// A copy that renews after the original has is always noticed, whenever it was made.
func TestCopy(t *testing.T) {
	w := newWorld(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w.pass(24 * time.Hour) // so that the copies of other cases are not many at once
		i, dir := w.host(fmt.Sprintf("copied%d", n))
		m := &machine{i, dir}
		for range rapid.IntRange(0, 6).Draw(rt, "steps before") {
			w.step(rt, m)
		}
		other := w.copyOf(dir)
		for range rapid.IntRange(0, 6).Draw(rt, "steps of both") {
			if rapid.Bool().Draw(rt, "original") {
				w.step(rt, m)
			} else {
				w.step(rt, other)
			}
		}
		// What the original had under way is the copy's as well: it is the second renewal that differs.
		for range 2 {
			w.pass(time.Hour)
			w.renew(m.Identity)
		}
		w.pass(time.Hour)
		a := w.renew(other.Identity)
		h, err := w.registry.Get(w.ctx, m.ID())
		if err != nil || h.CopiedAt == nil || h.State != identity.Locked || a.State != identity.Locked {
			rt.Fatalf("the copy was not noticed: %+v, %+v, %v", a, h, err)
		}
		must(t, errors.Join(m.Close(), other.Close()))
	})
}

// A host that is revoked is told so, keeps what it has, and cannot come back with the same identity.
func TestRevoked(t *testing.T) {
	w := newWorld(t)
	i, dir := w.host("web1")
	w.renew(i)
	_, err := w.registry.Revoke(w.ctx, By{Actor: "ada", Reason: "sold"}, i.ID())
	must(t, err)
	if w.registry.MayConnect(i.ID(), i.Keys().Connection) || w.registry.MayReport(i.ID()) || !slices.Contains(w.changed, i.ID()) {
		t.Error("it may still connect, or the broker was not told")
	}
	a := w.renew(i)
	if a.State != identity.Revoked || a.Reason != "sold" || a.Credential != "" || len(a.Brokers) > 0 {
		t.Errorf("it gets %+v", a)
	}
	if s, why := i.State(); s != identity.Revoked || why != "sold" || i.Name() != "web1" {
		t.Errorf("the host says %s (%s), %s", s, why, i.Name())
	}
	must(t, i.Close())
	_, err = w.join(dir, w.token(NewToken{Auto: true}), once("web1"))
	wantError(t, err, "has revoked this host")
	for _, act := range []func() (*Host, error){
		func() (*Host, error) { return w.registry.Unlock(w.ctx, ada, i.ID()) },
		func() (*Host, error) { return w.registry.Approve(w.ctx, ada, i.ID(), Approval{}) },
		func() (*Host, error) { return w.registry.Revoke(w.ctx, ada, i.ID()) },
		func() (*Host, error) { return w.registry.Lock(w.ctx, ada, i.ID()) },
	} {
		_, err := act()
		wantCode(t, err, CodeState)
	}
	w.wantState(i.ID(), identity.Revoked)
	other, _ := w.host("web1") // the name is free again
	w.wantState(other.ID(), identity.Approved)
}

// Other keys count from the renewal on that tells of them, also if its answer is lost; what was encrypted to the former ones can still be opened.
func TestReplaceKeys(t *testing.T) {
	for _, successor := range []bool{false, true} {
		for _, lost := range []bool{false, true} {
			w := newWorld(t)
			i, dir := w.host("web1")
			m := &machine{i, dir}
			w.renew(i)
			former := i.Keys()
			must(t, i.ReplaceKeys(successor))
			wantError(t, i.ReplaceKeys(false), "about to follow")
			if i.Keys().Sealing != former.Sealing || len(i.Unsealing()) != 2 {
				t.Error("keys count of which the server knows nothing, or cannot open what it already encrypts to them")
			}
			if lost {
				w.after = w.isCurrent
				_, err := i.Renew(w.ctx)
				if err == nil {
					t.Error("the answer was not lost")
				}
				w.after = nil
				w.crash(m)
			}
			if a := w.renew(m.Identity); !a.Renewed || a.State != identity.Active || a.Name != "web1" {
				t.Fatalf("successor %v, lost %v: %+v", successor, lost, a)
			}
			now := m.Keys()
			if now.Connection == former.Connection || now.Sealing == former.Sealing || (now.Identity == former.Identity) == successor || len(m.Unsealing()) != 2 {
				t.Errorf("successor %v, lost %v: the keys are %+v, and were %+v", successor, lost, now, former)
			}
			if !w.registry.MayConnect(m.ID(), now.Connection) || w.registry.MayConnect(former.Identity.ID(), former.Connection) {
				t.Errorf("successor %v: the broker accepts the former key, or not the present one", successor)
			}
			w.crash(m)
			if a := w.renew(m.Identity); !a.Renewed {
				t.Errorf("the next renewal: %+v", a)
			}
			h := w.wantState(m.ID(), identity.Active)
			if h.Keys.Sealing != now.Sealing {
				t.Error("the server does not know the sealing key")
			}
			if successor {
				if f := w.wantState(former.Identity.ID(), identity.Revoked); f.Successor != m.ID() {
					t.Errorf("the former identity: %+v", f)
				}
			}
			must(t, m.Close())
		}
	}
}

// Trust documents reach hosts by their renewals, each one, in order.
func TestDocuments(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	key, err := trust.GenerateKey()
	must(t, err)
	must(t, w.authority.Trust(w.ctx, authority.AddKey(key.Public(), "ada", "exec"), nil))
	must(t, w.authority.RotateAuthority(w.ctx, func(store.Tx) error { return nil }))
	must(t, w.authority.RotateKey(w.ctx, nil))
	w.renew(i)
	must(t, w.authority.RetireAuthorities(w.ctx, nil))
	w.renew(i)
	w.renew(i)
	chain, err := i.Chain()
	must(t, err)
	if got, want := len(chain.Signed()), len(w.authority.Chain().Signed()); got != want || chain.Newest().Number != 5 {
		t.Errorf("the host has %d documents of %d", got, want)
	}
}

// A server that has lost trust documents, as by a backup, gets them back from a host that has them; forged ones change nothing.
func TestLostDocuments(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	for range 3 {
		must(t, w.authority.Trust(w.ctx, authority.AddKey(newKey(t).Public(), "ada", "exec"), nil))
	}
	if a := w.renew(i); a.Lack != nil {
		t.Errorf("the server lacks nothing: %+v", a)
	}
	all := w.authority.Chain().Signed()
	must(t, w.store.Write(w.ctx, func(tx store.Tx) error {
		_, err := tx.Exec(`DELETE FROM authority_documents WHERE number > 2`)
		return err
	}))
	must(t, w.authority.Refresh(w.ctx))
	if a := w.renew(i); a.Lack == nil || a.Lack.Number != 2 || a.RetryAfter > 60 || !a.Renewed {
		t.Errorf("%+v", a)
	}
	if a := w.renew(i); a.Lack != nil || !a.Renewed || len(w.authority.Chain().Signed()) != len(all) || len(w.failures) > 0 {
		t.Errorf("%+v, %d documents, %v", a, len(w.authority.Chain().Signed()), w.failures)
	}
	forged := *w.authority.Chain().Newest()
	forged.Number++
	signed, err := trust.Sign(trust.KindDocument, forged, newKey(t))
	must(t, err)
	w.registry.regain(w.ctx, []*trust.Signed{signed})
	w.registry.regain(w.ctx, []*trust.Signed{nil})
	if len(w.authority.Chain().Signed()) != len(all) || len(w.failures) != 1 {
		t.Errorf("%d documents, %v", len(w.authority.Chain().Signed()), w.failures)
	}
}

// An approval may be unlearned: the renewals of a host that is pending, or not known, change nothing.
func TestRenewOfNobody(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	must(t, w.store.Write(w.ctx, func(tx store.Tx) error {
		_, err := tx.Exec(`DELETE FROM enroll_hosts`)
		return err
	}))
	_, err := i.Renew(w.ctx)
	wantCode(t, err, CodeNotFound)
	_, err = w.registry.Renew(w.ctx, i.ID(), &identity.RenewRequest{Value: make([]byte, 16), Next: make([]byte, 16)})
	wantCode(t, err, CodeInvalid)
	_, err = w.registry.Renew(w.ctx, i.ID(), &identity.RenewRequest{Value: make([]byte, 1<<20)})
	wantCode(t, err, CodeInvalid)
	if base64.StdEncoding.EncodedLen(identity.ValueSize) != 24 {
		t.Error("values have another size")
	}
}

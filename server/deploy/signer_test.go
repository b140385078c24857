package deploy

import (
	"errors"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// signatory is who signs for a place. What else Signatures has is not asked for here.
type signatory struct {
	Signatures
	own   trust.ID // the server's key
	may   map[trust.ID]bool
	asked int
}

// MayAssign is Signatures'.
func (s *signatory) MayAssign(key trust.ID) error {
	if key == "" {
		key = s.own
	}
	if !s.may[key] {
		return errors.New("it may not")
	}
	return nil
}

// Signer is Signatures'. It is asked of what was signed before the key was replaced.
func (s *signatory) Signer(store.Reader, trust.ID, string) (trust.ID, error) {
	s.asked++
	return s.own, nil
}

// keyOf names a key that nobody has.
func keyOf(n byte) trust.ID { return trust.PublicKey{n}.ID() }

// rotate replaces the server's key.
func (s *signatory) rotate(key trust.ID) {
	delete(s.may, s.own)
	s.own, s.may[key] = key, true
}

// What a host has not taken up when the server's key is replaced is signed anew, by a deployment that goes on, and by one that comes after another has ended.
func TestTargetOfAFormerServerKey(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	signs := &signatory{own: keyOf(1), may: map[trust.ID]bool{keyOf(1): true}}
	p.Signatures = signs
	d := p.deploy(shop("one", "web1", "web2"), Request{})
	p.settleDeaf()
	p.away[p.id("web1")] = p.now
	p.settleDeaf()
	if got := len(p.assigned()); got != 1 {
		t.Fatalf("%d targets", got)
	}
	signs.rotate(keyOf(2))
	delete(p.away, p.id("web1"))
	p.settleDeaf()
	if got := p.assigned(); len(got) != 2 || got[0].Identity != got[1].Identity || got[1].Host != p.id("web1") {
		t.Fatalf("what has the signature of a former key stays: %+v", got)
	}
	_, err := p.Abort(t.Context(), p.ann, d.ID, "")
	p.must(err)
	p.settleDeaf()
	signs.rotate(keyOf(3))
	p.settleDeaf()
	again := p.deploy(shop("one", "web1", "web2"), Request{})
	p.settleDeaf()
	if got := len(p.assigned()); got != 3 {
		t.Fatalf("deployed again, and there are %d targets", got)
	}
	p.settle()
	p.expect(again.ID, Done, "")
	signs.rotate(keyOf(4)) // what hosts have taken up stays
	p.settle()
	if got := len(p.assigned()); got != 4 {
		t.Errorf("%d targets", got)
	}
}

// Of a target from before it was kept who has signed, that is found out from what was signed.
func TestTargetOfAFormerVersion(t *testing.T) {
	p := newPlace(t, "web1")
	signs := &signatory{own: keyOf(1), may: map[trust.ID]bool{keyOf(1): true}}
	p.deploy(shop("one", "web1"), Request{})
	p.settleDeaf() // a server that keeps no signers
	p.Signatures = signs
	p.Service = New(p.Options)
	p.settleDeaf()
	if signs.asked == 0 || len(p.assigned()) != 1 {
		t.Fatalf("it was asked %d times, and there are %d targets", signs.asked, len(p.assigned()))
	}
	delete(signs.may, keyOf(1))
	former := &signatory{own: keyOf(2), may: map[trust.ID]bool{keyOf(2): true}}
	p.Signatures = &formerSignatory{former}
	p.Service = New(p.Options)
	p.settleDeaf()
	if got := len(p.assigned()); got != 2 {
		t.Errorf("%d targets", got)
	}
}

// formerSignatory says of the first target that a former key has signed it.
type formerSignatory struct{ *signatory }

// Signer is Signatures'.
func (s *formerSignatory) Signer(store.Reader, trust.ID, string) (trust.ID, error) {
	if s.asked++; s.asked == 1 {
		return keyOf(1), nil
	}
	return s.own, nil
}

// What a person has signed the server cannot sign anew: it says that somebody has to, and why.
func TestSignedTargetOfAKeyThatMayNot(t *testing.T) {
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1.7e9, 0)
	signs := &signatory{own: "server", may: map[trust.ID]bool{key.ID(): true}}
	s := New(Options{Signatures: signs})
	p := &Prepared{Key: key.Public(), Identity: trust.DigestOf([]byte("x")), Position: trust.Position{Epoch: 1, N: 1}, Until: now.Add(time.Hour), Signed: &trust.Signed{}}
	target := &targetRow{Target: Target{Position: p.Position, Identity: p.Identity, Until: p.Until}, Key: p.Key}
	look := func() *Look {
		l := &Look{Target: &target.Target, Prepared: p, Void: s.isVoid()(target)}
		if l.Unsigned = s.unsigned(p, &Enrolled{}, l, 1, &hostView{}, now); l.Unsigned != "" {
			l.Prepared = nil
		}
		return l
	}
	d, h := &Deployment{Signed: true}, &Host{State: rollout.Begun, Turn: 1, Position: p.Position, Identity: p.Identity, Active: now}
	if state, why := d.judge(h, look(), now); state != rollout.Begun {
		t.Fatalf("it is %s: %+v", state, why)
	}
	delete(signs.may, key.ID())
	state, why := d.judge(h, look(), now)
	if state != rollout.Out || why.Code != CodeSign || why.Text != "somebody has to sign for it: the key that has signed may not assign any more" {
		t.Errorf("it is %s: %+v", state, why)
	}
}

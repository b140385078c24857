package authority

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "20") }

// A host that has accepted a document before a rotation follows the chain after it, and the former key no longer counts.
func TestRotateKey(t *testing.T) {
	ctx, p := context.Background(), newPlace(t)
	a := p.open()
	host, err := trust.ParseChain(a.Chain().Signed())
	must(t, err)
	former, err := a.signer()
	must(t, err)
	must(t, a.RotateKey(ctx, nil))
	for _, s := range a.Chain().After(1, 1) {
		must(t, host.Add(s))
	}
	if host.Newest().Keys[0].Key == former.Public() || strings.Count(string(p.read(signingFile)), "BEGIN") != 1 {
		t.Error("the former key still counts, or is still there")
	}
	if key, err := p.open().signer(); err != nil || key.Public() != host.Newest().Keys[0].Key {
		t.Errorf("opened again, the server has another key: %v", err)
	}
}

// A rotation that ended between two writes leaves keys that count.
func TestRotateInterrupted(t *testing.T) {
	ctx, p := context.Background(), newPlace(t)
	a := p.open()
	key, err := a.signer()
	must(t, err)
	must(t, a.keepSigning(key, newKey(t))) // and no document
	if again, err := p.open().signer(); err != nil || again.Public() != key.Public() {
		t.Errorf("the key that counts is another: %v", err)
	}
	before := a.AuthorityDigest()
	must(t, a.replaceAuthority()) // and no document
	a = p.open()
	if d := a.Chain().Newest(); a.AuthorityDigest() == before || d.Number != 2 || len(d.Authorities) != 2 {
		t.Errorf("the rotation was not brought to its end: %+v", d)
	}
	must(t, a.Trust(ctx, AddKey(newKey(t).Public(), "ada", "exec"), nil))
}

// Whichever rotations and names came since: a host with any former document finds to the server by a name that it knew, and follows the chain.
func TestRotations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx, p := context.Background(), newPlace(t)
		a := p.open()
		docs := []*trust.Document{a.Chain().Newest()}
		rotations := 0
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			p.now = p.now.AddDate(0, 0, rapid.IntRange(0, 100).Draw(rt, "days"))
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				if rotations < maxFormer/2 {
					must(t, a.RotateAuthority(ctx, nil))
					rotations++
				}
			case 1:
				must(t, a.RetireAuthorities(ctx, nil))
			case 2:
				must(t, a.RotateKey(ctx, nil))
			case 3:
				a = p.open()
			case 4:
				p.options.Names = append(slices.Clone(p.options.Names), "new.example.net", "198.51.100.9")
				a = p.open()
			}
			docs = append(docs, a.Chain().Newest())
		}
		for i, d := range docs {
			if _, err := meet(t, a, d, "tenet.example.org", p.now); err != nil {
				rt.Errorf("a host with document %d of %d: %v", i, len(docs), err)
			}
		}
		if _, err := trust.ParseChain(a.Chain().Signed()); err != nil {
			rt.Error(err)
		}
	})
}

// A name that was added later is usable once the CA is another one.
func TestNewName(t *testing.T) {
	ctx, p := context.Background(), newPlace(t)
	first := p.open().Chain().Newest()
	p.options.Names = append(p.options.Names, "new.example.net")
	a := p.open()
	_, err := meet(t, a, first, "new.example.net", noon)
	wantError(t, err, "not permitted")
	must(t, a.RotateAuthority(ctx, nil))
	if _, err := meet(t, a, a.Chain().Newest(), "new.example.net", noon); err != nil {
		t.Error(err)
	}
	if _, err := meet(t, a, first, "tenet.example.org", noon); err != nil {
		t.Error(err)
	}
}

// The recovery key replaces all others, also where none is left; hosts accept it, and a thief's documents no longer.
func TestRecover(t *testing.T) {
	for _, lost := range []bool{false, true} {
		ctx, p := context.Background(), newPlace(t)
		a := p.open()
		host, err := trust.ParseChain(a.Chain().Signed())
		must(t, err)
		must(t, a.Trust(ctx, AddKey(newKey(t).Public(), "thief", trust.VerbTrust, trust.VerbAssign), nil))
		stolen := a
		if lost {
			p.dir = t.TempDir()
			p.fails("is not there")
		}
		_, err = Recover(ctx, p.dir, p.store, p.options, "tenet-recovery:abc", nil)
		wantError(t, err, "mistyped")
		if err != nil && strings.Contains(err.Error(), "abc") {
			t.Error("the error repeats the key")
		}
		other, err := formatRecovery(newKey(t))
		must(t, err)
		_, err = Recover(ctx, p.dir, p.store, p.options, other, nil)
		wantError(t, err, "of another server")
		audited := 0
		secret, err := stolen.Secret("tickets")
		must(t, err)
		typed := " " + strings.ToUpper(strings.ReplaceAll(p.recovery[0], "-", " ")) + "\n"
		a, err = Recover(ctx, p.dir, p.store, p.options, typed, func(store.Tx) error { audited++; return nil })
		must(t, err)
		for _, s := range a.Chain().After(1, 1) {
			must(t, host.Add(s))
		}
		if other, err := a.Secret("tickets"); err != nil || bytes.Equal(other, secret) {
			t.Errorf("the secret is what it was: %v", err)
		}
		d := host.Newest()
		if d.Generation != 2 || len(d.Keys) != 1 || len(d.Authorities) != 1 || len(p.recovery) != 2 || audited == 0 {
			t.Errorf("lost %v: %+v, recovery keys shown %d", lost, d, len(p.recovery))
		}
		if !lost {
			if _, err := meet(t, a, stolen.Chain().Newest(), "tenet.example.org", noon); err != nil {
				t.Errorf("a host that was away: %v", err)
			}
		}
		_, err = Recover(ctx, p.dir, p.store, p.options, p.recovery[0], nil)
		wantError(t, err, "replaced since")
		p.open()
	}
}

// Nobody types 58 letters without a mistake: each one is noticed.
func TestRecoveryText(t *testing.T) {
	key := newKey(t)
	text, err := formatRecovery(key)
	must(t, err)
	if again, err := parseRecovery(text); err != nil || again.Public() != key.Public() {
		t.Fatalf("%v", err)
	}
	for i := range text {
		for _, c := range "a7x" {
			if changed := text[:i] + string(c) + text[i+1:]; changed != text {
				if again, err := parseRecovery(changed); err == nil && again.Public() != key.Public() {
					t.Errorf("a mistake at %d was not noticed", i)
				}
			}
		}
	}
	if _, err := parseRecovery(strings.Repeat("a", 1<<20)); err == nil {
		t.Error("a megabyte is a key")
	}
}

// The end of the CA is told a year before.
func TestExpiring(t *testing.T) {
	p := newPlace(t)
	a := p.open()
	if len(a.Expiring()) != 0 {
		t.Error("it expires at once")
	}
	p.now = noon.Add(authorityValidity - 300*24*time.Hour)
	if list := a.Expiring(); len(list) != 1 || !strings.Contains(list[0].What, "CA") {
		t.Errorf("nobody is told: %v", list)
	}
}

// Of what others renew, the newest end counts, and it is told a month before.
func TestNotice(t *testing.T) {
	p := newPlace(t)
	a := p.open()
	a.Notice(Expiry{What: "a broker", At: noon.Add(40 * 24 * time.Hour), Hint: "renew it"})
	if list := a.Expiring(); len(list) > 0 {
		t.Errorf("it is told at once: %v", list)
	}
	p.now = noon.Add(11 * 24 * time.Hour)
	if list := a.Expiring(); len(list) != 1 || list[0].What != "a broker" || list[0].Hint == "" {
		t.Errorf("nobody is told: %v", list)
	}
	a.Notice(Expiry{What: "a broker", At: noon.Add(400 * 24 * time.Hour)})
	if list := a.Expiring(); len(list) > 0 {
		t.Errorf("it was renewed, and still %v", list)
	}
}

// FuzzRecovery reads whatever somebody types.
func FuzzRecovery(f *testing.F) {
	f.Add("tenet-recovery:")
	f.Add("TENET RECOVERY:0123456789")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parseRecovery(text)
		if err != nil {
			return
		}
		if again, err := formatRecovery(key); err != nil || !strings.HasPrefix(again, recoveryPrefix) {
			t.Errorf("%q, %v", again, err)
		}
	})
}

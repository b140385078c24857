package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// signer is a place whose server may not sign what hosts are to be, and somebody who does.
type signer struct {
	*place
	key   trust.PrivateKey
	may   bool // the key may sign
	epoch uint64
	last  uint64               // position
	holds evaluate.Composition // of what is signed for each host
}

func newSigner(t *testing.T, names ...string) *signer {
	t.Helper()
	s := &signer{place: newPlace(t, names...), may: true, epoch: 1}
	var err error
	s.key, err = trust.GenerateKey()
	s.must(err)
	s.Signatures = s
	return s
}

// MayAssign is Signatures'.
func (s *signer) MayAssign(key trust.ID) error {
	if s.may && key == s.key.ID() {
		return nil
	}
	return errors.New("it may not")
}

// Signer is Signatures'.
func (s *signer) Signer(store.Reader, trust.ID, string) (trust.ID, error) { return s.key.ID(), nil }

// Next is Signatures'.
func (s *signer) Next(store.Reader, trust.ID, string) (trust.Position, error) {
	return trust.Position{Epoch: s.epoch, N: 1}, nil
}

// Open is Signatures'.
func (s *signer) Open(signed *trust.Signed, host trust.ID) (*trust.Assignment, trust.PublicKey, error) {
	a, err := trust.Open[trust.Assignment](signed, trust.KindAssignment, s.key.Public())
	if err == nil && a.Host != host {
		err = errors.New("it is for another host")
	}
	return a, s.key.Public(), err
}

// Deliver is Signatures'.
func (s *signer) Deliver(tx store.Tx, host trust.ID, signed *trust.Signed) error {
	_, err := tx.Exec(`INSERT INTO test_assigned (n, host, body) SELECT CAST(COALESCE(MAX(n), 0) + 1 AS BIGINT), $1, $2 FROM test_assigned`, string(host), []byte(signed.Content))
	return err
}

// Told is Signatures'.
func (s *signer) Told(context.Context, trust.ID, string) (facts, outputs *trust.Signed, err error) {
	return nil, nil, nil
}

// sign signs a revision for hosts, and has the server keep that.
func (s *signer) sign(r *Revision, names ...string) {
	s.t.Helper()
	var list []SignedHost
	for _, name := range names {
		id := s.id(name)
		sealed := fmt.Append(nil, "sealed by somebody ", name, string(s.facts[id]["os"]), s.last)
		s.must(s.Contents.Put(s.t.Context(), contents.Digest(trust.DigestOf(sealed).String()), bytes.NewReader(sealed)))
		s.last++
		a := trust.Assignment{Format: trust.AssignmentFormat, Host: id, Site: r.Site, Position: trust.Position{Epoch: s.epoch, N: s.last}, Revision: fmt.Sprint(r.Number),
			Identity: trust.DigestOf(fmt.Append(nil, name, string(s.facts[id]["os"]))), Recipient: "age1" + name, Bundle: trust.Content{SHA256: trust.DigestOf(sealed), Size: int64(len(sealed))}, Until: s.now.Add(90 * 24 * time.Hour)}
		for _, e := range s.hosts {
			if e.ID == id {
				a.Recipient = e.Sealing
			}
		}
		signed, err := trust.Sign(trust.KindAssignment, a, s.key)
		s.must(err)
		read := evaluate.ValueOf(map[string]map[string]json.RawMessage{name: s.facts[id]}, name, "os")
		list = append(list, SignedHost{Host: id, Assignment: signed, Read: []evaluate.Value{read}, Composition: s.holds})
	}
	s.must(s.KeepSigned(s.t.Context(), s.ann, r.Site, r.Number, list))
}

// A host for which nothing is signed, or not any more, waits for that with its reason, while others go on. It goes on by itself when it was signed for. The server
// evaluates for nobody.
func TestReasonsToSign(t *testing.T) {
	for name, one := range map[string]struct {
		change     func(s *signer)
		host, want string
		has        bool // the host has what is signed for it then
	}{
		"facts": {func(s *signer) {
			s.tell(s.id("web1"), `"suse"`)
			s.now = s.now.Add(Between + Gather)
		}, "web1", "facts or outputs that the evaluation has read have changed", false},
		"sealing key": {func(s *signer) {
			s.hosts[1].Sealing = "age1another"
			delete(s.away, s.id("web2"))
		}, "web2", "its sealing key is another one", false},
		"later sealing key": {func(s *signer) { s.hosts[0].Sealing = "age1another" }, "web1", "its sealing key is another one", true},
		"new host":          {func(s *signer) { s.enroll("web3") }, "web3", "nothing is signed for it", false},
		"restored": {func(s *signer) {
			s.epoch, s.last = 2, 0
			delete(s.away, s.id("web2"))
		}, "web2", "the server was restored", false},
		"expired": {func(s *signer) {
			s.now = s.now.Add(91 * 24 * time.Hour)
			delete(s.away, s.id("web2"))
		}, "web2", "what was signed counted until", false},
		"key that may not": {func(s *signer) {
			s.may = false
			delete(s.away, s.id("web2"))
		}, "web2", "the key that has signed may not assign any more", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigner(t, "web1", "web2")
			s.away[s.id("web2")] = s.now
			all := shop("one", "web1", "web2", "web3")
			all.Rollout = nil // all of them in one batch
			r, err := s.Upload(t.Context(), s.ann, "shop", archive(t, all), "")
			s.must(err)
			s.sign(r, "web1", "web2")
			asked := s.asked
			d, err := s.Create(t.Context(), s.ann, Request{Site: "shop", Revision: r.Number, Signed: true})
			s.must(err)
			s.settle()
			if h := s.expect(d.ID, Done, "").host(s.id("web1")); h.State != rollout.Ready {
				t.Fatalf("web1 is %s: %+v", h.State, h.Why)
			}
			before := len(s.assigned())
			one.change(s)
			s.settle()
			if h := s.get(d.ID).host(s.id(one.host)); h == nil || h.State == rollout.Ready || h.Why.Code != CodeSign || !strings.Contains(h.Why.Text, one.want) || h.Why.Ask == "" {
				t.Fatalf("%s is %+v", one.host, h)
			}
			if h := s.get(d.ID).host(s.id("web1")); one.host != "web1" && h.State != rollout.Ready {
				t.Errorf("web1 is %s: %+v", h.State, h.Why)
			}
			if got := len(s.assigned()); got != before {
				t.Errorf("%d targets without a signature", got-before)
			}
			s.may = true
			s.sign(r, one.host)
			s.settle()
			if h := s.get(d.ID).host(s.id(one.host)); h.State != rollout.Ready {
				t.Errorf("after it was signed for, %s is %s: %+v", one.host, h.State, h.Why)
			}
			if got := s.assigned()[before:]; one.has != (len(got) == 0) || len(got) > 1 || len(got) == 1 && got[0].Host != s.id(one.host) {
				t.Errorf("there are the targets %+v", got)
			}
			if s.asked != asked {
				t.Errorf("the server has evaluated %d times", s.asked-asked)
			}
		})
	}
}

// What becomes of what was signed elsewhere is told component by component, as the one who has signed names them and the reports of hosts have their parts.
func TestOutcomeOfSigned(t *testing.T) {
	s := newSigner(t, "web1")
	s.holds = evaluate.Composition{Run: "run1", Components: []string{"", "web"}, Prunes: true}
	s.Report = func(context.Context, trust.ID, string) (*states.Report, time.Time, error) {
		return &states.Report{Revision: "run1"}, s.now, nil
	}
	r, err := s.Upload(t.Context(), s.ann, "shop", archive(t, shop("one", "web1")), "")
	s.must(err)
	if id, err := s.SignedOf(t.Context(), "shop", r.Number); id != 0 || err != nil {
		t.Fatalf("before it is deployed, the deployment %d brings it, %v", id, err)
	}
	s.sign(r, "web1")
	d, err := s.Create(t.Context(), s.ann, Request{Site: "shop", Revision: r.Number, Signed: true})
	s.must(err)
	if _, err := s.Round(t.Context()); err != nil { // web1 is to have it, and does not yet
		t.Fatal(err)
	}
	o, err := s.Outcome(t.Context(), d.ID)
	s.must(err)
	if len(o.Hosts) != 1 || o.Hosts[0].State != rollout.Begun || !slices.Equal(o.Hosts[0].Components, s.holds.Components) || !o.Hosts[0].Prunes || o.Hosts[0].Report == nil {
		t.Errorf("it stands as %+v", o)
	}
	if id, err := s.SignedOf(t.Context(), "shop", r.Number); id != d.ID || err != nil {
		t.Errorf("the deployment %d brings it, %v", id, err)
	}
	other, err := s.Upload(t.Context(), s.ann, "shop", archive(t, shop("two", "web1")), "")
	s.must(err)
	if id, err := s.SignedOf(t.Context(), "shop", other.Number); id != 0 || err != nil {
		t.Errorf("the deployment %d brings another revision, %v", id, err)
	}
}

package deploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
)

// A rollback goes to what hosts have had: it is no way past an approval or past batches.
func TestRollbackNeedsDoneRevision(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	p.deploy(shop("one", "web1", "web2"), Request{})
	p.settle()
	p.deploy(shop("two", "web1", "web2"), Request{})
	p.settle()
	waits := p.deploy(shop("three", "web1", "web2"), Request{Consent: Approval})
	p.settle()
	before := len(p.assigned())
	for _, hosts := range []string{"web1", "*"} {
		_, previewed := p.PreviewRollback(t.Context(), p.ann, "shop", hosts, waits.Number)
		_, err := p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: hosts, To: waits.Number, Why: ""})
		if diag.CodeOf(err) != ErrPhase || diag.CodeOf(previewed) != ErrPhase {
			t.Errorf("to a revision that waits for an approval: %v, previewed: %v", err, previewed)
		}
	}
	if len(p.assigned()) != before {
		t.Error("hosts have another target")
	}
	p.must(err2(p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1", To: 1, Why: ""})))
	p.must(err2(p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1", To: 2, Why: "forth again"})))
	p.must(err2(p.Unpin(t.Context(), p.ann, "shop", "web1", "")))
	p.settle()
	if _, err := p.Approve(t.Context(), p.bob, waits.ID, p.get(waits.ID).Plan.Digest, ""); err != nil {
		t.Fatal(err)
	}
	p.settle()
	p.expect(waits.ID, Done, "")
	p.must(err2(p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1", To: waits.Number, Why: "a deployment has brought it by now"})))
}

// What hosts would be taken back to is kept, however many revisions came later.
func TestFormerRevisionIsKept(t *testing.T) {
	p := newPlace(t, "web1")
	p.deploy(shop("one", "web1"), Request{})
	p.settle()
	p.deploy(shop("two", "web1"), Request{})
	p.settle()
	for i := range 2 * Keep {
		_, err := p.Upload(t.Context(), p.ann, "shop", archive(t, shop(fmt.Sprint("wrong ", i), "web1")), "")
		p.must(err)
	}
	list, err := p.Revisions(t.Context(), p.ann, "shop")
	p.must(err)
	if len(list) != Keep+2 {
		t.Errorf("%d revisions are kept: %+v", len(list), list)
	}
	pins, err := p.Rollback(t.Context(), p.ann, Return{Site: "shop", Hosts: "web1", To: 0, Why: "all that came later is wrong"})
	if err != nil || len(pins) != 1 || pins[0].Revision != "1" {
		t.Errorf("back to %+v: %v", pins, err)
	}
}

// err2 leaves out what else a function gives.
func err2[T any](_ T, err error) error { return err }

// What was done to a deployment is seen at once, and one that no host joins any more is not ended.
func TestFormerDeploymentStaysDone(t *testing.T) {
	p := newPlace(t, "web1")
	one := p.deploy(shop("one", "web1"), Request{})
	p.settle()
	two := p.deploy(shop("two", "web1"), Request{})
	p.settle()
	for range 2 {
		p.must(err2(p.Deployments(t.Context(), p.ann, Filter{})))
	}
	if _, err := p.Abort(t.Context(), p.ann, one.ID, ""); diag.CodeOf(err) != ErrPhase {
		t.Errorf("the former one: %v", err)
	}
	for id, want := range map[int64]bool{one.ID: false, two.ID: true} {
		brief, err := p.Brief(t.Context(), p.ann, id)
		p.must(err)
		acts, err := p.ActsOf(t.Context(), brief)
		p.must(err)
		if slices.Contains(acts, ActAbort) != want {
			t.Errorf("deployment %d has the acts %q", id, acts)
		}
	}
	p.must(err2(p.Abort(t.Context(), p.ann, two.ID, "")))
	three := p.deploy(shop("three", "web1"), Request{})
	p.settle()
	p.must(err2(p.Deployments(t.Context(), p.ann, Filter{})))
	p.must(err2(p.Deployments(t.Context(), p.ann, Filter{})))
	p.must(err2(p.Abort(t.Context(), p.ann, three.ID, "")))
	list, err := p.Deployments(t.Context(), p.ann, Filter{})
	p.must(err)
	brief, err := p.Brief(t.Context(), p.ann, three.ID)
	p.must(err)
	if list[0].Phase != Aborted || brief.Phase != Aborted {
		t.Errorf("after the abort it is %s in the list, and %s", list[0].Phase, brief.Phase)
	}
}

// Why a deployment has failed names no host to who may not see it.
func TestReasonNamesNoHiddenHost(t *testing.T) {
	p := newPlace(t, "web1", "secret1")
	web := access.Selector{}
	p.must(web.UnmarshalText([]byte("web*")))
	carl := &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Read, Hosts: web, Site: "shop"}}}
	d := p.deploy(shop("", "web1", "secret1"), Request{}) // wants nothing
	p.settle()
	d = p.expect(d.ID, Failed, CodeEmpty)
	if !strings.Contains(d.Why.Text, "secret1") {
		t.Fatalf("it says %q", d.Why.Text)
	}
	list, err := p.Deployments(t.Context(), carl, Filter{})
	p.must(err)
	one, err := p.Deployment(t.Context(), carl, d.ID)
	p.must(err)
	for _, why := range []Reason{list[0].Why, one.Why} {
		if strings.Contains(why.Text, "secret1") || why.Text == "" || why.Code != CodeEmpty {
			t.Errorf("carl reads %+v", why)
		}
	}
}

// Of many hosts only so many go back in one transaction. Where one fails the same rollback takes the others back, and none forth; they are unpinned likewise.
func TestRollbackInPieces(t *testing.T) {
	names := []string{"web1", "web2", "web3", "web4", "web5"}
	p := newPlace(t, names...)
	p.targetsAtOnce = 2
	for _, content := range []string{"one", "two"} {
		p.deploy(shop(content, names...), Request{})
		p.settle()
	}
	back := func() (n int) {
		pins, err := p.Pins(t.Context(), p.ann, "shop")
		p.must(err)
		for _, pin := range pins {
			if pin.Revision != "1" {
				t.Errorf("%s is pinned to revision %s", pin.Name, pin.Revision)
			}
		}
		if assigned := p.audited("target.assign") - 2*len(names); len(pins) != p.audited("host.pin") || len(pins) != assigned {
			t.Errorf("%d are pinned, %d and %d targets are in the audit", len(pins), p.audited("host.pin"), assigned)
		}
		return len(pins)
	}
	all := Return{Site: "shop", Hosts: "*"}
	p.fails, p.spared = errors.New("the power is cut"), 3
	if _, err := p.Rollback(t.Context(), p.ann, all); !errors.Is(err, p.fails) || !strings.Contains(err.Error(), "2 of 5 hosts have gone back") || back() != 2 {
		t.Fatalf("%d are back: %v", back(), err)
	}
	p.fails = nil
	if list, err := p.PreviewRollback(t.Context(), p.ann, "shop", "*", 0); err != nil || len(list) != 3 {
		t.Errorf("to go back are %+v: %v", list, err)
	}
	if pins, err := p.Rollback(t.Context(), p.ann, all); err != nil || len(pins) != 3 || back() != 5 {
		t.Errorf("back are %d, now %+v: %v", back(), pins, err)
	}
	if _, err := p.Rollback(t.Context(), p.ann, all); diag.CodeOf(err) != ErrPinned || back() != 5 {
		t.Errorf("where all are back, a rollback says %v", err)
	}
	if pins, err := p.Unpin(t.Context(), p.ann, "shop", "*", ""); err != nil || len(pins) != 5 || p.audited("host.unpin") != 5 {
		t.Errorf("unpinned are %+v: %v", pins, err)
	}
}

package deploy

import (
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
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
		_, err := p.Rollback(t.Context(), p.ann, "shop", hosts, waits.Number, "")
		if diag.CodeOf(err) != ErrPhase || diag.CodeOf(previewed) != ErrPhase {
			t.Errorf("to a revision that waits for an approval: %v, previewed: %v", err, previewed)
		}
	}
	if len(p.assigned()) != before {
		t.Error("hosts have another target")
	}
	p.must(err2(p.Rollback(t.Context(), p.ann, "shop", "web1", 1, "")))
	p.must(err2(p.Rollback(t.Context(), p.ann, "shop", "web1", 2, "forth again")))
	p.must(err2(p.Unpin(t.Context(), p.ann, "shop", "web1", "")))
	p.settle()
	if _, err := p.Approve(t.Context(), p.bob, waits.ID, p.get(waits.ID).Plan.Digest, ""); err != nil {
		t.Fatal(err)
	}
	p.settle()
	p.expect(waits.ID, Done, "")
	p.must(err2(p.Rollback(t.Context(), p.ann, "shop", "web1", waits.Number, "a deployment has brought it by now")))
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
	pins, err := p.Rollback(t.Context(), p.ann, "shop", "web1", 0, "all that came later is wrong")
	if err != nil || len(pins) != 1 || pins[0].Revision != "1" {
		t.Errorf("back to %+v: %v", pins, err)
	}
}

// err2 leaves out what else a function gives.
func err2[T any](_ T, err error) error { return err }

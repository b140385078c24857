package deploy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// large has each host plan so many rows of 64 KiB, none of which another host has.
func (p *place) large(count int) {
	p.rows = func(id trust.ID) (rows []states.Event) {
		for i := range count {
			rows = append(rows, states.Event{Type: "part", Address: "file." + string(id[:1]) + strings.Repeat("x", i), Reason: strings.Repeat(string(id[0]), 64<<10)})
		}
		return rows
	}
}

// deployAndPlan deploys to all hosts at once, and waits for the plan.
func (p *place) deployAndPlan(consent Consent, names ...string) *Deployment {
	p.t.Helper()
	s := shop("one", names...)
	s.Rollout = nil
	d := p.deploy(s, Request{Consent: consent})
	p.runRounds()
	return p.get(d.ID)
}

// runRounds goes on for as many rounds as one thing takes: each reads large plans.
func (p *place) runRounds() {
	p.t.Helper()
	for range 4 {
		_, err := p.Round(p.t.Context())
		p.must(err)
		p.live()
	}
}

// A plan of 20 MiB is shown, approved and carried out, also on a host that was away then; it is kept once.
func TestLargePlan(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3", "web4")
	p.large(105)
	p.away[p.id("web4")] = p.now
	d := p.deployAndPlan(Approval, "web1", "web2", "web3", "web4")
	size := func() (shown, body int64) {
		p.must(p.Store.Read(t.Context(), func(r store.Reader) error {
			_, err := store.One(r, `SELECT CAST(SUM(LENGTH(data)) AS BIGINT) FROM deploy_shown`, nil, &shown)
			if err == nil {
				_, err = store.One(r, `SELECT CAST(SUM(LENGTH(body)) AS BIGINT) FROM deploy_deployments`, nil, &body)
			}
			return err
		}))
		return shown, body
	}
	if shown, body := size(); d.Why.Code != CodeApproval || len(d.Plan.Rows) != 315 || shown < 19<<20 || shown > 21<<20 || body > 1<<20 {
		t.Fatalf("%s (%+v), %d rows, %d bytes of them and %d others are kept", d.Phase, d.Why, len(d.Plan.Rows), shown, body)
	}
	before, _ := size()
	approved, err := p.Approve(t.Context(), p.bob, d.ID, d.Plan.Digest, "")
	p.must(err)
	if len(approved.Plan.Rows) != 315 {
		t.Errorf("%d rows are approved", len(approved.Plan.Rows))
	}
	p.runRounds()
	d = p.expect(d.ID, Done, "")
	if shown, body := size(); shown != before || body > 1<<20 || len(p.assigned()) != 3 {
		t.Errorf("%d bytes of rows and %d others are kept, %d targets", shown, body, len(p.assigned()))
	}
	delete(p.away, p.id("web4"))
	p.rows = func(trust.ID) []states.Event { return []states.Event{d.Plan.Rows[7].Row} }
	p.runRounds()
	if h := p.get(d.ID).host(p.id("web4")); h.State != rollout.Ready {
		t.Errorf("web4 would do what was approved: %+v", h)
	}
}

// More than can be shown as one answer is told as what it is, before anybody could be asked for consent to it.
func TestPlanTooLarge(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3", "web4", "web5")
	p.large(120)
	d := p.deployAndPlan(Start, "web1", "web2", "web3", "web4", "web5")
	if d.Phase != Failed || d.Plan != nil || !strings.Contains(d.Why.Text, "MiB together, and 32 are allowed; that of web1 is the largest, with 7.5 MiB") || !strings.Contains(d.Why.Ask, "--hosts") {
		t.Fatalf("%s: %+v", d.Phase, d.Why)
	}
	if _, err := p.Approve(t.Context(), p.bob, d.ID, trust.DigestOf(nil), ""); diag.CodeOf(err) != ErrPhase {
		t.Errorf("it was approved: %v", err)
	}
}

// What a former version of the server has kept within the deployment is read, also where it was approved, and kept anew by the way.
func TestPlanOfFormerVersion(t *testing.T) {
	for _, isApproved := range []bool{false, true} {
		p := newPlace(t, "web1", "web2")
		p.away[p.id("web2")] = p.now
		d := p.deployAndPlan(Approval, "web1", "web2")
		former := *d
		former.Plan.Text = trust.Digest{}
		if isApproved {
			former.Phase, former.Why, former.Approved = Rolling, Reason{}, &Approved{By: "bob", At: p.now, Plan: former.Plan, Of: former.Plan.Digest}
		}
		body, err := json.Marshal(former)
		p.must(err)
		if got := strings.Count(string(body), `"rows":[`); got == 0 || isApproved != (got == 2) {
			t.Fatalf("the record has the rows %d times", got)
		}
		p.must(p.Store.Write(t.Context(), func(tx store.Tx) error {
			if _, err := tx.Exec(`DELETE FROM deploy_shown`); err != nil {
				return err
			}
			_, err := tx.Exec(`UPDATE deploy_deployments SET body = $2, phase = $3 WHERE id = $1`, d.ID, body, string(former.Phase))
			return err
		}))
		p.Service = New(p.Options)
		if got := p.get(d.ID); len(got.Plan.Rows) != 1 {
			t.Errorf("approved %v: %+v", isApproved, got.Plan)
		}
		if !isApproved {
			_, err := p.Approve(t.Context(), p.bob, d.ID, d.Plan.Digest, "")
			p.must(err)
		}
		p.settle()
		delete(p.away, p.id("web2"))
		p.settle()
		d = p.expect(d.ID, Done, "")
		if len(d.Plan.Rows) != 1 || d.host(p.id("web2")).State != rollout.Ready || d.Plan.Text.IsZero() {
			t.Errorf("approved %v: %+v, %+v", isApproved, d.Plan, d.host(p.id("web2")))
		}
	}
}

// Rows that were damaged in the store consent to nothing, and are no plan.
func TestDamagedPlan(t *testing.T) {
	p := newPlace(t, "web1", "web2")
	p.away[p.id("web2")] = p.now
	d := p.deployAndPlan(Approval, "web1", "web2")
	_, err := p.Approve(t.Context(), p.bob, d.ID, d.Plan.Digest, "")
	p.must(err)
	p.settle()
	p.must(p.Store.Write(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(`UPDATE deploy_shown SET data = $1`, []byte(`[]`))
		return err
	}))
	p.Service = New(p.Options)
	delete(p.away, p.id("web2"))
	for range 4 {
		_, err = p.Round(t.Context())
		p.live()
	}
	if err == nil || !strings.Contains(err.Error(), "is damaged") || len(p.assigned()) != 1 {
		t.Errorf("%v, %d targets", err, len(p.assigned()))
	}
	if _, err := p.Deployment(t.Context(), p.ann, d.ID); err == nil {
		t.Error("a damaged plan is shown")
	}
}

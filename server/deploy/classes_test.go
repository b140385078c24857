package deploy

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// Hosts for which the site is wrong are counted by what is wrong; who may read some of them is told of these alone. What a former version of the server has written counts likewise.
func TestWhatIsWrong(t *testing.T) {
	const n = 120
	f := newFleet(t, n)
	f.fails = func(host string) string {
		switch i := f.numbers[host]; {
		case i < 30:
			return "site.hcl:1: one thing"
		case i < 90:
			return "site.hcl:2: another thing"
		default:
			return ""
		}
	}
	d := f.deploy("wrong")
	for range 3 {
		_, err := f.Round(t.Context())
		f.must(err)
	}
	want := func(when string, by *access.Caller, counts ...int) {
		t.Helper()
		r, err := f.ShowRevision(t.Context(), by, "shop", d.Number)
		f.must(err)
		var got []int
		for _, w := range r.Wrong {
			got = append(got, w.Count)
			if len(w.Hosts) != min(w.Count, maxWrongHosts) || w.Text != f.fails(w.Hosts[0]) {
				t.Errorf("%s: of %d hosts %q is told: %s", when, w.Count, w.Hosts, w.Text)
			}
		}
		if !slices.Equal(got, counts) {
			t.Errorf("%s: there are %v wrong hosts, and %v were wanted", when, got, counts)
		}
	}
	few, err := access.ParseSelector("host0002*")
	f.must(err)
	reader := &access.Caller{Name: "bob", Grants: []access.Grant{{Verb: access.Read, Hosts: few, Site: "shop"}}}
	want("new", f.ann, 60, 30)
	want("new, some", reader, 10)
	f.must(f.Store.Write(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(`UPDATE deploy_prepared SET class = '' WHERE host < $1`, string(f.hosts[5].ID))
		return err
	}))
	want("written before", f.ann, 60, 30)
	want("written before, some", reader, 10)
}

// However many hosts there are, what became of a deployment is told of few of them, and few are read.
func TestOutcomeIsBounded(t *testing.T) {
	const n = 2*maxReports + 100
	f := newFleet(t, n)
	d := f.deploy("one")
	f.finish(d.ID)
	f.Service.Report = func(context.Context, trust.ID, string) (*states.Report, time.Time, error) {
		return &states.Report{Revision: "run"}, f.now, nil
	}
	outcome := func() (*Outcome, map[rollout.State]int) {
		f.engine.since()
		o, err := f.Outcome(t.Context(), d.ID)
		f.must(err)
		if c := f.engine.since(); c.statements > 4*maxReports {
			t.Errorf("it takes %+v", c)
		}
		hosts := map[rollout.State]int{}
		for _, h := range o.Hosts {
			hosts[h.State] += 1 + h.Others
		}
		return o, hosts
	}
	if o, hosts := outcome(); len(o.Hosts) != 1 || hosts[rollout.Ready] != n || o.Phase != Done || !slices.Equal(o.Hosts[0].Components, []string{"web"}) {
		t.Errorf("when it is done, %v are told as %+v", hosts, o)
	}
	// Hosts fail after they were ready only by another deployment.
	f.breaks = true
	d = f.deploy("two")
	for range 5 {
		_, err := f.Round(t.Context())
		f.must(err)
	}
	o, hosts := outcome()
	if len(o.Hosts) != maxReports+1 || hosts[rollout.Failed] != n || o.Hosts[0].Why.Code != CodeGaveUp || o.Hosts[0].Report == nil || o.Hosts[maxReports].Others != n-maxReports-1 {
		t.Errorf("where all fail, %v are told, of which %d by themselves, the first as %+v", hosts, len(o.Hosts), o.Hosts[0])
	}
	// What was superseded before any host had its turn says so, although a later one has them all.
	f.breaks = false
	waits, err := f.Create(t.Context(), f.ann, Request{Site: "shop", Consent: Start})
	f.must(err)
	f.finish(f.deploy("three").ID)
	d = waits
	if o, hosts := outcome(); o.Phase != Superseded || hosts[rollout.Out] != n {
		t.Errorf("of what was superseded %v are told, as %+v", hosts, o)
	}
}

// A host that waits, and that a later deployment has, is told of by that one.
func TestOutcomeLeavesOutLaterHosts(t *testing.T) {
	f := newFleet(t, 3)
	f.hosts[2].Locked = "it may be a clone"
	d := f.deploy("one")
	f.finish(d.ID)
	for _, want := range []int{3, 2} {
		o, err := f.Outcome(t.Context(), d.ID)
		f.must(err)
		n := 0
		for _, h := range o.Hosts {
			n += 1 + h.Others
		}
		if n != want {
			t.Errorf("%d hosts are told of, and not %d: %+v", n, want, o.Hosts)
		}
		_, err = f.Create(t.Context(), f.ann, Request{Site: "shop", Hosts: f.hosts[2].Name})
		f.must(err)
		_, err = f.Round(t.Context())
		f.must(err)
	}
}

// brokenLoop is what a host tells that gives up.
func brokenLoop(at trust.Position) control.Loop {
	return control.Loop{Position: at, Phase: control.PhaseHelp, Condition: control.ConditionFailed, Reason: fmt.Sprint("no space at ", at.N)}
}

package update

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
)

// fleet is hosts that run something, and an update of them.
type fleet struct {
	*testing.T
	u     *Update
	now   time.Time
	looks map[trust.ID]*Look
}

func newFleet(t *testing.T, count int, r site.Rollout) *fleet {
	t.Helper()
	f := &fleet{T: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), looks: map[trust.ID]*Look{}}
	f.u = &Update{Number: 3, Version: "v1.1.0", Release: trust.DigestOf([]byte("release")), Deadline: time.Hour, Phase: Rolling}
	var names []string
	for i := range count {
		name := fmt.Sprintf("h%d", i+1)
		names = append(names, name)
		f.u.Hosts = append(f.u.Hosts, &Host{ID: trust.ID(name), Name: name})
		f.looks[trust.ID(name)] = &Look{Program: &trust.Running{Name: "tenet", Version: "v1.0.0", OS: "linux", Arch: "amd64"}}
	}
	var err error
	if f.u.Batches, err = rollout.Batches(&r, 0, names); err != nil {
		t.Fatal(err)
	}
	return f
}

// round looks once, and gives who begins.
func (f *fleet) round() string {
	release := &trust.Release{Version: "v1.1.0", Programs: []trust.Program{{Name: "tenet", OS: "linux", Arch: "amd64"}}}
	var names []string
	for _, h := range f.u.Advance(World{Now: f.now, Release: release, Look: func(id trust.ID) Look { return *f.looks[id] }}) {
		names = append(names, h.Name)
	}
	return strings.Join(names, " ")
}

func (f *fleet) runs(name, version string) {
	f.looks[trust.ID(name)].Program = &trust.Running{Name: "tenet", Version: version, OS: "linux", Arch: "amd64"}
}

func (f *fleet) tells(name string, phase control.UpdatePhase, reason string) {
	f.looks[trust.ID(name)].Update = &control.Update{Number: 3, Release: f.u.Release, Phase: phase, Reason: reason}
}

func (f *fleet) expect(begun, want string, phase Phase) {
	f.Helper()
	if begun != want || f.u.Phase != phase {
		f.Errorf("%q begin and it is %s (%s), instead of %q and %s", begun, f.u.Phase, f.u.Reason, want, phase)
	}
}

func amount(n int) *site.Amount { return &site.Amount{N: n} }

func TestBatches(t *testing.T) {
	f := newFleet(t, 4, site.Rollout{Batch: []site.Amount{{N: 1}, {N: 2}}})
	f.expect(f.round(), "h1", Rolling)
	f.expect(f.round(), "", Rolling)
	f.runs("h1", "v1.1.0")
	f.expect(f.round(), "h2 h3", Rolling)
	f.runs("h2", "v1.1.0")
	f.expect(f.round(), "", Rolling)
	f.runs("h3", "v1.2.0") // somebody has installed a later one
	f.expect(f.round(), "h4", Rolling)
	f.runs("h4", "v1.1.0")
	f.expect(f.round(), "", Done)
}

func TestFailuresEndIt(t *testing.T) {
	for allowed, phase := range map[int]Phase{0: Failed, 1: Rolling} {
		f := newFleet(t, 3, site.Rollout{Batch: []site.Amount{{N: 1}}, MaxFailures: amount(allowed)})
		f.round()
		f.tells("h1", control.UpdateFailed, "it was tried, and cannot follow")
		want := ""
		if phase == Rolling {
			want = "h2"
		}
		f.expect(f.round(), want, phase)
		if h := f.u.Hosts[0]; h.State != rollout.Failed || !strings.Contains(h.Reason, "cannot follow") {
			t.Errorf("%+v", h)
		}
		if phase == Failed && f.u.Hosts[2].Turn != 0 {
			t.Error("hosts begin after the end")
		}
	}
}

// What a host has told of another update says nothing of this one.
func TestOtherUpdatesDoNotCount(t *testing.T) {
	f := newFleet(t, 1, site.Rollout{})
	f.tells("h1", control.UpdateFailed, "before")
	f.looks["h1"].Update.Number = 2
	f.expect(f.round(), "h1", Rolling)
	f.expect(f.round(), "", Rolling)
}

func TestDeadline(t *testing.T) {
	f := newFleet(t, 2, site.Rollout{MaxFailures: amount(1)})
	f.expect(f.round(), "h1 h2", Rolling)
	f.tells("h1", control.UpdateWaiting, "the host is held: work")
	f.tells("h2", control.UpdateFetching, "no server answers")
	f.now = f.now.Add(time.Hour)
	f.round()
	if f.u.Hosts[0].State != rollout.Out || f.u.Hosts[1].State != rollout.Failed {
		t.Errorf("%+v %+v", f.u.Hosts[0], f.u.Hosts[1])
	}
}

// Nobody waits for hosts that are not at hand, and who comes back follows.
func TestHostsThatAreOut(t *testing.T) {
	f := newFleet(t, 5, site.Rollout{Batch: []site.Amount{{N: 5}}})
	f.looks["h2"].Away = f.now
	f.looks["h3"].Locked = "it is locked"
	f.runs("h4", "devel")
	f.looks["h5"].Program = nil
	f.expect(f.round(), "h1", Rolling)
	f.runs("h1", "v1.1.0")
	f.expect(f.round(), "", Done)
	for _, h := range f.u.Hosts[1:] {
		if h.State != rollout.Out || h.Reason == "" {
			t.Errorf("%+v", h)
		}
	}
	f.looks["h2"].Away = time.Time{}
	f.expect(f.round(), "h2", Done)
}

// A batch of which no host is at hand waits, until one is or a person says that it goes on.
func TestBatchIsOut(t *testing.T) {
	f := newFleet(t, 2, site.Rollout{Batch: []site.Amount{{N: 1}}})
	f.looks["h1"].Away = f.now
	f.expect(f.round(), "", Rolling)
	if !strings.Contains(f.u.Reason, "no host of batch 1") {
		t.Errorf("it says %q", f.u.Reason)
	}
	f.u.Progress.Resumed = true
	f.expect(f.round(), "h2", Rolling)
	f = newFleet(t, 2, site.Rollout{Batch: []site.Amount{{N: 1}}})
	f.looks["h1"].Away = f.now
	f.round()
	f.looks["h1"].Away = time.Time{}
	f.expect(f.round(), "h1", Rolling)
	// A batch that runs the release already needs no turn.
	f = newFleet(t, 2, site.Rollout{Batch: []site.Amount{{N: 1}}})
	f.runs("h1", "v1.1.0")
	f.expect(f.round(), "h2", Rolling)
}

// After a start nobody begins while hosts may be about to connect.
func TestServerHasStarted(t *testing.T) {
	f := newFleet(t, 2, site.Rollout{})
	f.looks["h1"].Away = f.now
	release := &trust.Release{Version: "v1.1.0"}
	if begun := f.u.Advance(World{Now: f.now, Settles: f.now.Add(time.Minute), Release: release, Look: func(id trust.ID) Look { return *f.looks[id] }}); len(begun) > 0 || f.u.Phase != Rolling {
		t.Errorf("%d begin, and it is %s", len(begun), f.u.Phase)
	}
}

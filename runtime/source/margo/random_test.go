package margo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// world is a device, its manager and its host in memory: any step may fail, or be the last of a program.
type world struct {
	*rapid.T
	random  *rand.Rand // even, where rapid would have most go wrong at once
	rules   margo.Rules
	now     time.Time
	saved   margo.State // what outlives a crash
	state   margo.State
	crashed bool
	faults  bool // whether anything goes wrong

	version   uint64
	manifests map[rc2.Digest]manifest
	current   rc2.Digest

	highest  margo.Mark        // that was ever durable
	host     map[string]string // "deployment/component": its revision
	statuses map[string]rc2.Status
}

type manifest struct {
	rc2.Manifest
	documents map[string]rc2.Deployment
}

// oops lets something go wrong now and then.
func (w *world) oops(what string, each int) bool {
	if !w.faults || w.random.IntN(each) != 0 {
		return false
	}
	w.Logf("%s", what)
	return true
}

// handle is Device's, in which a program may end before and after a State is durable.
func (w *world) handle(m margo.Message) {
	if w.crashed {
		return
	}
	next, actions := w.rules.Step(w.state, w.now, m)
	if w.oops("crash before", 60) {
		w.crashed = true
		return
	}
	w.state, w.saved = next, next
	if next.Client == w.saved.Client && w.highest.Version > next.Accepted.Version {
		w.Fatalf("version %d was accepted, and %d after it", w.highest.Version, next.Accepted.Version)
	}
	if w.highest.Version == next.Accepted.Version && w.highest.Version > 0 && w.highest.Digest != next.Accepted.Digest {
		w.Fatalf("version %d was accepted with two contents", w.highest.Version)
	}
	w.highest = next.Accepted
	for _, a := range actions {
		if w.crashed = w.crashed || w.oops("crash after", 60); w.crashed {
			return
		}
		w.act(a)
	}
}

func (w *world) failure() margo.Failure {
	kinds := []margo.Failure{
		{Reason: "no answer"}, {Status: 503, Reason: "busy"}, {Status: 429, After: time.Minute, Reason: "too many"},
		{Status: 500, Problem: &rc2.Problem{Backoff: rc2.BackoffFixed, After: time.Minute}, Reason: "fixed"},
	}
	return kinds[w.random.IntN(len(kinds))]
}

func (w *world) act(a margo.Action) {
	switch a := a.(type) {
	case margo.Ask:
		w.answer(a)
	case margo.Fetch:
		if w.oops("unavailable", 6) {
			w.handle(margo.Unavailable{Failure: w.failure()})
			return
		}
		known := w.manifests[a.Digest]
		w.handle(margo.Verified{Manifest: a.Manifest, Digest: a.Digest, Documents: known.documents})
	case margo.Send:
		if w.state.Outbox[a.Status.Deployment].Serial != a.Serial {
			return
		}
		if w.oops("not told", 4) {
			w.handle(margo.Untold{Deployment: a.Status.Deployment, Serial: a.Serial, Failure: w.failure()})
			return
		}
		w.take(a.Status)
		if w.crashed = w.oops("crash after telling", 30); !w.crashed {
			w.handle(margo.Taken{Deployment: a.Status.Deployment, Serial: a.Serial})
		}
	case margo.Apply:
		w.apply()
	}
}

func (w *world) answer(a margo.Ask) {
	if w.oops("manager away", 4) {
		w.handle(margo.Unavailable{Failure: w.failure()})
		return
	}
	digest := w.current
	if w.oops("manager replays", 4) {
		digest = pick(w.random, slices.Sorted(maps.Keys(w.manifests)))
	}
	if a.ETag == `"`+string(digest)+`"` {
		w.handle(margo.Unchanged{})
		return
	}
	w.handle(margo.Offered{Manifest: w.manifests[digest].Manifest, Digest: digest})
}

// take is the manager's: a device never goes back to a version of before.
func (w *world) take(s rc2.Status) {
	if former, ok := w.statuses[s.Deployment]; ok && former.Adopted > s.Adopted {
		w.Fatalf("the manager was told of version %d of %s, and then of %d", former.Adopted, s.Deployment, s.Adopted)
	}
	if s.Adopted == 0 || s.Overall.State != rc2.Gravest(s.Components) {
		w.Fatalf("a status is %+v", s)
	}
	w.statuses[s.Deployment] = s
}

// apply is an applier, which breaks and crashes.
func (w *world) apply() {
	manifest := w.manifests[w.state.Accepted.Digest]
	for _, id := range slices.Sorted(maps.Keys(w.state.Deployments)) {
		load := w.state.Deployments[id]
		document := manifest.documents[id]
		for _, name := range slices.Clone(load.Host) {
			if !load.Absent && slices.ContainsFunc(document.Components, func(c rc2.Component) bool { return c.Name == name }) {
				continue
			}
			w.handle(margo.Progress{Deployment: id, Component: name, State: rc2.Removing})
			if w.oops("not removed", 6) {
				w.handle(margo.Progress{Deployment: id, Component: name, State: rc2.Failed, Error: &rc2.Error{Code: margo.CodeRemoval, Source: name, Message: "no"}})
				continue
			}
			if w.crashed {
				return
			}
			delete(w.host, id+"/"+name)
			w.handle(margo.Progress{Deployment: id, Component: name, State: rc2.Removed})
		}
		if load.Absent {
			continue
		}
		for _, c := range document.Components {
			w.handle(margo.Progress{Deployment: id, Component: c.Name, State: rc2.Installing})
			if w.crashed {
				return
			}
			if w.oops("not installed", 6) {
				w.handle(margo.Progress{Deployment: id, Component: c.Name, State: rc2.Failed, Error: &rc2.Error{Code: margo.CodeFailed, Source: c.Name, Message: "no"}})
				break
			}
			w.host[id+"/"+c.Name] = c.Revision
			w.handle(margo.Progress{Deployment: id, Component: c.Name, State: rc2.Installed})
		}
	}
	w.handle(margo.Ended{})
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// publish makes another manifest.
func (w *world) publish() {
	w.version += 1 + w.random.Uint64N(3)
	m := manifest{Manifest: rc2.Manifest{Version: w.version}, documents: map[string]rc2.Deployment{}}
	for _, id := range []string{"a", "b", "c"} {
		content := w.random.IntN(6) // 0: it is not there
		if content == 0 {
			continue
		}
		d := rc2.Deployment{ID: id, Name: id, Device: "device-1", Type: rc2.TypeCompose}
		for i := range 1 + content%3 {
			d.Components = append(d.Components, rc2.Component{Name: fmt.Sprint("part-", i), Revision: fmt.Sprint(content)})
		}
		m.documents[id] = d
		m.Deployments = append(m.Deployments, rc2.Reference{ID: id, Digest: rc2.DigestOf(fmt.Append(nil, id, content))})
	}
	w.current = rc2.DigestOf(fmt.Append(nil, "manifest", w.version))
	w.manifests[w.current] = m
	// What somebody offers who stands in for the manager: the same version, and nothing in it.
	w.manifests[rc2.DigestOf(fmt.Append(nil, "forged", w.version))] = manifest{Manifest: rc2.Manifest{Version: w.version}}
}

func (w *world) start() {
	w.crashed, w.state = false, w.saved
	w.handle(margo.Started{Client: "client"})
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.handle(margo.Passed{})
	if w.crashed {
		w.start()
	}
}

// Whatever fails, and wherever a program ends, no version is applied below one that was accepted; and once nothing fails any more
// the host is as the newest manifest says, and so is what the manager was told last.
func TestDeviceArrivesWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			T: rt, random: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), rules: margo.Rules{Device: "device-1", Interval: time.Minute}, now: time.Unix(1_800_000_000, 0), faults: true,
			manifests: map[rc2.Digest]manifest{}, host: map[string]string{}, statuses: map[string]rc2.Status{},
		}
		w.publish()
		w.start()
		for range 1 + w.random.IntN(40) {
			switch w.random.IntN(6) {
			case 0:
				w.publish()
			case 1:
				w.pass(time.Second)
			case 2:
				w.start()
			default:
				w.pass(time.Minute)
			}
		}
		w.faults = false
		w.publish() // where a forgery came first, the genuine manifest of that version is refused
		w.start()
		for range 8 {
			w.pass(time.Hour)
		}
		w.check()
	})
}

func (w *world) check() {
	newest := w.manifests[w.current]
	want := map[string]string{}
	for id, d := range newest.documents {
		for _, c := range d.Components {
			want[id+"/"+c.Name] = c.Revision
		}
		if s := w.statuses[id]; s.Overall.State != rc2.Installed || s.Adopted > w.version {
			w.Fatalf("the manager knows of %s: %+v", id, s)
		}
	}
	if !maps.Equal(w.host, want) {
		w.Fatalf("on the host are %v, want %v", w.host, want)
	}
	for id, s := range w.statuses {
		if _, wanted := newest.documents[id]; !wanted && s.Overall.State != rc2.Removed {
			w.Fatalf("%s is gone, and the manager knows of %+v", id, s)
		}
	}
	if w.state.Accepted.Version != w.version || w.state.Synced.Version != w.version || len(w.state.Outbox) != 0 || w.state.Applying {
		w.Fatalf("left is %+v", w.state)
	}
}

// A step changes nothing that it is given: what is durable stays what it is.
func TestStepLeavesItsState(t *testing.T) {
	rules := margo.Rules{Device: "device-1", Interval: time.Minute}
	d := rc2.Deployment{ID: "a", Name: "a", Device: "device-1", Type: rc2.TypeCompose, Components: []rc2.Component{{Name: "web"}}}
	m := rc2.Manifest{Version: 1, Deployments: []rc2.Reference{{ID: "a", Digest: rc2.DigestOf(nil)}}}
	now := time.Unix(1_800_000_000, 0)
	s, _ := rules.Step(margo.State{}, now, margo.Verified{Manifest: m, Digest: rc2.DigestOf(nil), Documents: map[string]rc2.Deployment{"a": d}})
	before := fmt.Sprintf("%+v", s)
	for _, message := range []margo.Message{
		margo.Progress{Deployment: "a", Component: "web", State: rc2.Installed}, margo.Ended{}, margo.Passed{}, margo.Started{Client: "b"},
		margo.Verified{Manifest: rc2.Manifest{Version: 2}, Digest: rc2.DigestOf([]byte("2"))}, margo.Taken{Deployment: "a", Serial: 1},
	} {
		rules.Step(s, now, message)
		if after := fmt.Sprintf("%+v", s); after != before {
			t.Fatalf("%T changed the state:\n%s\n%s", message, before, after)
		}
	}
}

// Between a report and the answer to it there may be news: they are not taken for told.
func TestNewerReportStays(t *testing.T) {
	rules := margo.Rules{Device: "device-1", Interval: time.Minute}
	now := time.Unix(1_800_000_000, 0)
	d := rc2.Deployment{ID: "a", Name: "a", Device: "device-1", Type: rc2.TypeCompose, Components: []rc2.Component{{Name: "web"}}}
	m := rc2.Manifest{Version: 1, Deployments: []rc2.Reference{{ID: "a", Digest: rc2.DigestOf(nil)}}}
	s, _ := rules.Step(margo.State{}, now, margo.Verified{Manifest: m, Digest: rc2.DigestOf(nil), Documents: map[string]rc2.Deployment{"a": d}})
	former := s.Outbox["a"].Serial
	s, _ = rules.Step(s, now, margo.Progress{Deployment: "a", Component: "web", State: rc2.Installed})
	s, _ = rules.Step(s, now, margo.Taken{Deployment: "a", Serial: former})
	s, _ = rules.Step(s, now, margo.Untold{Deployment: "a", Serial: former, Failure: margo.Failure{Status: 422}})
	if s.Outbox["a"].Status.Overall.State != rc2.Installed {
		t.Errorf("kept is %+v", s.Outbox)
	}
}

// A component that an update has no more, and that could not be removed, is tried again.
func TestComponentThatStaysIsNotSettled(t *testing.T) {
	rules := margo.Rules{Device: "device-1", Interval: time.Minute}
	now := time.Unix(1_800_000_000, 0)
	s := margo.State{}
	for version, names := range [][]string{{"web", "old"}, {"web"}} {
		d := rc2.Deployment{ID: "a", Name: "a", Device: "device-1", Type: rc2.TypeCompose}
		for _, name := range names {
			d.Components = append(d.Components, rc2.Component{Name: name})
		}
		digest := rc2.DigestOf([]byte{byte(version)})
		m := rc2.Manifest{Version: uint64(version + 1), Deployments: []rc2.Reference{{ID: "a", Digest: digest}}}
		s, _ = rules.Step(s, now, margo.Verified{Manifest: m, Digest: digest, Documents: map[string]rc2.Deployment{"a": d}})
		for _, name := range names {
			s, _ = rules.Step(s, now, margo.Progress{Deployment: "a", Component: name, State: rc2.Installed})
		}
		s, _ = rules.Step(s, now, margo.Ended{})
	}
	if s.Synced.Version != 1 {
		t.Errorf("version %d is synced", s.Synced.Version)
	}
	s, _ = rules.Step(s, now, margo.Progress{Deployment: "a", Component: "old", State: rc2.Removed})
	if s, _ = rules.Step(s, now, margo.Ended{}); s.Synced.Version != 2 {
		t.Errorf("version %d is synced", s.Synced.Version)
	}
}

package sessions_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/machine/machinetest"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/sessions"
)

const greeting = `site { name = "shop" }
state "motd" {
  file "motd" {
    path    = "ROOT/motd"
    content = "hello"
  }
  file "page" {
    path   = "ROOT/page"
    source = "page.html"
  }
}
`

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// What is wanted of a host comes to be there, and the server learns of each step.
func TestAssignment(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	id := h.key.Public().ID()
	f.await("facts are known", func(i *control.Item) bool { return i.Facts != nil })
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	end := f.await("a run has ended", func(i *control.Item) bool { return i.Run != nil && !i.Run.Ended.IsZero() })
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
	if content(t, h.root+"/motd") != "hello" || content(t, h.root+"/page") != "<p>" {
		t.Error("the files are not there")
	}
	if end.Run.Failed || end.Run.Report == nil || !end.Run.Report.Ready {
		t.Errorf("the run ended as %+v", end.Run)
	}
	st := f.sessions.Status(id)
	if s := st.Sites["shop"]; s == nil || s.Delivery.Held == nil || *s.Delivery.Held != *s.Delivery.Target || !s.Delivery.Adopted || s.Delivery.Pending != "" || s.Loop.Condition != control.ConditionConverged || !st.Reachability.Connected {
		t.Errorf("it stands as %+v", st.Sites["shop"])
	}
	if s := st.Sites["shop"]; s.Readiness() != sessions.Ready || s.Report.Run != end.Run.Run || s.Delivery.Progress() != sessions.ProgressAdopted || st.Reachability.Reach() != sessions.ReachConnected {
		t.Errorf("in words it stands as %s, %s, %s", s.Readiness(), s.Delivery.Progress(), st.Reachability.Reach())
	}
	report, _, err := f.sessions.Report(t.Context(), id, "shop")
	if err != nil || report == nil || len(report.Parts) != 2 || !report.Ready {
		t.Errorf("the report is %+v: %v", report, err)
	}
	f.expectReports(id, len(report.Parts))
	part, err := f.sessions.Runs(t.Context(), sessions.RunFilter{Hosts: []trust.ID{id}})
	runs := part.Runs
	if err != nil || len(runs) != 1 || runs[0].Ended == nil || runs[0].Counts.Changed != 2 {
		t.Fatalf("the runs are %+v: %v", runs, err)
	}
	events, err := f.sessions.Events(t.Context(), id, runs[0].Run)
	if err != nil || bytes.Count(events, []byte("\n")) < 3 || !bytes.Contains(events, []byte("motd")) {
		t.Errorf("the events are %s: %v", events, err)
	}
	facts, signed, err := f.sessions.Facts(t.Context(), id)
	if err != nil || facts == nil || facts.Facts["os"] == nil || !signed.IsSignedBy(trust.KindReport, h.key.Public()) {
		t.Errorf("the facts are %+v: %v", facts, err)
	}
}

// What is wanted lasts: beyond the end of the agent, and of the server; and no content is fetched twice.
func TestRestarts(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
	fetched := f.fetched
	f.stop(h)
	if err := os.WriteFile(h.root+"/motd", []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.denied = true // nothing is needed of the server
	f.start(h)
	f.await("the host is as wanted again", loopIs(control.PhaseWaiting, control.ConditionConverged))
	if content(t, h.root+"/motd") != "hello" || f.fetched != fetched {
		t.Errorf("it holds %q, and %d contents were fetched again", content(t, h.root+"/motd"), f.fetched-fetched)
	}
	if err := f.sessions.SaveSeen(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := f.sessions.Status(h.key.Public().ID())
	f.stop(h)
	again, err := sessions.Open(t.Context(), sessions.Options{Store: f.store, Broker: f.broker, Hosts: f, Signer: f, Term: 2})
	if err != nil {
		t.Fatal(err)
	}
	after := again.Status(h.key.Public().ID())
	if after.Sites["shop"] == nil || *after.Sites["shop"].Delivery.Target != *before.Sites["shop"].Delivery.Target || after.Sites["shop"].Loop.Condition != control.ConditionConverged {
		t.Errorf("it stood as %+v, and stands as %+v", before.Sites["shop"], after.Sites["shop"])
	}
	if s := after.Sites["shop"]; s != nil && s.Readiness() != sessions.Ready || after.Reachability.Reach() != sessions.ReachSilent {
		t.Errorf("in words it stands as %+v, %s", s, after.Reachability.Reach())
	}
	if after.Reachability.Lost || after.Reachability.Connected || after.Reachability.Seen.Sub(before.Reachability.Seen).Abs() > time.Minute {
		t.Errorf("it was seen %+v, and now %+v", before.Reachability, after.Reachability)
	}
}

// A site that says nothing of a host any more has what it created removed: a signed absence alone does that.
func TestAbsence(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
	f.assign(h, &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "r9", Absent: true, Until: time.Now().Add(time.Hour)})
	f.await("nothing is left", loopIs(control.PhaseGone, control.ConditionUnknown))
	if content(t, h.root+"/motd") != "" || content(t, h.root+"/page") != "" {
		t.Error("the files are still there")
	}
}

// What cannot be done is tried again, and told; something else that is wanted begins anew.
func TestFailure(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	bad := strings.Replace(greeting, "ROOT/motd", "ROOT/none/motd", 1)
	f.want(h, bad, map[string]string{"page.html": "<p>"})
	i := f.await("it has failed twice", func(i *control.Item) bool {
		return i.Loop != nil && i.Loop.Phase == control.PhaseRetrying && i.Loop.Attempt == 2
	})
	if i.Loop.Condition != control.ConditionFailed || i.Loop.Attempts < 3 || i.Loop.Next.IsZero() || !strings.HasPrefix(i.Loop.Reason, "state.motd.file.motd: ") {
		t.Errorf("it is told as %+v", i.Loop)
	}
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
}

// A machine behind an agent is one like any other, and locked hosts do nothing that is asked.
func TestMachine(t *testing.T) {
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		f := newFleet(t)
		h := f.add("web1")
		f.await("the agent is there", func(i *control.Item) bool { return i.Facts != nil })
		another := func() machine.Machine {
			return &remote.Machine{Name: "subject", Registry: modules.Standard(), Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
				return f.sessions.Dial(ctx, h.key.Public().ID(), f.sessions.SignAs("alice"), o)
			}}
		}
		return machinetest.Subject{Machine: another(), Another: another, Dir: h.root, Files: machinetest.LocalFiles{}, Outlives: true}
	})
}

// A host that is locked gets nothing new and does nothing that is asked, keeps what it has, and is heard.
func TestLocked(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	id := h.key.Public().ID()
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
	f.mu.Lock()
	h.locked = true
	f.mu.Unlock()
	f.want(h, strings.Replace(greeting, "hello", "bye", 1), map[string]string{"page.html": "<p>"})
	m := &remote.Machine{Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		return f.sessions.Dial(ctx, id, f.sessions.SignAs("alice"), o)
	}}
	if _, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"true"}}, machine.Observer{}); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("it runs programs: %v", err)
	}
	f.stop(h)
	f.start(h) // it says what it holds, and that it is as it is to be
	f.await("the host is as before", loopIs(control.PhaseWaiting, control.ConditionConverged))
	if content(t, h.root+"/motd") != "hello" {
		t.Error("it got something new")
	}
	if s := f.sessions.Status(id).Sites["shop"]; s.Delivery.Pending != "the host is locked" {
		t.Errorf("it stands as %+v", s.Delivery)
	}
	f.mu.Lock()
	h.locked = false
	f.mu.Unlock()
	if err := f.sessions.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	f.await("a run has ended", func(i *control.Item) bool { return i.Run != nil && !i.Run.Ended.IsZero() })
	if content(t, h.root+"/motd") != "bye" {
		t.Error("what is new does not come once it is unlocked")
	}
}

// Two processes that speak for one host are noticed, and one after the other are not.
func TestCopy(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	f.await("the agent is there", func(i *control.Item) bool { return i.Facts != nil })
	f.stop(h)
	f.start(h)
	f.await("the agent is there again", func(i *control.Item) bool { return i.Facts != nil })
	f.mu.Lock()
	if len(f.copies) > 0 {
		t.Errorf("a new process is taken for a copy")
	}
	f.mu.Unlock()
	twin := *h
	twin.dir = filepath.Join(t.TempDir(), "twin")
	f.start(&twin)
	defer f.stop(&twin)
	limit := time.Now().Add(2 * time.Minute)
	for {
		f.mu.Lock()
		n := len(f.copies)
		f.mu.Unlock()
		if n > 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("nobody notices the copy")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A server that was taken back in time delivers nothing once a host shows what it holds, until a person has decided.
func TestTakenBack(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	id := h.key.Public().ID()
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
	if f.sessions.Recovering() {
		t.Fatal("it recovers from nothing")
	}
	// The store forgets what was wanted last, as one that was put back does.
	f.forgetTargets(id)
	limit := time.Now().Add(2 * time.Minute)
	f.stop(h)
	f.start(h)
	for !f.sessions.Recovering() {
		if time.Now().After(limit) {
			t.Fatal("the server believes that nothing was wanted")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if sites := f.sessions.Unknown()[id]; len(sites) != 1 || sites[0] != "shop" {
		t.Errorf("unknown are %v", sites)
	}
	err := f.tryAssign(id)
	if diag.CodeOf(err) != sessions.CodeRecovering {
		t.Errorf("something is assigned meanwhile: %v", err)
	}
	f.resume()
	// It has decided on what the host holds: that is not asked again when the host comes back.
	f.stop(h)
	f.start(h)
	f.await("the host is there again", loopIs(control.PhaseWaiting, control.ConditionConverged))
	if f.sessions.Recovering() || len(f.sessions.Unknown()) > 0 {
		t.Errorf("the server asks again about %v", f.sessions.Unknown())
	}
	if err := f.tryAssign(id); err != nil {
		t.Fatal(err)
	}
	f.await("nothing is left", loopIs(control.PhaseGone, control.ConditionUnknown))
}

// An absence that was carried out stays held: what was signed before it does not count again, whoever brings it.
func TestAbsenceStays(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
	f.assign(h, &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "r9", Absent: true, Until: time.Now().Add(time.Hour)})
	f.await("nothing is left", loopIs(control.PhaseGone, control.ConditionUnknown))
	f.stop(h)
	f.start(h)
	f.await("nothing is left", loopIs(control.PhaseGone, control.ConditionUnknown))
	held := f.sessions.Status(h.key.Public().ID()).Sites["shop"].Delivery
	if held.Held == nil || *held.Held != *held.Target || !held.Absent {
		t.Errorf("it holds %+v", held)
	}
}

// A server that gives no contents is no reason to give up: nothing was tried, and it goes on when there are some.
func TestNoContents(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	f.mu.Lock()
	f.denied = true
	f.mu.Unlock()
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	for range 3 {
		i := f.await("it could not be tried", loopIs(control.PhaseRetrying, control.ConditionUnknown))
		if i.Loop.Attempt != 0 {
			t.Errorf("it counts as an attempt: %+v", i.Loop)
		}
	}
	f.mu.Lock()
	f.denied = false
	f.mu.Unlock()
	f.await("the host is as wanted", loopIs(control.PhaseWaiting, control.ConditionConverged))
}

package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

const execution = "20260101-000000-abcdef"

// runs gives the runs of an execution that are recorded.
func (m *testMachine) runs(execution string) (list []string) {
	m.Helper()
	for _, run := range must(m.runner.History(context.Background())) {
		if run.Execution == execution {
			list = append(list, run.Run)
		}
	}
	return list
}

// stored tells whether it is kept what an execution needs of its site.
func (m *testMachine) stored(execution string) bool {
	_, err := (&bundle.Store{Dir: m.runner.StateDir}).Open(execution)
	return err == nil
}

// An execution that is asked for again while it runs, and once it has ended, is not
// carried out again: who asks hears what it does, or has done.
func TestBegunOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	open := gates(m)
	first := m.request(wire.Request{Op: wire.OpApply}, waiting(execution, 2))
	var heardFirst, heardSecond, heardThird heard
	first.until(t, &heardFirst, 2)
	second := m.request(wire.Request{Op: wire.OpApply}, waiting(execution, 2)) // no time to wait for a lock
	second.until(t, &heardSecond, 2)
	open <- struct{}{}
	open <- struct{}{}
	heardFirst.listen(t, first.Conn)
	heardSecond.listen(t, second.Conn)
	<-first.done
	if m.stored(execution) {
		t.Error("what it needed is kept")
	}
	third := m.request(wire.Request{Op: wire.OpApply}, waiting(execution, 2))
	heardThird.listen(t, third.Conn)
	<-third.done
	if m.stored(execution) {
		t.Error("what came for nobody is kept")
	}
	for i, h := range []*heard{&heardFirst, &heardSecond, &heardThird} {
		if !slices.Equal(seqs(h.events), []int64{1, 2, 3, 4, 5, 6}) || h.run == "" || h.run != heardFirst.run {
			t.Errorf("%d: %v of %q", i, seqs(h.events), h.run)
		}
		if r := h.end.Result; h.end.Failure != nil || r == nil || r.Counts.Changed != 2 || r.Failed || r.Run != h.run {
			t.Errorf("%d: %+v", i, h.end)
		}
	}
	if list := m.runs(execution); len(list) != 1 {
		t.Errorf("runs: %q", list)
	}
	other := waiting(execution, 2) // another host that is this machine
	other.Run.Host = "web2"
	open <- struct{}{}
	open <- struct{}{}
	if h := m.ask(wire.Request{Op: wire.OpApply}, other); h.end.Result == nil || h.run == heardFirst.run {
		t.Errorf("another host: %+v", h.end)
	}
	if list := m.runs(execution); len(list) != 2 {
		t.Errorf("runs: %q", list)
	}
}

// waits hears until the runner says that it waits for another apply.
func (l *line) waits(t *testing.T) *heard {
	t.Helper()
	h := &heard{}
	for len(h.notes) == 0 {
		f, err := l.Receive()
		if err != nil || h.take(t, f) {
			t.Fatal(err, h.end)
		}
	}
	return h
}

// A connection dies between the request and Started, and the runner does not see that: it
// waits for the lock. Who asks again waits beside it, and whoever of them begins, it
// happens once.
func TestHalfOpenWhileItWaits(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	open := gates(m)
	other := m.request(wire.Request{Op: wire.OpApply}, waiting("20260101-000001-abcdef", 1))
	var before heard
	other.until(t, &before, 2)
	asked := func() *line {
		b := waiting(execution, 1)
		b.LockTimeout = time.Minute
		return m.request(wire.Request{Op: wire.OpApply}, b)
	}
	dead, again := asked(), asked()
	dead.waits(t)
	h := again.waits(t)
	open <- struct{}{}
	before.listen(t, other.Conn)
	open <- struct{}{}
	// If there were another run, it would wait for a gate.
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			if f, err := dead.Receive(); err != nil || f.Kind == wire.KindEnd {
				return
			}
		}
	}()
	h.listen(t, again.Conn)
	<-drained
	if !slices.Equal(seqs(h.events), []int64{1, 2, 3, 4}) || h.end.Failure != nil || h.end.Result == nil || h.end.Result.Counts.Changed != 1 {
		t.Errorf("%v, %+v", seqs(h.events), h.end)
	}
	if list := m.runs(execution); len(list) != 1 || list[0] != h.run {
		t.Errorf("runs: %q, told of %q", list, h.run)
	}
}

// A run whose process has died is not begun anew either: it is told that it is over. What
// it needs stays, so that it can go on; and a hold keeps nobody from hearing that.
func TestBegunByTheDead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	folder := must(journal.Open(m.runner.StateDir))
	b := files(execution, 1)
	run := must(folder.Start(t.Context(), journal.Meta{Run: b.Run, Origin: b.Origin, Execution: b.Execution}))
	if err := run.Append(states.Event{Seq: 1, Type: states.EventRun, Format: states.EventFormat, Run: run.ID()}); err != nil {
		t.Fatal(err)
	}
	if err := run.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := run.Abandon(); err != nil {
		t.Fatal(err)
	}
	if err := folder.Hold(journal.Hold{Reason: "works", Since: time.Now()}); err != nil {
		t.Fatal(err)
	}
	h := m.ask(wire.Request{Op: wire.OpApply}, b)
	if h.run != run.ID() || h.end.Result == nil || !h.end.Result.Interrupted || h.end.Failure == nil || !strings.Contains(h.end.Failure.Message, "process was gone") {
		t.Errorf("%q: %+v", h.run, h.end)
	}
	if list := m.runs(execution); len(list) != 1 || !m.stored(execution) {
		t.Errorf("runs: %q, what it needs is kept: %v", list, m.stored(execution))
	}
}

// A run goes on once in an execution, with the numbers of its events going on too: who asks
// again, while it does or later, hears the same from where it went on.
func TestResumedOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	open := gates(m)
	first := m.request(wire.Request{Op: wire.OpApply}, waiting(execution, 2))
	var begun heard
	open <- struct{}{}
	first.until(t, &begun, 4)
	if err := first.Write(wire.KindCancel, nil); err != nil {
		t.Fatal(err)
	}
	begun.listen(t, first.Conn)
	last := int64(len(begun.events))

	q := wire.Request{Op: wire.OpResume, ID: execution, Execution: "20260101-000009-abcdef"}
	var heards [3]heard
	goesOn := m.request(q, nil)
	goesOn.until(t, &heards[0], 2)
	again := m.request(q, nil) // while it runs: it does not wait for the lock
	again.until(t, &heards[1], 2)
	open <- struct{}{}
	heards[0].listen(t, goesOn.Conn)
	heards[1].listen(t, again.Conn)
	heards[2] = *m.ask(q, nil)
	for i, h := range heards {
		if h.run != begun.run || h.after != last || h.end.Failure != nil || h.end.Result == nil || h.end.Result.Counts.Changed != 2 {
			t.Errorf("%d: run %q after %d, not %d: %+v", i, h.run, h.after, last, h.end)
		}
		for j, ev := range h.events {
			if ev.Seq != last+int64(j)+1 || j == 0 && ev.Type != states.EventResume || len(h.events) != len(heards[0].events) {
				t.Errorf("%d: event %d of %d has the number %d: %s", i, j, len(h.events), ev.Seq, ev.Type)
			}
		}
	}
	if status := must(m.runner.Find(q.Execution)); status.Run != begun.run || len(status.Resumptions) != 1 {
		t.Errorf("%+v", status)
	}

	// There is nothing left, and that is no failure.
	q.Execution = "20260101-000010-abcdef"
	if h := m.ask(q, nil); h.run != "" || h.end.Failure != nil || h.end.Result == nil || len(h.notes) != 1 || !strings.Contains(h.notes[0], "nothing failed") {
		t.Errorf("%q, %q, %+v", h.run, h.notes, h.end)
	}
	if h := m.ask(wire.Request{Op: wire.OpResume, ID: "20250101-000000", Execution: q.Execution}, nil); h.end.Failure == nil || h.end.Failure.Code != machine.CodeNotFound {
		t.Errorf("%+v", h.end)
	}
	if h := newMachine(t).ask(wire.Request{Op: wire.OpResume, Execution: q.Execution}, nil); h.end.Failure != nil || len(h.notes) != 1 {
		t.Errorf("without records: %q, %+v", h.notes, h.end)
	}
}

// Of two hosts that are one machine each is asked about its own run, and about the same one
// where an execution that went on with it is named.
func TestResumeByHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	open := gates(m)
	runs := map[string]string{}
	for i, host := range []string{"web1", "web2"} {
		b := waiting(execution, 2)
		b.Run.Host = host
		apply := m.request(wire.Request{Op: wire.OpApply}, b)
		var h heard
		apply.until(t, &h, 2)
		if err := apply.Write(wire.KindCancel, nil); err != nil {
			t.Fatal(err)
		}
		h.listen(t, apply.Conn)
		runs[host] = h.run
		if h.run == "" || i > 0 && runs["web1"] == h.run {
			t.Fatalf("the runs are %v", runs)
		}
	}
	close(open)
	q := wire.Request{Op: wire.OpResume, ID: execution, Host: "web1", Execution: "20260101-000009-abcdef"}
	if h := m.ask(q, nil); h.run != "" || h.end.Failure == nil || !strings.Contains(h.end.Failure.Message, runs["web1"]) {
		t.Errorf("the site was applied since to web1: %q, %+v", h.run, h.end)
	}
	q.Host = "web2"
	if h := m.ask(q, nil); h.run != runs["web2"] || h.end.Failure != nil {
		t.Errorf("web2 goes on with %q of %v: %+v", h.run, runs, h.end)
	}
	q.ID, q.Execution = q.Execution, "20260101-000010-abcdef"
	if h := m.ask(q, nil); h.end.Result == nil || h.end.Result.Run != runs["web2"] || len(h.notes) != 1 {
		t.Errorf("web2 has nothing left: %q %+v", h.notes, h.end)
	}
}

// What acts on another tree, or needs files that nobody has brought, is refused.
func TestResumeIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	folder := must(journal.Open(m.runner.StateDir))
	dies := func(meta journal.Meta) string {
		run := must(folder.Start(t.Context(), meta))
		if err := run.Append(states.Event{Seq: 1, Type: states.EventRun, Format: states.EventFormat, Run: run.ID()}); err != nil {
			t.Fatal(err)
		}
		if err := run.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := run.Abandon(); err != nil {
			t.Fatal(err)
		}
		return run.ID()
	}
	for _, c := range []struct{ run, want string }{
		{dies(journal.Meta{Run: files("", 1).Run, Origin: "/site", Root: m.root + "/other"}), "acts on the tree"},
		{dies(journal.Meta{Run: files("", 1).Run, Origin: "/other", Root: m.root}), "needs files of /other"},
	} {
		h := m.ask(wire.Request{Op: wire.OpResume, ID: c.run, Execution: execution}, nil)
		if h.end.Failure == nil || !strings.Contains(h.end.Failure.Message, c.want) || !strings.Contains(h.end.Failure.Hint, c.run) {
			t.Errorf("want %q: %+v", c.want, h.end)
		}
	}
}

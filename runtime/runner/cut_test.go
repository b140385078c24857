package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// gate is an act that waits to be let through.
type gate struct {
	Name string `state:"name,key" doc:"Its name."`
}

// gates lets gates through, as many as it is told.
func gates(m *testMachine) (open chan<- struct{}) {
	through := make(chan struct{}, 1000)
	m.runner.Registry = modules.Standard().With(states.Define(states.Type[gate]{
		Name: "gate", Doc: "Waits.", NoAbsent: "it is an act",
		Act: func(ctx context.Context, h host.Host, want gate) (bool, gate, error) {
			if _, plan := h.(*host.Shadow); plan {
				return false, want, host.ErrUnforeseeable
			}
			select {
			case <-through:
				return true, want, nil
			case <-ctx.Done():
				return false, want, context.Cause(ctx)
			}
		},
	}))
	return through
}

// waiting is a bundle of n gates.
func waiting(execution string, n int) *bundle.Bundle {
	b := files(execution, 0)
	for i := range n {
		address := fmt.Sprintf("gate.g%d", i)
		b.Run.Invocations = append(b.Run.Invocations, states.Invocation{Address: address, Parts: []states.Part{{
			Address: address, ID: address, Type: "gate", Key: fmt.Sprint("g", i), Ensure: states.Present, Values: map[string]any{"name": fmt.Sprint("g", i)},
		}}})
	}
	return b
}

// line is a connection that can be cut, to a runner that does not end with it.
type line struct {
	*wire.Conn
	hello wire.Hello
	cut   func()
	done  chan error // Serve's
}

func (m *testMachine) dial() *line {
	m.Helper()
	toRunner, fromController := io.Pipe()
	toController, fromRunner := io.Pipe()
	l := &line{done: make(chan error, 1), cut: func() {
		fromController.Close()
		toController.Close()
	}}
	l.Conn = wire.New(toController, fromController, nil)
	go func() {
		l.done <- runner.Serve(context.WithoutCancel(m.Context()), wire.New(toRunner, fromRunner, nil), wire.Opening{}, m.runner)
		fromRunner.Close()
	}()
	if err := l.Expect(wire.KindHello, &l.hello); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(l.cut)
	return l
}

func (m *testMachine) request(q wire.Request, b *bundle.Bundle) *line {
	m.Helper()
	l := m.dial()
	if err := l.Send(wire.KindRequest, q); err != nil {
		m.Fatal(err)
	}
	if b != nil {
		if err := b.Send(l.Conn, l.hello.Have, m.runner.Registry); err != nil {
			m.Fatal(err)
		}
	}
	return l
}

// until hears until a number of events have come, or the end.
func (l *line) until(t *testing.T, h *heard, events int) {
	t.Helper()
	for len(h.events) < events || h.run == "" {
		f, err := l.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if h.take(t, f) {
			return
		}
	}
}

// A connection may break after any event: who comes back hears the rest, each event
// once and in order, and the run has gone on meanwhile.
func TestCutAtEveryEvent(t *testing.T) {
	t.Parallel()
	const parts = 3
	total := 2 + 2*parts // run, begin and end of each, summary
	for cut := range total + 1 {
		m := newMachine(t)
		open := gates(m)
		id := fmt.Sprintf("20260101-0000%02d-abcdef", cut)
		first := m.request(wire.Request{Op: wire.OpApply}, waiting(id, parts))
		for range (cut + 1) / 2 { // what comes only then
			open <- struct{}{}
		}
		var before heard
		first.until(t, &before, cut)
		first.cut()
		second := m.request(wire.Request{Op: wire.OpAttach, ID: id, After: int64(cut)}, nil)
		for range parts {
			open <- struct{}{}
		}
		var after heard
		after.listen(t, second.Conn)
		<-first.done
		if n := len(before.events); n > cut { // the end came with it
			before.events = before.events[:cut]
		}
		got := append(seqs(before.events), seqs(after.events)...)
		if want := []int64{1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(got, want) {
			t.Errorf("cut after %d: %v", cut, got)
		}
		if r := after.end.Result; after.end.Failure != nil || r == nil || r.Counts.Changed != parts || r.Failed || r.Run != after.run {
			t.Errorf("cut after %d: %+v", cut, after.end)
		}
		for i, ev := range slices.Concat(before.events, after.events) {
			if recorded := m.events(id)[i]; recorded != string(must(json.Marshal(ev))) {
				t.Errorf("event %d: %+v, recorded %s", i+1, ev, recorded)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// events gives what is recorded of a run.
func (m *testMachine) events(id string) (lines []string) {
	m.Helper()
	for ev, err := range m.runner.Events(m.Context(), id, 0, false) {
		if err != nil {
			m.Fatal(err)
		}
		lines = append(lines, string(must(json.Marshal(ev))))
	}
	return lines
}

// Nobody reads: the run ends nevertheless, and all of it is recorded.
func TestStalledConnection(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := "20260101-000000-abcdef"
	m.request(wire.Request{Op: wire.OpApply}, files(id, 300)) // which reads nothing
	deadline := time.Now().Add(time.Minute)
	for {
		status, err := m.runner.Find(id)
		if err == nil && status.State == journal.Done {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has not ended: %+v, %v", status, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if n := len(m.events(id)); n != 602 {
		t.Errorf("%d events are recorded", n)
	}
}

// A connection that breaks before the run is recorded takes the run with it.
func TestCutBeforeTheRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	open := gates(m)
	other := m.request(wire.Request{Op: wire.OpApply, User: "alice", From: "desk", Command: "tenet apply"}, waiting("20260101-000000-abcdef", 1))
	var h heard
	other.until(t, &h, 1)

	b := waiting("20260101-000001-abcdef", 1)
	refused := m.request(wire.Request{Op: wire.OpApply}, b)
	var no heard
	no.listen(t, refused.Conn)
	f := no.end.Failure
	if f == nil || f.Code != machine.CodeLocked || !strings.Contains(f.Message, "tenet apply by alice from desk") || f.Hint == "" {
		t.Errorf("two at once: %+v", no.end)
	}
	looks := m.ask(wire.Request{Op: wire.OpPlan}, files("20260101-000002-abcdef", 1))
	if len(looks.notes) != 1 || !strings.Contains(looks.notes[0], "tenet apply by alice from desk") || looks.end.Failure != nil || len(looks.events) == 0 {
		t.Errorf("a plan meanwhile: %q %+v", looks.notes, looks.end)
	}

	b.LockTimeout = time.Minute
	waits := m.request(wire.Request{Op: wire.OpApply}, b)
	for len(no.notes) == 0 {
		f, err := waits.Receive()
		if err != nil || no.take(t, f) {
			t.Fatal(err, no.end)
		}
	}
	if !strings.HasPrefix(no.notes[0], "waiting for at most 1m: ") {
		t.Errorf("notes: %q", no.notes)
	}
	waits.cut()
	if err := <-waits.done; err == nil {
		t.Error("the end could be told")
	}
	open <- struct{}{}
	h.listen(t, other.Conn)
	if _, err := m.runner.Find("20260101-000001-abcdef"); !errors.Is(err, journal.ErrNoRun) {
		t.Errorf("it was begun: %v", err)
	}
}

// A process that has died is told of as far as it came.
func TestAttachToTheDead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	folder, err := journal.Open(m.runner.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	b := files("20260101-000000-abcdef", 2)
	run, err := folder.Start(t.Context(), journal.Meta{Run: b.Run, Origin: b.Origin, Execution: b.Execution})
	if err != nil {
		t.Fatal(err)
	}
	for i, ev := range []states.Event{
		{Type: states.EventRun, Format: states.EventFormat, Run: run.ID()},
		{Type: states.EventPart, Address: "file.f0", Outcome: states.Changed},
		{Type: states.EventBegin, Address: "file.f1"},
	} {
		ev.Seq = int64(i + 1)
		if err := run.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(run.Flush(), run.Abandon()); err != nil {
		t.Fatal(err)
	}
	h := m.ask(wire.Request{Op: wire.OpAttach, ID: b.Execution, After: 1}, nil)
	if !slices.Equal(seqs(h.events), []int64{2, 3}) || h.run != run.ID() {
		t.Errorf("events: %v of %q", seqs(h.events), h.run)
	}
	if r, f := h.end.Result, h.end.Failure; r == nil || !r.Interrupted || r.Counts.Changed != 1 || f == nil || f.Code != machine.CodeInterrupted {
		t.Errorf("end: %+v", h.end)
	}
}

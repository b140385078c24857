package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
)

// An apply waits for the lock behind a connection that is half open. Who cancels it on
// another one does not reach its process; it is not begun all the same, and does not
// go on with a run either.
func TestCancelledElsewhere(t *testing.T) {
	t.Parallel()
	const goesOn = "20260101-000009-abcdef"
	attach := wire.Request{Op: wire.OpAttach, ID: execution, Host: "web1"}
	apply, resume := wire.Request{Op: wire.OpApply}, wire.Request{Op: wire.OpResume, ID: execution, Execution: goesOn}
	for _, c := range []struct {
		name         string
		waits, again wire.Request
		resumes      bool
	}{
		{"its run is asked for", apply, attach, false},
		{"it is asked for anew", apply, apply, false},
		{"a run is to go on", resume, resume, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			open := gates(m)
			if c.resumes {
				m.cutShort(execution)
			}
			ask := func(q wire.Request) *line {
				q.LockTimeout = time.Minute
				if q.Op != wire.OpApply {
					return m.request(q, nil)
				}
				b := waiting(execution, 1)
				b.LockTimeout = time.Minute
				return m.request(q, b)
			}
			other := waiting("20260101-000001-abcdef", 1)
			other.Run.Site = "other"
			first := m.request(wire.Request{Op: wire.OpApply}, other)
			var before heard
			first.until(t, &before, 2)
			dead := ask(c.waits)
			h := dead.waits(t)
			again := ask(c.again)
			if err := again.Write(wire.KindCancel, nil); err != nil {
				t.Fatal(err)
			}
			var cancelled heard
			cancelled.listen(t, again.Conn)
			if f := cancelled.end.Failure; f == nil || f.Code != machine.CodeInterrupted || cancelled.run != "" {
				t.Errorf("who cancels: %q, %+v", cancelled.run, cancelled.end)
			}
			h.listen(t, dead.Conn) // it does not wait any longer
			open <- struct{}{}
			before.listen(t, first.Conn)
			if f := h.end.Failure; h.run != "" || f == nil || f.Code != machine.CodeInterrupted || !strings.Contains(f.Message, "cancelled") {
				t.Errorf("it was begun as run %q: %+v", h.run, h.end)
			}
			if list := m.runs(execution); len(list) > 0 != (c.resumes) {
				t.Errorf("runs: %q", list)
			}
		})
	}
}

// cutShort leaves a run that somebody may go on with.
func (m *testMachine) cutShort(execution string) {
	m.Helper()
	l := m.request(wire.Request{Op: wire.OpApply}, waiting(execution, 1))
	var h heard
	l.until(m.T, &h, 2)
	if err := l.Write(wire.KindCancel, nil); err != nil {
		m.Fatal(err)
	}
	h.listen(m.T, l.Conn)
}

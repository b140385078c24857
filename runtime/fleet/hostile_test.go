package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// beside runs a plan on a hostile machine and a good one, which is not to notice.
func beside(t *testing.T, hostile func(c *wire.Conn) error) (*seen, fleet.Outcome) {
	t.Helper()
	_, list := machines(2, func(i int, m *simulated) {
		if i == 0 {
			m.serve = func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error { return hostile(c) }
		}
	})
	s := newSeen(t)
	outcomes := mustRun(t, list, ask(wire.OpPlan), fleet.Options{Listener: s})
	if outcomes[1].Status != fleet.Done {
		t.Errorf("the good one: %+v", outcomes[1])
	}
	equal(t, "events of the good one", s.seqs["m1"], upTo(3))
	return s, outcomes[0]
}

// nonsense wants an outcome to be one of a machine that makes none.
func nonsense(t *testing.T, o fleet.Outcome, text string) {
	t.Helper()
	var wrong *wire.ProtocolError
	if o.Status != fleet.Failed || !errors.As(o.Err, &wrong) || !strings.Contains(wrong.Message, text) {
		t.Errorf("%+v", o)
	}
}

// Whatever a machine tells without end is ended, and little is kept of it.
func TestEndless(t *testing.T) {
	ev := states.Event{Type: states.EventPart, Address: "part", Reason: strings.Repeat("x", 1<<20)}
	s, o := beside(t, func(c *wire.Conn) error {
		for {
			if err := c.Send(wire.KindEvent, ev); err != nil {
				return err
			}
		}
	})
	nonsense(t, o, "more than 64 MiB")
	if n := len(s.seqs["m0"]); n < 60 || n > 64 {
		t.Errorf("%d events", n)
	}
	for name, text := range map[string]string{"long": strings.Repeat("é", 1<<19), "short": "x"} {
		s, o := beside(t, func(c *wire.Conn) error {
			for {
				if err := c.Write(wire.KindNote, []byte(text)); err != nil {
					return err
				}
			}
		})
		nonsense(t, o, "more than 64 MiB")
		shown := 0
		for _, n := range s.notes["m0"] {
			shown += len(n)
		}
		if len(s.notes["m0"]) > 201 || shown > 1<<20 {
			t.Errorf("%s: %d notes, %d bytes", name, len(s.notes["m0"]), shown)
		}
	}
}

// sized is a job with so many parts.
func sized(parts int) *machine.Job {
	j := job()
	j.Run.Invocations = []states.Invocation{{Parts: make([]states.Part, parts)}}
	return j
}

// A run that is told of without end is left to its machine; what programs print is as much as
// they print.
func TestEndlessRun(t *testing.T) {
	_, list := machines(1, func(_ int, m *simulated) {
		receives(t, m, false)
		m.serve = func(_ context.Context, _ int, c *wire.Conn, r *wire.Request) error {
			if r.Op == wire.OpExec {
				for range 80 {
					if err := c.Write(wire.KindStdout, make([]byte, 4<<20)); err != nil {
						return err
					}
				}
				return c.Send(wire.KindEnd, wire.End{})
			}
			if err := c.Send(wire.KindStarted, wire.Started{Run: m.run}); err != nil {
				return err
			}
			for {
				if err := c.Write(wire.KindNote, make([]byte, 8<<20)); err != nil {
					return err
				}
			}
		}
	})
	o := mustRun(t, list, fleet.Apply(nil, same(sized(1))), fleet.Options{})[0]
	var wrong *wire.ProtocolError
	if o.Status != fleet.Detached || !errors.As(o.Err, &wrong) || !strings.Contains(wrong.Message, "more than 256 MiB") {
		t.Errorf("%+v", o)
	}
	if o := mustRun(t, list, ask(wire.OpExec), fleet.Options{})[0]; o.Status != fleet.Done {
		t.Errorf("%+v", o)
	}
}

// A run of many parts has much to tell.
func TestLargeRun(t *testing.T) {
	const parts = 5000
	_, list := machines(1, func(_ int, m *simulated) {
		receives(t, m, false)
		m.serve = func(_ context.Context, _ int, c *wire.Conn, r *wire.Request) error {
			for seq := range parts {
				if err := c.Send(wire.KindEvent, states.Event{Seq: int64(seq + 1), Reason: strings.Repeat("x", 20<<10)}); err != nil {
					return err
				}
			}
			return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{}})
		}
	})
	s := newSeen(t)
	if o := mustRun(t, list, fleet.Plan(nil, same(sized(parts))), fleet.Options{Listener: s})[0]; o.Status != fleet.Done || len(s.seqs["m0"]) != parts {
		t.Errorf("%d events, %+v", len(s.seqs["m0"]), o)
	}
}

// Numbers that cannot be are in no sum.
func TestCountsThatCannotBe(t *testing.T) {
	for _, counts := range []states.Counts{{Changed: -1}, {Failed: -5, Changed: 5}, {Maybe: -1}, {Unchanged: 1 << 40}, {Retried: -1}} {
		_, o := beside(t, func(c *wire.Conn) error {
			return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{Counts: counts}})
		})
		nonsense(t, o, "cannot be")
		if o.Result != nil {
			t.Errorf("%+v is told", counts)
		}
		s, o := beside(t, func(c *wire.Conn) error {
			return errors.Join(c.Send(wire.KindEvent, states.Event{Type: states.EventSummary, Counts: &counts}), io.EOF)
		})
		nonsense(t, o, "cannot be")
		if len(s.seqs["m0"]) > 0 {
			t.Errorf("an event with %+v is told", counts)
		}
	}
	_, o := beside(t, func(c *wire.Conn) error {
		return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{Counts: states.Counts{Changed: 100_000, Unchanged: 1_000_000}}})
	})
	if o.Status != fleet.Done {
		t.Error(fmt.Sprint("a large run: ", o.Err))
	}
}

package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Wherever a connection is cut, the run is begun once, and each event is told once, in
// order. A machine whose every connection is cut one frame later than the one before is
// as well off.
func TestCutAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 6 // and Hello, Need, Started, End
		all, list := machines(2*(total+4), func(i int, m *simulated) {
			m.total = total
			m.cut = func(connection int) int {
				switch {
				case i >= total+4: // each connection brings one frame more: Hello, and its answer
					return 2 + connection%2
				case connection == 0:
					return i
				}
				return -1
			}
		})
		s := newSeen(t)
		outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s})
		for i, o := range outcomes {
			if o.Status != fleet.Done || o.Run != all[i].run || all[i].begun != 1 {
				t.Errorf("%d: %+v, begun %d times", i, o, all[i].begun)
			}
			equal(t, o.Machine, s.seqs[o.Machine], upTo(total))
		}
		// What is asked for after a cut is the rest, of that run.
		last := all[total].requests
		if len(last) != 2 || last[1].Op != wire.OpAttach || last[1].ID != all[total].run || last[1].After != total-3 {
			t.Errorf("%+v", last)
		}
		equal(t, "states", s.states[all[total].name], []fleet.State{
			fleet.Connecting, fleet.Evaluating, fleet.Sending, fleet.Running, fleet.Reconnecting, fleet.Over,
		})
	})
}

// A run whose beginning was not told of is asked for by its execution, and begun again
// only where nobody knows of it.
func TestCutBeforeStarted(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			all, list := machines(1, func(_ int, m *simulated) {
				m.serve = func(ctx context.Context, connection int, c *wire.Conn, r *wire.Request) error {
					if connection == 0 {
						m.mu.Lock()
						if known {
							m.begun++
						}
						m.mu.Unlock()
						return errCut
					}
					return m.plain(c, r)
				}
			})
			s := newSeen(t)
			outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s})
			equal(t, "status", statuses(outcomes), []fleet.Status{fleet.Done})
			equal(t, "events", s.seqs["m0"], upTo(3))
			ops := []wire.Op{wire.OpApply, wire.OpAttach}
			if !known {
				ops = append(ops, wire.OpApply)
			}
			var got []wire.Op
			for _, r := range all[0].requests {
				got = append(got, r.Op)
				if r.Op == wire.OpAttach && r.ID != execution {
					t.Error(r.ID)
				}
			}
			equal(t, "requests", got, ops)
			if all[0].begun != 1 {
				t.Errorf("begun %d times", all[0].begun)
			}
		})
	}
}

// To go on with a run is asked for once more where it is not known that it goes on; after
// that the run is attached to. Its events go on where they ended.
func TestCutWhileItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(1, func(_ int, m *simulated) {
			m.total = 8
			m.serve = func(_ context.Context, connection int, c *wire.Conn, r *wire.Request) error {
				switch connection {
				case 0:
					return errCut
				case 1:
					err := c.Send(wire.KindStarted, wire.Started{Run: m.run, After: 4})
					return errors.Join(err, c.Send(wire.KindEvent, states.Event{Seq: 5, Type: states.EventResume}), errCut)
				}
				m.mu.Lock()
				m.begun = 1
				m.mu.Unlock()
				return m.plain(c, r)
			}
		})
		s := newSeen(t)
		how := machine.Resumption{Run: machine.RunRef{ID: execution}, Execution: "20261122-000000-3fa9c1", Become: machine.Become{Password: "hush"}}
		task := fleet.Resume(func(*fleet.Member) machine.Resumption { return how })
		outcomes := mustRun(t, list, task, fleet.Options{Listener: s})
		equal(t, "status", statuses(outcomes), []fleet.Status{fleet.Done})
		equal(t, "events", s.seqs["m0"], []int64{5, 6, 7, 8})
		var got []string
		for _, r := range all[0].requests {
			got = append(got, fmt.Sprint(r.Op, r.ID, r.After, r.Execution, r.BecomePassword))
		}
		again := fmt.Sprint(wire.OpResume, execution, 0, how.Execution, "hush")
		equal(t, "requests", got, []string{again, again, fmt.Sprint(wire.OpAttach, all[0].run, 5, "", "")})
	})
}

// sshd drops handshakes when many knock: they are tried again, a few times.
func TestDroppedHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(8, func(i int, m *simulated) {
			m.refuse = func(attempt int) error {
				if attempt < i {
					return &dialError{text: "kex_exchange_identification", temporary: true}
				}
				return nil
			}
		})
		outcomes := mustRun(t, list, apply(), fleet.Options{})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Done, fleet.Done, fleet.Done, fleet.Done, fleet.Done, fleet.Unreachable, fleet.Unreachable})
		if n := all[7].attempts; n != 6 {
			t.Errorf("tried %d times", n)
		}
	})
}

// A machine that is lost for good is left after a while, and was tried seldom.
func TestLostForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(1, func(i int, m *simulated) {
			m.cut = func(int) int { return 5 } // Hello, Need, Started, two events
			m.refuse = func(attempt int) error {
				if attempt > 0 {
					return &dialError{text: "no route to host"}
				}
				return nil
			}
		})
		s := newSeen(t)
		begun := time.Now()
		o := mustRun(t, list, apply(), fleet.Options{Listener: s, Patience: 5 * time.Minute})[0]
		var lost *fleet.LostError
		if o.Status != fleet.Detached || o.Run != "r0" || o.Result != nil || !errors.As(o.Err, &lost) || !strings.Contains(o.Err.Error(), "no route to host") {
			t.Errorf("%+v", o)
		}
		if long := time.Since(begun); long < 5*time.Minute || long > 5*time.Minute+20*time.Second {
			t.Errorf("given up after %s", long)
		}
		if n := all[0].attempts; n < 20 || n > 40 {
			t.Errorf("tried %d times", n)
		}
		equal(t, "events", s.seqs["m0"], upTo(2))
		equal(t, "notes", s.notes["m0"], []string{"the connection broke; connecting again", "no connection yet: no route to host"})
	})
}

// Who has no patience leaves the run to the machine at once, and a machine that starts
// anew likewise.
func TestNotAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(2, func(i int, m *simulated) {
			m.total = 3
			m.cut = func(int) int { return 5 - 6*i } // Hello, Need, Started, two events; or none is cut
			m.result.Rebooting = i == 1
		})
		s := newSeen(t)
		outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s, Patience: fleet.NotAgain})
		for i, want := range []string{"the connection broke", "the machine starts anew"} {
			if o := outcomes[i]; o.Status != fleet.Detached || o.Run != all[i].run || o.Err == nil || o.Err.Error() != want || all[i].attempts != 1 {
				t.Errorf("%+v after %d attempts", o, all[i].attempts)
			}
		}
		equal(t, "events", s.seqs["m0"], upTo(2))
		if len(s.notes) > 0 {
			t.Errorf("notes: %q", s.notes)
		}
	})
}

// A line that comes and goes is no reason to give up as long as it brings something, or
// holds.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, list := machines(3, func(i int, m *simulated) {
			m.total = 1000
			switch i {
			case 0: // an event each time
				m.cut = func(int) int { return 4 }
			case 1: // nothing at all
				m.cut = func(n int) int { return 4 - min(n, 1)*3 }
			case 2: // nothing for long
				m.serve = func(ctx context.Context, connection int, c *wire.Conn, r *wire.Request) error {
					if connection == 0 {
						m.begun++
						c.Send(wire.KindStarted, wire.Started{Run: m.run})
					}
					if connection < 10 {
						time.Sleep(9 * time.Minute)
						return errCut
					}
					return m.plain(c, r)
				}
			}
		})
		s := newSeen(t)
		outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Detached, fleet.Done})
		equal(t, "events", s.seqs["m0"], upTo(1000))
		equal(t, "events", s.seqs["m2"], upTo(1000))
	})
}

// A machine that starts anew in its run is waited for.
func TestReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(2, func(i int, m *simulated) {
			m.total = 5
			m.refuse = func(attempt int) error {
				if 0 < attempt && attempt < 8 {
					return &dialError{text: "refused"}
				}
				return nil
			}
			m.serve = func(_ context.Context, connection int, c *wire.Conn, r *wire.Request) error {
				if connection > 0 {
					return m.plain(c, r)
				}
				m.begun++
				c.Send(wire.KindStarted, wire.Started{Run: m.run})
				c.Send(wire.KindEvent, states.Event{Seq: 1})
				if i == 0 { // it says so, or it does not
					return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{Rebooting: true}})
				}
				return errCut
			}
		})
		s := newSeen(t)
		outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Done})
		for i, o := range outcomes {
			equal(t, "events", s.seqs[o.Machine], upTo(5))
			if o.Result.Rebooting || all[i].begun != 1 {
				t.Errorf("%+v", o.Result)
			}
		}
		if !strings.Contains(s.notes["m0"][0], "starts anew") {
			t.Errorf("%q", s.notes)
		}
	})
}

// A machine that has started anew, and on which nothing goes on with the run, is not
// waited for without end.
func TestRebootForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, list := machines(1, func(_ int, m *simulated) {
			m.serve = func(_ context.Context, connection int, c *wire.Conn, r *wire.Request) error {
				if connection == 0 {
					m.begun++
					c.Send(wire.KindStarted, wire.Started{Run: m.run})
					c.Send(wire.KindEvent, states.Event{Seq: 1})
				} else {
					c.Send(wire.KindStarted, wire.Started{Run: m.run})
					time.Sleep(3 * time.Minute)
				}
				return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{Rebooting: true}})
			}
		})
		begun := time.Now()
		outcomes := mustRun(t, list, apply(), fleet.Options{Patience: 10 * time.Minute})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Detached})
		if long := time.Since(begun); long < 10*time.Minute || long > 15*time.Minute {
			t.Errorf("given up after %s", long)
		}
	})
}

// What a machine tells twice is told once.
func TestToldTwice(t *testing.T) {
	_, list := machines(1, func(_ int, m *simulated) {
		m.serve = func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
			c.Send(wire.KindStarted, wire.Started{Run: m.run})
			for _, seq := range []int64{1, 2, 1, 2, 3, 3, 4} {
				c.Send(wire.KindEvent, states.Event{Seq: seq})
			}
			return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{}})
		}
	})
	s := newSeen(t)
	outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s})
	equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done})
	equal(t, "events", s.seqs["m0"], upTo(4))
}

// Events that were lost, or make no sense, are not told of as if they were all.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, list := machines(3, func(i int, m *simulated) {
			m.serve = func(_ context.Context, connection int, c *wire.Conn, r *wire.Request) error {
				if connection == 0 {
					m.begun++
					c.Send(wire.KindStarted, wire.Started{Run: m.run})
					c.Send(wire.KindEvent, states.Event{Seq: 1})
				}
				if connection == 0 || i == 1 {
					return c.Send(wire.KindEvent, states.Event{Seq: 3})
				}
				if i == 2 {
					return c.Write(wire.KindEvent, []byte("{"))
				}
				return m.plain(c, r) // the journal has it
			}
		})
		s := newSeen(t)
		outcomes := mustRun(t, list, apply(), fleet.Options{Listener: s})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Detached, fleet.Detached})
		equal(t, "events", s.seqs["m0"], upTo(3))
		equal(t, "events", s.seqs["m1"], upTo(1))
		var gap *remote.GapError
		if !errors.As(outcomes[1].Err, &gap) || gap.After != 1 || gap.Next != 3 {
			t.Error(outcomes[1].Err)
		}
	})
}

// What only reads is asked again, unless it was told of already; what acts is not.
func TestCutRequests(t *testing.T) {
	for _, c := range []struct {
		op    wire.Op
		after int // frames, the Hello among them
		want  fleet.Status
	}{
		{wire.OpPlan, 2, fleet.Done},
		{wire.OpPlan, 3, fleet.Unreachable},
		{wire.OpPing, 1, fleet.Done},
		{wire.OpExec, 0, fleet.Done},
		{wire.OpExec, 1, fleet.Detached},
		{wire.OpExec, 2, fleet.Detached},
		{wire.OpClean, 1, fleet.Detached},
		{wire.OpLogs, 2, fleet.Done},
		{wire.OpAttach, 3, fleet.Done},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, list := machines(1, func(_ int, m *simulated) {
				m.begun = 1
				m.cut = func(connection int) int {
					if connection == 0 {
						return c.after
					}
					return -1
				}
			})
			s := newSeen(t)
			o := mustRun(t, list, ask(c.op), fleet.Options{Listener: s})[0]
			if o.Status != c.want {
				t.Errorf("%s cut after %d frames: %+v, want %s", c.op, c.after, o, c.want)
			}
			if c.want == fleet.Done && c.op != wire.OpPing {
				equal(t, string(c.op), s.seqs["m0"], upTo(3))
			}
		})
	}
}

// A stranger's word for a run goes into messages and records.
func TestRunNames(t *testing.T) {
	for _, name := range []string{"", "a b", "a\nb", "../../etc/passwd", "\x1b[31m", strings.Repeat("a", 101)} {
		synctest.Test(t, func(t *testing.T) {
			_, list := machines(1, func(_ int, m *simulated) { m.run = name })
			o := mustRun(t, list, apply(), fleet.Options{})[0]
			if o.Run != "" {
				t.Errorf("%q: %+v", name, o)
			}
		})
	}
}

package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// gauge counts who is inside.
type gauge struct {
	*seen
	mu        sync.Mutex
	now, most int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.most = max(g.most, g.now)
}

// Ended is when one leaves.
func (g *gauge) Ended(m string, o fleet.Outcome) {
	g.seen.Ended(m, o)
	g.add(-1)
}

// Many machines are driven, no more at a time than is wanted, and all is told.
func TestForks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, forks = 500, 32
		g := &gauge{seen: newSeen(t)}
		_, list := machines(n, func(i int, m *simulated) {
			m.refuse = func(int) error {
				time.Sleep(short + time.Duration(i)) // all that may be are under way
				g.add(1)
				time.Sleep(short)
				return nil
			}
		})
		for _, o := range mustRun(t, list, apply(), fleet.Options{Forks: forks, Listener: g}) {
			if o.Status != fleet.Done || o.Run == "" || o.Result.Run != o.Run {
				t.Errorf("%+v", o)
			}
			equal(t, o.Machine, g.seqs[o.Machine], upTo(3))
			equal(t, o.Machine, g.states[o.Machine], []fleet.State{fleet.Connecting, fleet.Evaluating, fleet.Sending, fleet.Running, fleet.Over})
		}
		if g.most != forks || g.now != 0 {
			t.Errorf("%d machines at a time, want %d; %d have not ended", g.most, forks, g.now)
		}
	})
}

// No more than eight handshakes go through one machine at a time.
func TestVia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gauge{seen: newSeen(t)}
		_, list := machines(40, func(i int, m *simulated) {
			m.refuse = func(int) error {
				g.add(1)
				time.Sleep(short + time.Duration(i))
				g.add(-1)
				return nil
			}
		})
		gates := &remote.Gates{}
		for _, m := range list {
			r := m.Machine.(*remote.Machine)
			r.Dial = gates.Dial(func() string { return "gate" }, r.Dial)
		}
		mustRun(t, list, apply(), fleet.Options{Listener: g.seen})
		if g.most != 8 {
			t.Errorf("%d handshakes at a time", g.most)
		}
	})
}

// What a machine says ends as its outcome, and each is on its own.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := func(end wire.End) func(context.Context, int, *wire.Conn, *wire.Request) error {
			return func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
				c.Write(wire.KindStdout, []byte("out"))
				c.Write(wire.KindStderr, []byte("err"))
				c.Write(wire.KindNote, []byte("waiting"))
				c.Write(wire.KindData, []byte(`{"a":1}`))
				return c.Send(wire.KindEnd, end)
			}
		}
		failure := func(code string) wire.End { return wire.End{Failure: &states.Failure{Code: code, Message: code}} }
		says := func(kind wire.Kind, data string) func(context.Context, int, *wire.Conn, *wire.Request) error {
			return func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
				return c.Write(kind, []byte(data))
			}
		}
		plan := []struct {
			change func(*simulated)
			want   fleet.Status
		}{
			{func(m *simulated) {}, fleet.Done},
			{func(m *simulated) { m.serve = end(wire.End{Result: &machine.Result{}}) }, fleet.Done},
			{func(m *simulated) { m.serve = end(wire.End{Result: &machine.Result{Failed: true}}) }, fleet.Failed},
			{func(m *simulated) { m.serve = end(wire.End{Result: &machine.Result{Failed: true, Interrupted: true}}) }, fleet.Interrupted},
			{func(m *simulated) { m.serve = end(failure(machine.CodeLocked)) }, fleet.Failed},
			{func(m *simulated) { m.serve = end(failure(machine.CodeInterrupted)) }, fleet.Interrupted},
			{func(m *simulated) { m.serve = end(wire.End{}) }, fleet.Failed}, // no result
			{func(m *simulated) { m.serve = says(wire.KindEvent, "garbage") }, fleet.Failed},
			{func(m *simulated) { m.serve = says('?', "") }, fleet.Failed},
			{func(m *simulated) { m.serve = says(wire.KindData, "{") }, fleet.Failed},
			{func(m *simulated) { m.serve = says(wire.KindEvent, `{"seq":-1}`) }, fleet.Failed},
			{func(m *simulated) { m.refuse = func(int) error { return &dialError{text: "no route to host"} } }, fleet.Unreachable},
			{func(m *simulated) { m.refuse = func(int) error { return errors.New("no way") } }, fleet.Unreachable},
			{func(m *simulated) { m.refuse = func(int) error { return &dialError{text: "no sudo", answered: true} } }, fleet.Failed},
			{func(m *simulated) { m.name = "wrong" }, fleet.Invalid},
		}
		_, list := machines(len(plan), func(i int, m *simulated) { plan[i].change(m) })
		s := newSeen(t)
		task := fleet.Plan(nil, preparing(func(_ context.Context, m *fleet.Member) (*machine.Job, error) {
			if m.Name == "wrong" {
				return nil, errors.New("wrong")
			}
			return job(), nil
		}))
		outcomes := mustRun(t, list, task, fleet.Options{Listener: s})
		for i, o := range outcomes {
			if o.Status != plan[i].want || (o.Result == nil) != (o.Err != nil) {
				t.Errorf("%d: %+v, want %s", i, o, plan[i].want)
			}
		}
		if s.output["m1"] != "stdout:out;stderr:err;" || len(s.notes["m1"]) != 1 {
			t.Error(s.output["m1"], s.notes["m1"])
		}
		if len(s.ended) != len(plan) {
			t.Error(s.ended)
		}
	})
}

// Where nothing is to be done, what the machine has said is all.
func TestNoRequest(t *testing.T) {
	_, list := machines(1, nil)
	task := fleet.Apply(nil, same(nil))
	equal(t, "status", statuses(mustRun(t, list, task, fleet.Options{})), []fleet.Status{fleet.Done})
}

// What cannot be begun is said before anything is.
func TestRunRefuses(t *testing.T) {
	_, list := machines(2, func(_ int, m *simulated) { m.name = "m" })
	for _, c := range []struct {
		list []*fleet.Member
		o    fleet.Options
	}{
		{list, fleet.Options{}},
		{list[:1], fleet.Options{Forks: -1}},
		{list[:1], fleet.Options{Patience: -2}},
		{list[:1], fleet.Options{Rollout: &site.Rollout{Batch: []site.Amount{{}}}}},
	} {
		if out, err := fleet.Run(context.Background(), c.list, apply(), c.o); err == nil {
			t.Errorf("%+v: %v", c.o, out)
		}
	}
}

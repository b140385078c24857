package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// stages are machines of which each is somewhere else when the caller has had enough.
func stages(t *testing.T) ([]*simulated, []*fleet.Member, fleet.Task) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	all, list := machines(6, nil)
	names := []string{"connecting", "evaluating", "running", "reconnecting", "ignoring", "waiting"}
	for i, m := range all {
		m.name, list[i].Name = names[i], names[i]
		m.serve = func(ctx context.Context, connection int, c *wire.Conn, r *wire.Request) error {
			if connection == 0 {
				m.mu.Lock()
				m.begun++
				m.mu.Unlock()
				c.Send(wire.KindStarted, wire.Started{Run: m.run})
				c.Send(wire.KindEvent, states.Event{Seq: 1})
			}
			if m.name == "reconnecting" && connection == 0 {
				return errCut
			}
			for range 100 {
				time.Sleep(time.Second)
				if m.wasCancelled() && m.name != "ignoring" {
					return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{Interrupted: true}})
				}
			}
			return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{}})
		}
	}
	all[3].refuse = func(attempt int) error {
		if attempt > 0 && attempt < 6 {
			return errors.New("no route")
		}
		return nil
	}
	first := list[0].Machine.(*remote.Machine)
	dial := first.Dial
	first.Dial = func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		if err := hang(ctx); err != nil {
			return nil, nil, err
		}
		return dial(ctx, o)
	}
	return all, list, fleet.Apply(nil, preparing(func(ctx context.Context, m *fleet.Member) (*machine.Job, error) {
		if m.Name == "evaluating" {
			return nil, hang(ctx)
		}
		return job(), nil
	}))
}

// A cancel ends what runs, and what would be begun, wherever it is.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list, task := stages(t)
		cancelled := make(chan struct{})
		time.AfterFunc(5*time.Second+short, func() { close(cancelled) })
		s := newSeen(t)
		outcomes := mustRun(t, list, task, fleet.Options{Forks: 5, Cancelled: cancelled, Listener: s})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{
			fleet.Interrupted, fleet.Interrupted, fleet.Interrupted, fleet.Interrupted, fleet.Done, fleet.Skipped,
		})
		for i, want := range []bool{false, false, true, true, true, false} {
			if all[i].wasCancelled() != want {
				t.Errorf("%s: cancelled %v", all[i].name, !want)
			}
		}
	})
}

// The end of the context leaves alone what runs, and begins nothing.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list, task := stages(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second+short)
		defer cancel()
		begun := time.Now()
		outcomes, err := fleet.Run(ctx, list, task, fleet.Options{Forks: 5, Listener: newSeen(t)})
		if err != nil || time.Since(begun) != 5*time.Second+short {
			t.Error(err, time.Since(begun))
		}
		equal(t, "statuses", statuses(outcomes), []fleet.Status{
			fleet.Interrupted, fleet.Interrupted, fleet.Detached, fleet.Detached, fleet.Detached, fleet.Skipped,
		})
		time.Sleep(time.Hour) // what goes on there ends
		for _, m := range all {
			if m.wasCancelled() {
				t.Errorf("%s was cancelled", m.name)
			}
		}
	})
}

// First a cancel, and then the caller does not want to wait for what comes of it.
func TestCancelAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list, task := stages(t)
		cancelled := make(chan struct{})
		time.AfterFunc(5*time.Second+short, func() { close(cancelled) })
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		outcomes, err := fleet.Run(ctx, list, task, fleet.Options{Forks: 5, Cancelled: cancelled})
		if err != nil {
			t.Error(err)
		}
		equal(t, "statuses", statuses(outcomes), []fleet.Status{
			fleet.Interrupted, fleet.Interrupted, fleet.Interrupted, fleet.Detached, fleet.Detached, fleet.Skipped,
		})
		time.Sleep(time.Hour)
		if !all[4].wasCancelled() {
			t.Error("the one that goes on was not cancelled")
		}
	})
}

// A machine that hangs does not keep anybody for ever who wants a word of it, or sends
// it something; one that is at work may take as long as it likes, while it says that it is there.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(long time.Duration) func(context.Context, int, *wire.Conn, *wire.Request) error {
			return func(_ context.Context, _ int, c *wire.Conn, r *wire.Request) error {
				time.Sleep(long)
				if r.Op == wire.OpForget {
					c.Send(wire.KindData, []states.Event{})
				}
				return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{Run: "r"}})
			}
		}
		for _, test := range []struct {
			op    wire.Op
			after time.Duration
			want  fleet.Status
			mute  fleet.Status // if it does not say that it is there; empty: as want
		}{
			{wire.OpPing, 4 * time.Minute, fleet.Done, ""},
			{wire.OpPing, time.Hour, fleet.Failed, ""},
			{wire.OpStatus, time.Hour, fleet.Failed, ""},
			{wire.OpHold, time.Hour, fleet.Detached, ""},
			{wire.OpPlan, time.Hour, fleet.Done, fleet.Failed},
			{wire.OpApply, time.Hour, fleet.Done, fleet.Detached},
			{wire.OpAttach, time.Hour, fleet.Done, fleet.Detached},
			{wire.OpExec, time.Hour, fleet.Done, fleet.Detached},
			{wire.OpForget, time.Hour, fleet.Done, fleet.Detached}, // it may wait for another apply
		} {
			silent(t, test.op, hang(test.after), false, test.want)
			silent(t, test.op, hang(test.after), true, cmp.Or(test.mute, test.want))
		}
		all, list := machines(1, nil)
		all[0].receive = func(*wire.Conn) error { // it reads nothing
			time.Sleep(time.Hour)
			return errCut
		}
		outcomes := mustRun(t, list, apply(), fleet.Options{})
		if outcomes[0].Status != fleet.Detached || all[0].attempts != 1 {
			t.Errorf("%+v after %d attempts", outcomes[0], all[0].attempts)
		}
		time.Sleep(time.Hour)
	})
}

// silent asks a machine that says nothing, which is given up in time or not at all.
func silent(t *testing.T, op wire.Op, serve func(context.Context, int, *wire.Conn, *wire.Request) error, mute bool, want fleet.Status) {
	t.Helper()
	all, list := machines(1, nil)
	all[0].serve, all[0].mute = serve, mute
	begun := time.Now()
	outcomes := mustRun(t, list, ask(op), fleet.Options{})
	if outcomes[0].Status != want {
		t.Errorf("%s, mute %t: %+v", op, mute, outcomes[0])
	}
	if long := time.Since(begun); want != fleet.Done && long > 6*time.Minute {
		t.Errorf("%s, mute %t: given up after %s", op, mute, long)
	}
	time.Sleep(time.Hour)
}

// A machine answers once.
func TestAnswersTwice(t *testing.T) {
	_, list := machines(1, func(_ int, m *simulated) {
		m.serve = func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
			for range 3 {
				c.Send(wire.KindData, "x")
			}
			return c.Send(wire.KindEnd, wire.End{})
		}
	})
	outcomes := mustRun(t, list, ask(wire.OpStatus), fleet.Options{})
	equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Failed})
}

// A machine that says nothing any more does not keep the caller from leaving, nor from
// cancelling the others.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, list := machines(3, func(i int, m *simulated) {
			if i != 1 {
				m.serve = func(ctx context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
					<-ctx.Done()
					return ctx.Err()
				}
			}
		})
		list[2].InProcess = true // nothing goes on there without this process
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		outcomes, err := fleet.Run(ctx, list, apply(), fleet.Options{})
		if err != nil {
			t.Error(err)
		}
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Detached, fleet.Done, fleet.Interrupted})
		if !errors.Is(outcomes[0].Err, context.DeadlineExceeded) {
			t.Error(outcomes[0].Err)
		}
	})
}

// A program that a host itself has interrupted is not begun again, and nobody says that it
// was not begun.
func TestExecIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(1, nil)
		all[0].serve = func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
			return c.Send(wire.KindEnd, wire.End{Failure: &states.Failure{Code: machine.CodeInterrupted, Message: "ended"}})
		}
		o := mustRun(t, list, ask(wire.OpExec), fleet.Options{})[0]
		if o.Status != fleet.Interrupted || !o.Refused() || o.Err.Error() != "ended" || all[0].attempts != 1 {
			t.Errorf("%+v after %d attempts", o, all[0].attempts)
		}
	})
}

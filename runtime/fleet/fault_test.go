package fleet_test

import (
	"context"
	"testing"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// panickingListener panics at the events of one machine.
type panickingListener struct{ *seen }

// Event is Listener.Event.
func (l panickingListener) Event(name string, ev states.Event) {
	if name == "m2" {
		panic("no renderer")
	}
	l.seen.Event(name, ev)
}

// What panics as one machine is looked after is that machine's failure; of one that has begun it is
// not known how it ends. The others go on.
func TestFaultOfOne(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	all, list := machines(4, nil)
	task := fleet.Apply(nil, preparing(func(_ context.Context, m *fleet.Member) (*machine.Job, error) {
		if m.Name == "m1" {
			panic("no site")
		}
		return job(), nil
	}))
	for _, m := range all {
		m.serve = func(_ context.Context, _ int, c *wire.Conn, _ *wire.Request) error {
			c.Send(wire.KindStarted, wire.Started{Run: m.run})
			c.Send(wire.KindEvent, states.Event{Seq: 1})
			return c.Send(wire.KindEnd, wire.End{Result: &machine.Result{}})
		}
	}
	outcomes := mustRun(t, list, task, fleet.Options{Forks: 2, Listener: panickingListener{newSeen(t)}})
	equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Failed, fleet.Detached, fleet.Done})
	for _, i := range []int{1, 2} {
		if fault.In(outcomes[i].Err) == nil {
			t.Errorf("%+v", outcomes[i])
		}
	}
}

package fleet_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// bundled is a task that sends a bundle.
func bundled(b bundle.Bundle, registry *states.Registry) fleet.Task {
	return fleet.Task{
		Prepare: func(context.Context, *fleet.Machine, *wire.Hello) (*wire.Request, *bundle.Bundle, error) {
			b := b
			return &wire.Request{Op: wire.OpApply, BecomePassword: "hunter2"}, &b, nil
		},
		Registry: func(*fleet.Machine) *states.Registry { return registry },
	}
}

// receives makes machines receive their bundle before anything else.
func receives(t *testing.T, m *machine, refuse bool) {
	store := &bundle.Store{Dir: t.TempDir()}
	m.receive = func(c *wire.Conn) error {
		if refuse {
			c.Send(wire.KindEnd, wire.End{Failure: &states.Failure{Code: wire.CodeDamaged, Message: "the disk is full"}})
			return errCut
		}
		_, err := store.Receive(c)
		return err
	}
}

// An apply takes its bundle along, is attached to by the execution's name if the word
// that it began was lost, and the password for it is not sent a second time.
func TestBundle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(3, func(i int, m *machine) {
			receives(t, m, i == 1)
			if i == 2 {
				m.cut = func(connection int) int { return 2 - 3*min(connection, 1) } // Hello, Need
			}
		})
		b := bundle.Bundle{Execution: "20261121-220045-3fa9c1", Run: &states.StateRun{Format: states.Format, Host: "web1"}}
		outcomes := mustRun(t, list, bundled(b, states.NewRegistry()), fleet.Options{})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Failed, fleet.Done})
		if f := outcomes[1].End.Failure; f.Message != "the disk is full" {
			t.Error(f)
		}
		if r := all[2].requests; len(r) != 2 || r[0].BecomePassword == "" || r[1].ID != b.Execution || r[1].Host != "web1" || r[1].BecomePassword != "" {
			t.Errorf("%+v", r)
		}
	})
}

// A bundle that cannot be sent is wrong, and nobody tries it again.
func TestBundleThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(1, func(_ int, m *machine) { receives(t, m, false) })
		b := bundle.Bundle{
			Run: &states.StateRun{Format: states.Format}, Files: fstest.MapFS{},
			Modules: []planfile.Modules{{Dir: ".", Files: []string{"gone.star"}}},
		}
		o := mustRun(t, list, bundled(b, states.NewRegistry()), fleet.Options{})[0]
		if o.Status != fleet.Wrong || !errors.Is(o.Err, fs.ErrNotExist) || all[0].connections != 1 {
			t.Errorf("%+v after %d connections", o, all[0].connections)
		}
	})
}

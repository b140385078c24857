package fleet_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// receives makes machines receive their bundle before anything else.
func receives(t *testing.T, m *simulated, refuse bool) {
	store := &bundle.Store{Dir: t.TempDir()}
	m.receive = func(c *wire.Conn) error {
		if refuse {
			c.Send(wire.KindEnd, wire.End{Failure: &states.Failure{Code: machine.CodeDamaged, Message: "the disk is full"}})
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
		all, list := machines(3, func(i int, m *simulated) {
			receives(t, m, i == 1)
			if i == 2 {
				m.cut = func(connection int) int { return 2 - 3*min(connection, 1) } // Hello, Need
			}
		})
		j := job()
		j.Run.Host, j.Become.Password = "web1", "hunter2"
		outcomes := mustRun(t, list, fleet.Apply(nil, same(j)), fleet.Options{})
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Failed, fleet.Done})
		if err := outcomes[1].Err; err.Error() != "the disk is full" {
			t.Error(err)
		}
		if r := all[2].requests; len(r) != 2 || r[0].BecomePassword == "" || r[1].ID != execution || r[1].Host != "web1" || r[1].BecomePassword != "" {
			t.Errorf("%+v", r)
		}
	})
}

// A bundle that cannot be sent is wrong, and nobody tries it again.
func TestBundleThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, list := machines(1, func(_ int, m *simulated) { receives(t, m, false) })
		j := job()
		j.Files, j.Modules = fstest.MapFS{}, []machine.Modules{{Dir: ".", Files: []string{"gone.star"}}}
		o := mustRun(t, list, fleet.Apply(nil, same(j)), fleet.Options{})[0]
		if o.Status != fleet.Invalid || !errors.Is(o.Err, fs.ErrNotExist) || all[0].connections != 1 {
			t.Errorf("%+v after %d connections", o, all[0].connections)
		}
	})
}

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/states"
)

// A migration makes a folder of one format one of the next. It is called with
// the lock held, and may have been cut short before: it is to be safe to repeat.
type migration struct {
	from, to string
	do       func(f *Folder, lock *file) error
}

// migrations are the formats that are known still, the oldest first.
func migrations() []migration {
	return []migration{
		{"tenet.state/1", "tenet.state/2", fromState1},
		{"tenet.state/2", "tenet.state/3", fromState2},
	}
}

// older gives the place of an older format among the migrations; -1: it is none.
func older(format string) int {
	return slices.IndexFunc(migrations(), func(m migration) bool { return m.from == format })
}

// migrate brings the folder to the present format. The lock is held.
func (f *Folder) migrate(lock *file) error {
	format, _, err := f.readFormat()
	if err != nil {
		return err
	}
	first := older(format)
	if first < 0 {
		return f.checkFormat() // another program may have brought it further
	}
	for _, m := range migrations()[first:] {
		if err := m.do(f, lock); err != nil {
			return fmt.Errorf("the state folder cannot be brought from %s to %s: %w", m.from, m.to, err)
		}
		if err := f.writeFormat(m.to); err != nil {
			return err
		}
	}
	return nil
}

// fromState1 has nothing to rewrite: what its runs owe is read off their events,
// see events1. But its programs lock by flock, which our lock does not see.
func fromState1(_ *Folder, lock *file) error {
	err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("an older version of tenet applies on it now")
	}
	return err
}

// fromState2 gives the directory of manifests its name. What events and records of sites
// called "made" is read still.
func fromState2(f *Folder, _ *file) error {
	from, to := filepath.Join(f.dir, madeDir), filepath.Join(f.dir, manifestsDir)
	err := f.disk.rename(from, to)
	switch {
	case errors.Is(err, fs.ErrNotExist): // there are none, or it was done before
		return nil
	case errors.Is(err, fs.ErrExist), errors.Is(err, unix.ENOTEMPTY): // an older program has applied in between
		err = f.moveManifests(from, to)
	}
	return Join(err, f.disk.sync(f.dir))
}

// moveManifests moves all manifests of one directory into another, and removes it. Their
// names are their digests: those of one name are the same.
func (f *Folder) moveManifests(from, to string) error {
	entries, err := f.disk.list(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := f.disk.rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return Join(f.disk.sync(to), f.disk.remove(from))
}

// eventFormat1 is the format of events without debts.
const eventFormat1 = "tenet.events/1"

// events1 makes of a run's events of format 1 what they mean today: there, a part
// that changed something, failed or is unknown owes each of the handlers that its
// begin names. That is at times more than it notified, and never less.
type events1 struct {
	replay   *Replay
	handlers map[string][]string       // by part that was begun
	called   map[string]bool           // handlers that were named
	started  map[string]bool           // invocations of such handlers
	ended    map[string]states.Outcome // how their parts went, until the invocation's end
}

func newEvents1(r *Replay) *events1 {
	return &events1{
		replay: r, handlers: map[string][]string{}, called: map[string]bool{},
		started: map[string]bool{}, ended: map[string]states.Outcome{},
	}
}

// add is Replay.Add.
func (o *events1) add(ev *states.Event) {
	handler := states.WithoutWave(ev.Invocation)
	called := o.called[handler] || len(o.replay.Owed(handler)) > 0
	if called && (ev.Type == states.EventBegin || ev.Type == states.EventPart) && !o.started[ev.Invocation] {
		o.started[ev.Invocation] = true
		o.replay.Add(&states.Event{Seq: ev.Seq, Time: ev.Time, Type: states.EventStart, Address: ev.Invocation})
	}
	switch ev.Type {
	case states.EventBegin:
		o.handlers[ev.Address] = ev.Handlers
		for _, handler := range ev.Handlers {
			o.called[handler] = true
		}
	case states.EventPart:
		if ev.Outcome == states.Changed || ev.Outcome == states.Failed || ev.Outcome == states.Unknown {
			ev.Owes = o.handlers[ev.Address]
		}
		delete(o.handlers, ev.Address)
		if called && wentWell(o.ended[ev.Invocation]) {
			o.ended[ev.Invocation] = ev.Outcome
		}
	case states.EventInvocation:
		delete(o.ended, ev.Address)
	case states.EventSummary: // an invocation of one part has no event of its own
		for _, address := range slices.Sorted(maps.Keys(o.ended)) {
			o.replay.Add(&states.Event{Seq: ev.Seq, Time: ev.Time, Type: states.EventInvocation, Address: address, Outcome: o.ended[address]})
		}
	}
	o.replay.Add(ev)
}

// wentWell reports whether the parts of an invocation have gone well until now:
// the outcome of the first that has not stands for them.
func wentWell(o states.Outcome) bool {
	return o == "" || o == states.Changed || o == states.Unchanged || o == states.Skipped
}

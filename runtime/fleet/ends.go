package fleet

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/machine"
)

// HostEnd is how a run has ended on a machine, as the machine says after its controller was gone.
type HostEnd struct {
	Run    string
	Status Status
	At     time.Time // by the clock of the machine
}

// open reports whether it is not known how it ended with a machine.
func (h *RecordHost) open() bool { return h.Status == "" || h.Status == Detached }

// LearnEnds adds to the record of an execution how it ended on machines, by their names, where that
// was not known; what is known stays. It gives the record as it is then. Once the last end is known,
// the execution has ended with it.
func (e *Executions) LearnEnds(id string, ends map[string]HostEnd) (*Record, error) {
	if !IsExecution(id) {
		return nil, &NotFoundError{id}
	}
	var r *Record
	err := withLock(e.Dir, func() (err error) {
		if r, err = e.read(id); errors.Is(err, fs.ErrNotExist) {
			return &NotFoundError{id}
		} else if err != nil {
			return err
		}
		if r.learn(ends, time.Now().UTC()) {
			err = r.replace(e.Dir)
		}
		return err
	})
	return r, err
}

// learn reports whether there was anything to learn. No end is later than now, whatever a machine says.
func (r *Record) learn(ends map[string]HostEnd, now time.Time) bool {
	learnt, allKnown, last := false, true, r.Ended
	for i := range r.Hosts {
		h := &r.Hosts[i]
		if end, ok := ends[h.Name]; ok && h.open() {
			learnt, h.Status = true, end.Status
			if h.Run == "" && machine.IsRunName(end.Run) {
				h.Run = end.Run
			}
			if at := end.At.UTC(); at.After(last) {
				last = at
			}
		}
		allKnown = allKnown && !h.open()
	}
	if learnt && allKnown {
		if r.Ended = last; last.IsZero() || last.After(now) {
			r.Ended = now
		}
	}
	return learnt
}

// adopt takes over what somebody else has learnt of the machines whose end is not known here.
func (r *Record) adopt(other *Record) {
	known := map[string]RecordHost{}
	for _, h := range other.Hosts {
		known[h.Name] = h
	}
	for i := range r.Hosts {
		h := &r.Hosts[i]
		if now := known[h.Name]; h.open() && !now.open() {
			h.Status = now.Status
		}
	}
}

// withLock runs f while no other process replaces records in a folder. It waits for as long as that
// takes, which is no longer than it takes to write one.
func withLock(dir string, f func() error) (err error) {
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // which gives up the lock
	for {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return err
	}
	return f()
}

package fleet

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/fault"
)

// settle is how long a record waits for more to be written of it.
const settle = 100 * time.Millisecond

// Execution is the record of what is going on. What comes to be known of its machines
// is written soon, not at once: hundreds of them may say so together.
type Execution struct {
	dir    string
	mu     sync.Mutex // also of the file
	record Record
	timer  *time.Timer // nil: nothing is to be written
	err    error       // of writing
	closed bool
}

// ID names the execution, here and on its machines.
func (x *Execution) ID() string { return x.record.ID }

// Close writes when it ended, and what has not been written. The error is the first of
// any writing since New.
func (x *Execution) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return x.err
	}
	x.closed = true
	if x.timer != nil {
		x.timer.Stop()
	}
	x.record.Ended = time.Now().UTC()
	x.keep(x.write())
	return x.err
}

// Becomes notes that parts of what a machine does act as other accounts. Prepare may call
// it.
func (x *Execution) Becomes(machine string) {
	x.note(machine, func(h *RecordHost) { h.Becomes = true })
}

// note changes what is known of a machine.
func (x *Execution) note(machine string, change func(*RecordHost)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.record.Hosts {
		if x.record.Hosts[i].Name == machine {
			change(&x.record.Hosts[i])
		}
	}
	if x.timer == nil && !x.closed {
		x.timer = time.AfterFunc(settle, fault.Guard(x.flush))
	}
}

func (x *Execution) flush() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.timer = nil
	if !x.closed {
		x.keep(x.write())
	}
}

func (x *Execution) keep(err error) {
	if x.err == nil {
		x.err = err
	}
}

// write replaces the record, which another process may have added to. One that cannot be read, as
// before the first time, is replaced by this whole one.
func (x *Execution) write() error {
	return withLock(x.dir, func() error {
		if now, err := (&Executions{Dir: x.dir}).read(x.record.ID); err == nil {
			x.record.adopt(now)
		}
		return x.record.replace(x.dir)
	})
}

// commit changes the record, and returns once that is written.
func (x *Execution) commit(change func(*Record)) error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.record)
	if err := x.mark(); err != nil {
		return err
	}
	if err := x.write(); err != nil {
		return err
	}
	return x.unmark()
}

// replace puts the record in the place of the former one: whoever reads it, or is killed here, finds
// that or this one whole.
func (r *Record) replace(dir string) error {
	return atomicfile.Replace(filepath.Join(dir, r.ID+".json"), atomicfile.Options{Durable: true}, func(f *os.File) error {
		return plainjson.WriteIndented(f, r)
	})
}

package runtime_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
)

// What has to be true however a run has ended: the next one that is left alone
// makes the host what an undisturbed one makes it, every handler that was due
// has run after what it was due for, and the one after that has nothing to do.
// Here processes end at each of their operations, on the host and in the state
// folder, and fail at each.

// trial is how the processes before the recovery end, and what else happens.
type trial struct {
	name     string
	how      ending
	err      error             // of misses and full
	then     func(*world, int) // after the first process, which met its end at this operation
	second   func(k int) int   // where the one after it dies, too; nil: there is none
	parallel int
	rare     bool
	torn     int // how much of a write is done by a process that halts; 0: half
}

// at carries out a trial with the end at one operation. It tells whether the
// process came so far.
func (s *crashSite) at(t *testing.T, c *trial, k int, want map[string]string) bool {
	f := &fate{at: k, how: c.how, err: c.err, torn: c.torn}
	w := s.world(t, max(c.parallel, 1))
	defer func() { w.must(os.RemoveAll(w.state)) }()
	wrong := func(err error) {
		if err != nil {
			t.Errorf("%s at operation %d, %s: %v\n%s", c.name, k, f.op, err, w.story())
		}
	}
	if s.settled {
		_, err := w.process(&fate{})
		w.must(err)
		w.run = s.edit
	}
	_, err := w.process(f)
	if f.whole && c.how == halts {
		return true // that is to die before it, which is another trial
	}
	if err == nil && f.met() && c.err != nil && w.run == cmp.Or(s.edit, s.run) {
		if err = w.honest(want); err != nil {
			err = fmt.Errorf("it says that all is well, but %w", err)
		}
		wrong(err)
	}
	w.run = cmp.Or(s.edit, s.run)
	if c.then != nil {
		c.then(w, k)
	}
	if c.second != nil {
		_, _ = w.process(&fate{at: c.second(k), how: c.how}) // dead or done: the next one tells
	}
	if err = w.recovered(); err == nil {
		err = w.same(want)
	}
	wrong(err)
	return f.met()
}

// honest looks whether a run that says it went well has done everything.
func (w *world) honest(want map[string]string) error {
	for _, r := range w.site.rules {
		if wrong := r.broken(w.history); wrong != "" {
			return errors.New(wrong)
		}
	}
	return w.same(want)
}

// everywhere carries out trials at each operation of each site; without -all at
// every fifth, and those that are rare at some.
func everywhere(t *testing.T, list ...trial) { trials(t, crashSites, list...) }

func trials(t *testing.T, sites []*crashSite, list ...trial) {
	var points atomic.Int64
	t.Cleanup(func() { t.Logf("%d points", points.Load()) })
	for i, s := range sites {
		want := s.undisturbed(t)
		for j, c := range list {
			first, step := 1, 1
			switch {
			case *all:
			case c.rare:
				first, step = 1+i+j, 29
			default:
				first, step = 1+(i+j)%5, 5
			}
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				for k := first; s.at(t, &c, k, want) && !t.Failed(); k += step {
					points.Add(1)
				}
			})
		}
	}
}

var all = flag.Bool("all", false, "end processes, and swap folders, at each operation in each way, not only in those that matter most")

func TestDeathAtEachOperation(t *testing.T) {
	everywhere(t,
		trial{name: "dies", how: dies},
		trial{name: "halts", how: halts},
		trial{name: "side by side", how: dies, parallel: 4, rare: true},
		trial{name: "twice", how: dies, second: func(k int) int { return 1 + k*7%60 }, rare: true},
		trial{name: "status damaged", how: dies, then: damage("status.json", halfOf), rare: true},
		trial{name: "owed damaged", how: dies, then: damage("owed.json", rubbish), rare: true},
		trial{name: "managed damaged", how: dies, then: damage("managed.json", noneOf), rare: true},
	)
}

func TestLostPowerAtEachOperation(t *testing.T) {
	everywhere(t,
		trial{name: "everywhere", how: dies, then: lose(true, true)},
		trial{name: "on the host", how: dies, then: lose(true, false), rare: true},
		trial{name: "in the journal", how: dies, then: lose(false, true), rare: true},
	)
}

func TestFailureAtEachOperation(t *testing.T) {
	everywhere(t,
		trial{name: "ENOSPC once", how: misses, err: syscall.ENOSPC},
		trial{name: "EIO from there", how: full, err: syscall.EIO, rare: true},
		trial{name: "EIO once", how: misses, err: syscall.EIO, rare: true},
		trial{name: "ENOSPC from there", how: full, err: syscall.ENOSPC, rare: true},
	)
}

// Two processes in a row die, each at every operation.
func TestDeathTwice(t *testing.T) {
	s, points, step := &smallSite, 0, 17
	if *all {
		step = 1
	}
	want := s.undisturbed(t)
	for j := 1; j < 80; j += step {
		c := trial{name: "the second at " + strconv.Itoa(j), how: dies, second: func(int) int { return j }}
		for k := 1 + j%step; s.at(t, &c, k, want) && !t.Failed(); k += max(step/3, 1) {
			points++
		}
	}
	t.Logf("%d points", points)
}

// What a process writes last reaches the disk in part, up to each byte.
func TestTornAtEachByte(t *testing.T) {
	s, points, step := &smallSite, 0, 61
	if *all {
		step = 1
	}
	want := s.undisturbed(t)
	var mu sync.Mutex
	sizes := map[int]int{} // of what is written to the journal, by operation
	w := s.world(t, 1)
	f := &fate{}
	f.watch = func(op journal.Op, done int) {
		if op.Kind == journal.OpWrite {
			mu.Lock()
			defer mu.Unlock()
			sizes[done+1] = len(op.Data)
		}
	}
	_, err := w.process(f)
	w.must(errors.Join(err, os.RemoveAll(w.state)))
	for k, size := range sizes {
		for n := 1 + k%step; n < size && !t.Failed(); n += step {
			c := trial{name: fmt.Sprintf("%d of %d bytes", n, size), how: halts, torn: n}
			s.at(t, &c, k, want)
			points++
		}
	}
	t.Logf("%d points", points)
}

// Package watchdog ends what cannot be ended from within: a computation in a
// library that takes no context and knows no limits. It watches the time that
// it takes and the memory that the program uses, and barks once.
//
// A computation that is being watched cannot be stopped; whoever is called can
// only say what happened, and end the program.
package watchdog

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// The default limits.
const (
	DefaultTime   = 10 * time.Second
	DefaultMemory = 1 << 30
)

// Limits are what is watched. Zero fields mean the defaults.
type Limits struct {
	Time   time.Duration
	Memory uint64 // bytes in use
}

// Alarm says which limit was reached. One of its fields is set.
type Alarm struct {
	Time   time.Duration
	Memory uint64
}

// String says it in words.
func (a Alarm) String() string {
	if a.Time > 0 {
		return fmt.Sprintf("takes longer than %s", a.Time)
	}
	return fmt.Sprintf("needs more than %s of memory", Bytes(a.Memory))
}

// Bytes writes a size with the unit that fits it.
func Bytes(n uint64) string {
	for _, unit := range []struct {
		size uint64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Dog watches from Watch to Stop.
type Dog struct {
	limits    Limits
	bark      func(Alarm)
	startTime time.Duration // by the program before
	done      chan struct{}
	ended     fault.Group

	mu         sync.Mutex
	start      time.Time
	pauses     int           // who is in Away
	pauseStart time.Time     // when the first of them went
	absent     time.Duration // how long they were away
}

// interval is how often a dog looks.
const interval = 10 * time.Millisecond

// Watch starts to watch. bark is called at most once, in a goroutine of its
// own.
func Watch(l Limits, bark func(Alarm)) *Dog {
	if l.Time == 0 {
		l.Time = DefaultTime
	}
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	d := &Dog{limits: l, bark: bark, done: make(chan struct{}), start: time.Now(), startTime: processorTime()}
	d.ended.Go(fault.Guard(d.run)) // without it nothing would be bounded
	return d
}

// Stop ends the watch. A bark that has begun is waited for.
func (d *Dog) Stop() {
	close(d.done)
	d.ended.Wait()
}

// Pause calls f, whose time does not count: it waits for a person, or opens what
// is slow to open on purpose.
func (d *Dog) Pause(f func()) {
	d.mu.Lock()
	if d.pauses++; d.pauses == 1 {
		d.pauseStart = time.Now()
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.pauses--; d.pauses == 0 {
			d.absent += time.Since(d.pauseStart)
		}
	}()
	f()
}

// isLate reports whether the computation takes too long. Where the machine has no
// time for the program, which then has worked for less than half of it, it may
// take longer.
func (d *Dog) isLate() bool {
	taken := d.elapsed()
	if taken <= d.limits.Time {
		return false
	}
	return taken > patience*d.limits.Time || processorTime()-d.startTime > d.limits.Time/2
}

// patience is how much longer a computation may take that waits.
const patience = 6

// processorTime is the time that the program's threads have had.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return math.MaxInt64 // then the clock alone counts
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// elapsed is how long the computation takes.
func (d *Dog) elapsed() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pauses > 0 {
		return d.pauseStart.Sub(d.start) - d.absent
	}
	return time.Since(d.start) - d.absent
}

func (d *Dog) run() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-d.done:
			return
		case <-tick.C:
		}
		if d.isLate() {
			d.bark(Alarm{Time: d.limits.Time})
			return
		}
		if d.limits.areExceeded() {
			d.bark(Alarm{Memory: d.limits.Memory})
			return
		}
	}
}

// areExceeded reports whether too much memory is in use. What is only not collected
// yet does not count, unless it is so much that it may not be waited for.
func (l Limits) areExceeded() bool {
	for range 3 { // what is made during a collection counts as in use
		switch n := objects(); {
		case n <= l.Memory:
			return false
		case n/3 > l.Memory:
			return true
		}
		runtime.GC()
	}
	return objects() > l.Memory
}

// InUse is how much memory the program uses now, with what is only not collected yet.
func InUse() uint64 { return objects() }

// objects is the size of all that is on the heap.
func objects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

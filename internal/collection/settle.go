package collection

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// quiet is for how long a process collects no garbage by itself before it settles.
const quiet = 30 * time.Second

// Settle gives memory back, until the context ends, once a burst of work is over: while thousands of agents connect, the heap and the stacks of their connections
// grow. Go halves a stack at each collection at most, and a server that rests seldom collects.
func (c *Collector) Settle(ctx context.Context) {
	if c == nil || c.policy.Load() == nil {
		return
	}
	ticker := time.NewTicker(quiet)
	defer ticker.Stop()
	var s settler
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.isDue(read()) {
				s.settle()
			}
		}
	}
}

// usage is what a process has taken.
type usage struct {
	memory      uint64 // bytes, without those that were given back
	collections uint64
}

func read() usage {
	m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(m)
	return usage{memory: m[0].Value.Uint64() - m[1].Value.Uint64(), collections: m[2].Value.Uint64()}
}

// settler says when it is worth it.
type settler struct {
	last    usage // at the look before
	settled uint64
}

// isDue tells whether nothing was collected since the look before, and more memory is taken by a tenth than was left the last time.
func (s *settler) isDue(now usage) bool {
	isQuiet := now.collections == s.last.collections
	s.last = now
	return isQuiet && now.memory > s.settled+s.settled/10
}

// settle collects until stacks are as small as they become, mostly: from 32 KiB to the 4 KiB of a connection that waits.
func (s *settler) settle() {
	for range 3 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	s.last = read()
	s.settled = s.last.memory
}

// Package collection says when a process collects garbage. Whoever sets GOGC decides instead.
package collection

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Policy is when garbage is collected: once the heap has grown by so many percent over what was alive, and is as large as is enough.
type Policy struct {
	Enough  uint64 // bytes
	Percent uint64
}

// Command is for a program that ends soon. Go begins to collect at 4 MiB: a site of a few hundred parts would be collected
// ten times on its way to 20 MiB, which takes a quarter of the time.
func Command() Policy { return Policy{Enough: 32 << 20, Percent: 100} }

// Server keeps memory for what is alive rather than for garbage: most of a server's heap is connections, which stay.
func Server() Policy { return Policy{Enough: 64 << 20, Percent: 40} }

// Collector follows a policy. There is one in a process; nil follows none.
type Collector struct{ policy atomic.Pointer[Policy] }

// Start has garbage collected by a policy from now on.
func Start(p Policy) *Collector {
	c := &Collector{}
	if os.Getenv("GOGC") != "" {
		return c
	}
	c.policy.Store(&p)
	c.adjust()
	c.follow(&sentinel{})
	return c
}

// Use follows another policy from now on.
func (c *Collector) Use(p Policy) {
	if c != nil && c.policy.Load() != nil {
		c.policy.Store(&p)
		c.adjust()
	}
}

// sentinel is garbage as soon as it is made, so that its finalizer runs after each collection.
type sentinel struct{ _ *byte }

func (c *Collector) follow(s *sentinel) {
	runtime.SetFinalizer(s, func(s *sentinel) {
		c.adjust()
		c.follow(s)
	})
}

// adjust follows what is alive.
func (c *Collector) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(int(c.policy.Load().after(live[0].Value.Uint64())))
}

// after gives the percent by which the heap may grow when so many bytes of it are alive.
func (p *Policy) after(live uint64) uint64 {
	const least = 4 << 20 // what Go takes a smaller heap for
	live = max(live, least)
	if live+live*p.Percent/100 >= p.Enough {
		return p.Percent
	}
	return p.Enough*100/live - 100
}

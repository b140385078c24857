// Package limit says how often somebody may ask: an address, or a host. It remembers no more of them than it has room for.
package limit

import (
	"net"
	"sync"
	"time"
)

// Limiter lets each key through a number of times at once, and after that once in an interval.
type Limiter struct {
	clock    func() time.Time
	burst    int
	interval time.Duration
	mu       sync.Mutex
	free     map[string]time.Time // when all of the burst is there again
}

// maxKeys bounds what is remembered of who has asked.
const maxKeys = 100_000

// New makes one.
func New(clock func() time.Time, burst int, interval time.Duration) *Limiter {
	return &Limiter{clock: clock, burst: burst, interval: interval, free: map[string]time.Time{}}
}

// Take takes one, or says how long to wait for it; 0: not at all.
func (l *Limiter) Take(key string) (wait time.Duration) {
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.free[key]
	if free.Before(now) || free.After(now.Add(2*time.Duration(l.burst)*l.interval)) { // the clock may have been put back
		free = now
	}
	next := free.Add(l.interval)
	if over := next.Sub(now) - time.Duration(l.burst)*l.interval; over > 0 {
		return over
	}
	if _, ok := l.free[key]; !ok && len(l.free) >= maxKeys {
		l.forget(now)
	}
	l.free[key] = next
	return 0
}

// forget drops those that have all of their burst again, and if that is not enough all: a flood from everywhere is not held up here.
func (l *Limiter) forget(now time.Time) {
	for key, free := range l.free {
		if !free.After(now) {
			delete(l.free, key)
		}
	}
	if len(l.free) >= maxKeys {
		clear(l.free)
	}
}

// Source is the key of where a connection comes from, HOST:PORT: of IPv6 the network, of which one machine has all.
func Source(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

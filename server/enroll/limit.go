package enroll

import (
	"sync"
	"time"
)

// limits are how often one may ask.
type limits struct {
	sources limiter // by address, before anything is verified
	joins   limiter // by address
	renewal limiter // by host, once its proof was verified: nobody uses up another's
}

func newLimits(clock func() time.Time) limits {
	return limits{
		sources: newLimiter(clock, 2000, 5*time.Millisecond), // many hosts may be behind one address
		joins:   newLimiter(clock, 500, 20*time.Millisecond),
		renewal: newLimiter(clock, 20, 5*time.Second),
	}
}

// limiter lets each key through a number of times at once, and after that once in an interval.
type limiter struct {
	clock    func() time.Time
	burst    int
	interval time.Duration
	mu       *sync.Mutex
	free     map[string]time.Time // when all of the burst is there again
}

// maxKeys bounds what is remembered of who has asked.
const maxKeys = 100_000

func newLimiter(clock func() time.Time, burst int, interval time.Duration) limiter {
	return limiter{clock: clock, burst: burst, interval: interval, mu: &sync.Mutex{}, free: map[string]time.Time{}}
}

// take takes one, or says how long to wait for it.
func (l *limiter) take(key string) (wait time.Duration) {
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
func (l *limiter) forget(now time.Time) {
	for key, free := range l.free {
		if !free.After(now) {
			delete(l.free, key)
		}
	}
	if len(l.free) >= maxKeys {
		clear(l.free)
	}
}

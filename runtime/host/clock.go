package host

import (
	"context"
	"time"
)

// Clock is the time of a host.
type Clock interface {
	// Now is what the host's clock says.
	Now() time.Time
	// Sleep lets time pass. On a Shadow it does not: the error is ErrUnforeseeable.
	Sleep(ctx context.Context, d time.Duration) error
}

// Now is what a host's clock says.
func Now(h Host) time.Time {
	return h.Now()
}

// Sleep lets time pass on a host, until ctx ends; see Clock.
func Sleep(ctx context.Context, h Host, d time.Duration) error {
	return h.Sleep(ctx, d)
}

// sleep waits until ctx ends, on this machine.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Now is Clock.Now: this machine's.
func (l *Local) Now() time.Time { return time.Now() }

// Sleep is Clock.Sleep.
func (l *Local) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }

// SetClock sets the time of the host, which from then on passes only by Sleep.
func (m *Memory) SetClock(now time.Time) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.clock = now
}

// Now is Clock.Now: this machine's time, and what was slept, if no other was set.
func (m *Memory) Now() time.Time {
	m.guard.RLock()
	defer m.guard.RUnlock()
	if m.clock.IsZero() {
		return time.Now().Add(m.slept)
	}
	return m.clock.Add(m.slept)
}

// Sleep is Clock.Sleep, and takes no time.
func (m *Memory) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.guard.Lock()
	defer m.guard.Unlock()
	m.slept += d
	return nil
}

// Now is Clock.Now: the base's.
func (s *Shadow) Now() time.Time { return Now(s.host) }

// Sleep is Clock.Sleep: nothing comes of waiting here.
func (s *Shadow) Sleep(context.Context, time.Duration) error { return ErrUnforeseeable }

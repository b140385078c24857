package host

import (
	"context"
	"time"
)

// Clock is offered by hosts with a time of their own. Use Now and Sleep, which
// also answer for hosts that offer none.
type Clock interface {
	// Now is what the host's clock says.
	Now() time.Time
	// Sleep lets time pass. On a Shadow it does not: the error is ErrUnforeseeable.
	Sleep(ctx context.Context, d time.Duration) error
}

// Now is what a host's clock says.
func Now(h Host) time.Time {
	if c, ok := h.(Clock); ok {
		return c.Now()
	}
	return time.Now()
}

// Sleep lets time pass on a host, until ctx ends; see Clock.
func Sleep(ctx context.Context, h Host, d time.Duration) error {
	if c, ok := h.(Clock); ok {
		return c.Sleep(ctx, d)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// SetClock sets the time of the host, which from then on passes only by Sleep.
func (m *Memory) SetClock(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = now
}

// Now is Clock.Now: this machine's time, and what was slept, if no other was set.
func (m *Memory) Now() time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
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
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slept += d
	return nil
}

// Now is Clock.Now: the base's.
func (s *Shadow) Now() time.Time { return Now(s.host) }

// Sleep is Clock.Sleep: nothing comes of waiting here.
func (s *Shadow) Sleep(context.Context, time.Duration) error { return ErrUnforeseeable }

// Now is Clock.Now.
func (w *watched) Now() time.Time { return Now(w.Host) }

// Sleep is Clock.Sleep.
func (w *watched) Sleep(ctx context.Context, d time.Duration) error { return Sleep(ctx, w.Host, d) }

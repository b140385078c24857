package broker

import (
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// How much a host may send: far more than an agent does that is what it says.
const (
	meterRate  = 2000  // packets in a second
	meterBurst = 10000 // packets at once
	meterUnit  = 64 << 10
	// meterSpan is after how long a host that sends nothing is forgotten, since it may send all again.
	meterSpan = meterBurst / meterRate * time.Second
)

// Meter tells hosts that flood the broker from others. NATS knows no such limit. It is for one goroutine.
type Meter struct {
	Now   func() time.Time
	hosts map[trust.ID]*flow
	swept time.Time
}

// flow is what a host may still send.
type flow struct {
	left float64
	last time.Time
}

// Allow counts a packet of so many bytes, and tells whether the host may send it. A large one counts as several.
func (m *Meter) Allow(host trust.ID, bytes int) bool {
	now := m.Now()
	if m.hosts == nil || now.Sub(m.swept) > meterSpan {
		m.sweep(now)
	}
	f := m.hosts[host]
	if f == nil {
		f = &flow{left: meterBurst, last: now}
		m.hosts[host] = f
	}
	f.left = min(meterBurst, f.left+meterRate*now.Sub(f.last).Seconds())
	f.last = now
	cost := 1 + float64(bytes/meterUnit)
	if f.left < cost {
		return false
	}
	f.left -= cost
	return true
}

func (m *Meter) sweep(now time.Time) {
	if m.hosts == nil {
		m.hosts = map[trust.ID]*flow{}
	}
	m.swept = now
	for host, f := range m.hosts {
		if now.Sub(f.last) > meterSpan {
			delete(m.hosts, host)
		}
	}
}

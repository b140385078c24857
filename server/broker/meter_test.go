package broker

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

func TestMeter(t *testing.T) {
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	m := &Meter{Now: func() time.Time { return now }}
	count := func(host trust.ID, size, most int) (allowed int) {
		for range most {
			if m.Allow(host, size) {
				allowed++
			}
		}
		return allowed
	}
	if n := count("flood", 10, 3*meterBurst); n != meterBurst {
		t.Errorf("%d at once", n)
	}
	if n := count("other", 10, 1000); n != 1000 {
		t.Errorf("%d of another host", n)
	}
	now = now.Add(time.Second)
	if n := count("flood", 10, 3*meterBurst); n != meterRate {
		t.Errorf("%d in a second", n)
	}
	if n := count("large", 16<<20, 1000); n != meterBurst/257 {
		t.Errorf("%d large ones", n)
	}
	now = now.Add(2 * meterSpan)
	if m.Allow("new", 1); len(m.hosts) != 1 {
		t.Errorf("%d hosts are remembered", len(m.hosts))
	}
}

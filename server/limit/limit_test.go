package limit

import (
	"fmt"
	"testing"
	"time"
)

// Who asks too often waits, and does not keep others waiting.
func TestLimiter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := New(func() time.Time { return now }, 3, time.Second)
	for k := range 5 {
		if wait := l.Take("a"); (wait > 0) != (k >= 3) {
			t.Errorf("%d: %v", k, wait)
		}
	}
	if l.Take("b") > 0 {
		t.Error("another one waits")
	}
	now = now.Add(time.Second)
	if l.Take("a") > 0 || l.Take("a") == 0 {
		t.Error("after a second it is one more")
	}
	now = now.Add(-1000 * time.Hour)
	if l.Take("a") > 0 {
		t.Error("a clock that was put back locks out")
	}
	for k := range 2 * maxKeys {
		l.Take(fmt.Sprint(k))
	}
	if len(l.free) > maxKeys {
		t.Errorf("%d are remembered", len(l.free))
	}
}

func TestSource(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.1:99": "192.0.2.1", "[2001:db8:1:2:3::4]:99": "2001:db8:1:2::", "[2001:db8:1:2::]:1": "2001:db8:1:2::", "pipe": "pipe"} {
		if got := Source(address); got != want {
			t.Errorf("%s comes from %s", address, got)
		}
	}
}

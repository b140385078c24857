package sessions

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
)

// All that an agent keeps may be told at once, and then a quota a day; a batch that is larger than all of it is taken in when nothing else counts.
func TestUsage(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := &Sessions{Options: Options{Clock: func() time.Time { return now }}}
	h := newHost("x")
	spend := func(cost int64) (wait time.Duration) {
		used, wait, ok := s.spend(h, cost)
		if ok {
			h.usage = used
		}
		return wait
	}
	if spend(control.MaxKept) != 0 {
		t.Error("what an agent keeps is refused")
	}
	if spend(DefaultBurst-control.MaxKept) != 0 || spend(DefaultQuota/24).Round(time.Second) != time.Hour {
		t.Error("it is not told when there is room")
	}
	now = now.Add(-48 * time.Hour) // the clock was set back: nothing is gained by that, and nothing lost
	if spend(1) == 0 {
		t.Error("a clock that is set back makes room")
	}
	h.usage.at = now
	now = now.Add(24 * time.Hour)
	if spend(DefaultQuota) != 0 || spend(1<<20) == 0 {
		t.Error("a day is not a quota")
	}
	now = now.Add(365 * 24 * time.Hour)
	if spend(2*DefaultBurst) != 0 {
		t.Error("a batch that never fits is never taken in")
	}
}

package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Each thing that keeps a host from having its target is said, and what would have to end first comes first.
func TestPendingSaysWhy(t *testing.T) {
	h := newHost("x")
	now := time.Unix(1.7e9, 0)
	valid := &Target{Assignment: trust.Assignment{Until: now.Add(time.Hour)}}
	over := &Target{Assignment: trust.Assignment{Until: now.Add(-time.Hour)}}
	for _, c := range []struct {
		target                        *Target
		recovering, locked, connected bool
		want                          string
	}{
		{over, true, true, false, "resume"},
		{over, false, true, false, "locked"},
		{over, false, false, false, "not connected"},
		{over, false, false, true, "until 2023-11-14T21:13:20Z: deploy again"},
		{valid, false, false, true, "being delivered"},
	} {
		h.core.Locked = c.locked
		if why := h.pending(c.target, c.recovering, c.connected, now); !strings.Contains(why, c.want) {
			t.Errorf("%q, not %q", why, c.want)
		}
	}
}

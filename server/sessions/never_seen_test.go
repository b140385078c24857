package sessions_test

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/sessions"
)

// A host that has never connected is silent, whether something is wanted of it or not, and however long the server has been there.
func TestNeverSeenIsSilent(t *testing.T) {
	now := time.Now()
	f := newFleet(t, func(f *fleet) { f.clock = func() time.Time { return now } })
	idle, wanted := f.enroll("web1"), f.enroll("web2")
	f.assign(wanted, &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "r1", Absent: true, Until: now.Add(24 * time.Hour)})
	for _, passed := range []time.Duration{0, time.Hour} {
		now = now.Add(passed)
		for _, h := range []*subject{idle, wanted} {
			id := h.key.Public().ID()
			listed := f.sessions.Glances().Host(id, func(*sessions.Glance) bool { return true })
			if shown := f.sessions.Status(id).Reachability.Reach(); listed != sessions.ReachSilent || shown != sessions.ReachSilent {
				t.Errorf("%s is listed as %s and shown as %s", h.name, listed, shown)
			}
		}
	}
}

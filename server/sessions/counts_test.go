package sessions_test

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// A host that may not report any more is neither lost, nor is anything pending on it.
func TestRevokedHostsAreNotCounted(t *testing.T) {
	f := newFleet(t)
	h := f.enroll("web")
	id := h.key.Public().ID()
	f.assign(h, &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "r1", Absent: true, Until: time.Now().Add(time.Hour)})
	if c := f.sessions.Counts(); c.Pending != 1 {
		t.Errorf("%+v", c)
	}
	f.start(h)
	for deadline := time.Now().Add(2 * time.Minute); f.sessions.Counts().Connected != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", f.sessions.Counts())
		}
	}
	f.stop(h)
	f.assign(h, &trust.Assignment{Format: trust.AssignmentFormat, Site: "more", Revision: "r1", Absent: true, Until: time.Now().Add(time.Hour)})
	f.mu.Lock()
	delete(f.hosts, id)
	f.mu.Unlock()
	if c := f.sessions.Counts(); c.Connected+c.Silent+c.Lost+c.Pending+len(c.Loops) != 0 {
		t.Errorf("it is counted: %+v", c)
	}
}

package sessions_test

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/control"
)

// All agents that have said Hello are told that there is something, without their asking.
func TestWakeAll(t *testing.T) {
	f := newFleet(t)
	_, a := f.raw("web1")
	_, b := f.raw("web2")
	a.hello(0)
	b.hello(0)
	f.sessions.WakeAll(t.Context())
	answer[*control.Wake](a)
	answer[*control.Wake](b)
}

package web

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/sessions"
)

// TestHoldFits checks that a host which is on hold can be released and not held, and the other way round; where it is not known, it is one button that has the host say it.
func TestHoldFits(t *testing.T) {
	held := journal.HeldError{Hold: journal.Hold{Reason: "a new disk", Since: noon()}}
	loop := func(cause reconcile.Cause, reason string) *control.Loop {
		return &control.Loop{Site: "shop", Phase: control.PhaseBlocked, Cause: string(cause), Reason: reason}
	}
	for name, c := range map[string]struct {
		loop               *control.Loop
		now                any
		hold, release, ask bool
	}{
		"a loop that is blocked by a hold": {loop(reconcile.Obstacle, held.Error()), nil, false, true, false},
		"by another apply":                 {loop(reconcile.Obstacle, "another apply goes on"), nil, false, false, true},
		"by something that looks like one": {loop(reconcile.Unsuccess, held.Error()), nil, false, false, true},
		"no loop":                          {nil, nil, false, false, true},
		"a host that says that it is held": {nil, api.HostNow{Hold: &held.Hold}, false, true, false},
		"a host that says that it is not":  {loop(reconcile.Obstacle, held.Error()), api.HostNow{}, true, false, false},
		"a host that does not answer":      {nil, &api.Problem{Status: 504, Detail: "it does not answer"}, false, false, false},
	} {
		p, f := newHost(t, access.AllGrants())
		f.answers["/v1/hosts/"+hostID+"/status"] = api.HostStatus{ID: hostID, Name: "web7", Sites: map[string]*sessions.SiteStatus{"shop": {Loop: c.loop}}}
		path := "/hosts/web7"
		if c.now != nil {
			path += "?tab=now"
			f.answers["/v1/hosts/"+hostID+"/now"] = c.now
		}
		body := has(t, p, path)
		if hold, release, ask := strings.Contains(body, `href="/hosts/web7/hold"`), strings.Contains(body, `href="/hosts/web7/release"`), strings.Contains(body, ">Hold or release<"); hold != c.hold || release != c.release || ask != c.ask {
			t.Errorf("%s: hold is shown: %v, release: %v, the question: %v", name, hold, release, ask)
		}
	}
}

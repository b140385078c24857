package cli

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/source"
)

// What to do about a run of what is followed names its address, and tenet watch; of a folder that nobody follows any more it names that.
func TestNextOfFollowed(t *testing.T) {
	const address = "git::https://git.example/sites.git//shop?ref=main"
	for _, c := range []struct {
		origin, want string
		isLate       bool
	}{
		{"/var/lib/tenet/sources/" + followedName(address) + "/site", "if tenet watch runs: it goes on with " + address, false},
		{"/var/lib/tenet/sources/" + followedName(address) + "/site", "tenet watch --yes " + address + " goes on", true},
		{"/srv/shop", "tenet apply --resume 7", false},
	} {
		run := &journal.Status{Run: "7", State: journal.Interrupted, Site: "shop", Origin: c.origin}
		now := shownStatus{&machine.Status{Status: run, Failures: map[string]*machine.Failure{"shop": {Status: run, GoesOn: true}}, Followed: []source.Followed{{Address: address, Late: c.isLate}}}}
		got := strings.Join(now.next(), "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, "/sources/") {
			t.Errorf("of %s it says %q", c.origin, got)
		}
	}
}

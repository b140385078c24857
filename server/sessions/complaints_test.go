package sessions

import (
	"errors"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// A host that is wrong all the time is told of now and then, with how often it was; others are told of at once.
func TestComplaints(t *testing.T) {
	var c complaints
	now := time.Unix(1e9, 0)
	say := func(host string) string {
		if err := c.next(trust.ID(host), errors.New("it is wrong"), now); err != nil {
			return err.Error()
		}
		return ""
	}
	if got := say("a"); got != "it is wrong" {
		t.Errorf("at first it says %q", got)
	}
	for range 1000 {
		if got := say("a"); got != "" {
			t.Fatalf("a moment later it says %q", got)
		}
	}
	if got := say("b"); got != "it is wrong" {
		t.Errorf("of another host it says %q", got)
	}
	now = now.Add(complainEvery)
	if got := say("a"); got != "it is wrong (and 1000 like it since this was told last)" {
		t.Errorf("after a while it says %q", got)
	}
	now = now.Add(complainEvery)
	if got := say("a"); got != "it is wrong" {
		t.Errorf("after a while without others it says %q", got)
	}
}

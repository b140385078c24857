package sessions

import (
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

func TestClaimQueue(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	from := func(host, instance string) link.Address {
		return link.Address{Host: trust.ID(host), Instance: instance}
	}
	q := &claimQueue{}
	served := func(places int) (hosts []string) {
		q.grant(func(c *claimant) bool {
			if places--; places < 0 {
				return false
			}
			hosts = append(hosts, string(c.from.Host)+" "+c.claim.Session)
			return true
		})
		return hosts
	}
	for n, host := range []string{"a", "b", "c", "d", "e"} {
		q.put(from(host, "1"), &control.Claim{Session: "s1"}, at(n))
	}
	q.drop("d")
	q.renew(from("b", "1"), "s2")
	q.renew(from("e", "2"), "s2") // another process, which has claimed nothing
	if list := q.tell(at(10)); len(list) != 1 || list[0].from.Host != "a" || len(q.tell(at(10))) != 0 {
		t.Errorf("%+v are told to claim again", list)
	}
	if got := served(1); !slices.Equal(got, []string{"b s2"}) {
		t.Errorf("%q are served while the first one does not wait", got)
	}
	q.put(from("a", "1"), &control.Claim{Session: "s3"}, at(12)) // it has kept its place
	if got := served(5); !slices.Equal(got, []string{"a s3", "c s1"}) || len(served(5)) != 0 {
		t.Errorf("%q are served", got)
	}
	q.put(from("f", "1"), &control.Claim{}, at(20))
	q.tell(at(30))
	if q.tell(at(20 + 72)); len(q.order) != 0 {
		t.Errorf("a host that does not come back is kept: %+v", q.order)
	}
}

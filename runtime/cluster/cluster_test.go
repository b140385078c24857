package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
)

func memberOf(cluster string, members ...string) *journal.Membership {
	return &journal.Membership{Site: siteName, Membership: site.Membership{Name: cluster, Members: members}}
}

// A host that gave no answer, and of which nobody says that it is a member, gets nothing: were it back by its turn, it would lose what it has.
func TestAwayAndUnknown(t *testing.T) {
	bench := site.Cluster{Name: "bench", Hosts: []string{"a", "b", "c"}}
	l := Decide(siteName, bench, []Peer{{Name: "a", Of: memberOf("bench", "a", "b")}, {Name: "b", Of: memberOf("bench", "a", "b")}, {Name: "c", Away: "gone"}})
	if len(l.Waiting) > 0 || !slices.Equal(l.Joined, []string{"a", "b"}) || !strings.Contains(l.Blocks("c"), "gone") || l.Blocks("a") != "" {
		t.Errorf("%+v, and c: %q", l, l.Blocks("c"))
	}
}

// The record of a host that was away while the cluster was taken from the others deploys nothing.
func TestStaleRecord(t *testing.T) {
	bench := site.Cluster{Name: "bench", Hosts: []string{"a", "b", "c"}}
	l := Decide(siteName, bench, []Peer{{Name: "a"}, {Name: "b", Away: "gone"}, {Name: "c", Of: memberOf("bench", "a", "b", "c")}})
	if l.Deployed || len(l.Waiting) != 1 {
		t.Errorf("%+v", l)
	}
}

// A cluster that is deployed goes on without a newcomer that cannot join, and all others are told who is in it; one that is not lets go of
// those alone that it has claimed just now.
func TestJoin(t *testing.T) {
	bench := site.Cluster{Name: "bench", Hosts: []string{"a", "b", "c"}}
	var asked []string
	ask := func(names []string, m site.Membership, leaves bool) (map[string]Answer, error) {
		word := "claims"
		if len(m.Members) > 0 {
			word = "tells"
		}
		if leaves {
			word = "frees"
		}
		asked = append(asked, word+" "+strings.Join(names, " "))
		out := map[string]Answer{}
		for _, name := range names {
			out[name] = Answer{}
		}
		if !leaves {
			out["b"] = Answer{Was: memberOf("bench")}
			out["c"] = Answer{Err: errors.New("applies are on hold")}
		}
		return out, nil
	}
	l := Decide(siteName, bench, []Peer{{Name: "a", Of: memberOf("bench", "a")}, {Name: "b"}, {Name: "c"}})
	if err := l.Join(ask); err != nil || len(l.Waiting) > 0 || !slices.Equal(l.Joined, []string{"a", "b"}) || !strings.Contains(l.Blocks("c"), "on hold") {
		t.Errorf("%+v, %v", l, err)
	}
	if want := []string{"claims b c", "tells a b"}; !slices.Equal(asked, want) {
		t.Errorf("it %q", asked)
	}
	asked = nil
	l = Decide(siteName, bench, []Peer{{Name: "a"}, {Name: "b", Of: memberOf("bench")}, {Name: "c"}})
	if err := l.Join(ask); err != nil || len(l.Waiting) != 1 || l.Deployed {
		t.Errorf("%+v, %v", l, err)
	}
	if want := []string{"claims a b c", "frees a"}; !slices.Equal(asked, want) {
		t.Errorf("it %q", asked)
	}
}

// A cluster is healthy only with all of its members, and has failed only where all have.
func TestHealth(t *testing.T) {
	bench := site.Cluster{Name: "bench", Hosts: []string{"a", "b"}}
	peer := func(name, away string, run Run) Peer {
		return Peer{Name: name, Away: away, Of: memberOf("bench", "a", "b"), Run: run}
	}
	for name, c := range map[string]struct {
		peers   []Peer
		state   State
		healthy bool
	}{
		"well":       {[]Peer{peer("a", "", RunDone), peer("b", "", RunDone)}, Deployed, true},
		"one away":   {[]Peer{peer("a", "", RunDone), peer("b", "gone", RunNone)}, Deployed, false},
		"one failed": {[]Peer{peer("a", "", RunDone), peer("b", "", RunFailed)}, Deployed, false},
		"all failed": {[]Peer{peer("a", "", RunFailed), peer("b", "", RunFailed)}, Failed, false},
		"one runs":   {[]Peer{peer("a", "", RunDone), peer("b", "", RunActive)}, Deploying, false},
	} {
		if r := Tell(siteName, bench, c.peers); r.State != c.state || r.Healthy != c.healthy {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

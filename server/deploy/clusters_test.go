package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
)

// has tells of which cluster each of some hosts is a member, by what it was assigned last.
func (p *place) has(names ...string) (out string) {
	last := map[trust.ID]string{}
	for _, a := range p.assigned() {
		last[a.Host] = p.made[a.Identity]
	}
	for _, name := range names {
		out += fmt.Sprintf("%s[%s] ", name, last[p.id(name)])
	}
	return out
}

// cluster tells how a cluster stands.
func (p *place) cluster(siteName, name string) *cluster.Overview {
	p.t.Helper()
	list, err := p.Clusters(p.t.Context(), p.ann, ClusterFilter{Site: siteName})
	p.must(err)
	for _, r := range list {
		if r.Cluster == name {
			return r
		}
	}
	return &cluster.Overview{State: cluster.Undeployed}
}

func (p *place) expectCluster(siteName, name string, state cluster.State, healthy bool) *cluster.Overview {
	p.t.Helper()
	r := p.cluster(siteName, name)
	if r.State != state || r.Healthy != healthy {
		p.t.Fatalf("%s of %s is %+v, want %s, healthy: %t", name, siteName, r, state, healthy)
	}
	return r
}

func lab(name, content string, clusters ...site.Cluster) toySite {
	s := toySite{Name: name, Content: content, Rollout: &site.Rollout{}, Clusters: clusters}
	for _, c := range clusters {
		s.Hosts = append(s.Hosts, c.Hosts...)
	}
	return s
}

// A cluster is deployed once all of its members are there, by itself when the last one comes; one that is away then stays a member, and
// others get what is new. Taken away it leaves each host at its turn.
func TestClusters(t *testing.T) {
	p := newPlace(t, "a", "b", "c")
	bench := site.Cluster{Name: "bench", Hosts: []string{"a", "b", "c"}}
	p.away[p.id("c")] = p.now
	d := p.deploy(lab("lab", "one", bench), Request{})
	p.settle()
	p.expect(d.ID, Done, "")
	if r := p.expectCluster("lab", "bench", cluster.Waiting, false); len(r.Waiting) != 1 || r.Waiting[0] != "c (it is not connected)" {
		t.Errorf("it waits for %v", r.Waiting)
	}
	if got := p.has("a", "b", "c"); got != "a[] b[] c[] " {
		t.Fatalf("before all are there: %s", got)
	}
	for host, wanted := range map[string]int{"a": 1, "d": 0} {
		if list, err := p.Clusters(t.Context(), p.ann, ClusterFilter{Host: host}); err != nil || len(list) != wanted {
			t.Errorf("clusters of %s: %v, %v", host, list, err)
		}
	}
	delete(p.away, p.id("c"))
	p.settle()
	all := "bench: a b c"
	if got := p.has("a", "b", "c"); got != fmt.Sprintf("a[%s] b[%s] c[%s] ", all, all, all) {
		t.Fatalf("all are there: %s", got)
	}
	p.expectCluster("lab", "bench", cluster.Deployed, true)
	assigned := len(p.assigned())
	p.settle()
	if len(p.assigned()) != assigned {
		t.Error("it was sent again, and something has changed")
	}

	p.away[p.id("b")] = p.now
	d = p.deploy(lab("lab", "two", bench), Request{})
	p.settle()
	if got := len(p.assigned()); got != assigned+2 {
		t.Errorf("one is away, and %d of the others get what is new", got-assigned)
	}
	p.expectCluster("lab", "bench", cluster.Deployed, false)
	together := bench
	together.Together = true
	p.deploy(lab("lab", "three", together), Request{})
	p.settle()
	if got := len(p.assigned()); got != assigned+2 {
		t.Errorf("they are to be together, and %d get what is new", got-assigned-2)
	}
	if why := p.get(d.ID + 1).Hosts[0].Why; why.Code != CodeCluster || why.Ask == "" {
		t.Errorf("a waits: %+v", why)
	}
	delete(p.away, p.id("b"))
	p.settle()
	p.expectCluster("lab", "bench", cluster.Deployed, true)

	p.away[p.id("a")] = p.now
	_, err := p.Undeploy(t.Context(), p.ann, "lab", "bench", "it is over")
	p.must(err)
	p.settle()
	p.expectCluster("lab", "bench", cluster.Undeploying, false)
	if got := p.has("a", "b", "c"); got != "a["+all+"] b[] c[] " {
		t.Errorf("it is taken away: %s", got)
	}
	delete(p.away, p.id("a"))
	p.settle()
	p.expectCluster("lab", "bench", cluster.Undeployed, false)
	if got := p.has("a", "b", "c"); got != "a[] b[] c[] " {
		t.Errorf("all have had their turn: %s", got)
	}
	p.deploy(lab("lab", "four", bench), Request{})
	p.settle()
	p.expectCluster("lab", "bench", cluster.Deployed, true)
	if n := p.audited("cluster.deployed"); n < 3 {
		t.Errorf("the audit tells %d times that it is deployed", n)
	}
}

// A host is of one cluster at a time, whatever site declares it: who has asked first gets it. One that is revoked is no member any more.
func TestClustersOfSeveralSites(t *testing.T) {
	p := newPlace(t, "a", "b", "c")
	p.away[p.id("b")] = p.now
	p.deploy(lab("one", "x", site.Cluster{Name: "ab", Hosts: []string{"a", "b"}}), Request{})
	p.settle()
	p.now = p.now.Add(time.Minute)
	p.away[p.id("c")] = p.now
	p.deploy(lab("two", "x", site.Cluster{Name: "abc", Hosts: []string{"a", "b", "c"}}), Request{})
	p.settle()
	delete(p.away, p.id("b"))
	delete(p.away, p.id("c"))
	p.settle()
	p.expectCluster("one", "ab", cluster.Deployed, true)
	r := p.expectCluster("two", "abc", cluster.Waiting, false)
	if len(r.Waiting) != 2 || r.Peers[0].Membership != cluster.Blocked || r.Peers[0].By != "ab" {
		t.Errorf("the other one: %+v", r)
	}
	// Who may not read the one site learns nothing of it from the other, nor of hosts that are not theirs to see.
	some, err := access.ParseSelector("a")
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.Clusters(t.Context(), &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Read, Hosts: some, Site: "two"}}}, ClusterFilter{Site: "two"})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if text := fmt.Sprintf("%+v", *list[0]); strings.Contains(text, "cluster ab") || strings.Contains(text, "By:ab") || strings.Contains(text, "site one") || len(list[0].Peers) != 1 ||
		!slices.Equal(list[0].Waiting, []string{"a (it is a member of another cluster)", "another host"}) {
		t.Errorf("who may not read it sees %s", text)
	}
	p.deploy(lab("one", "y", site.Cluster{Name: "ab", Hosts: []string{"a", "b"}, Absent: true}), Request{})
	p.settle()
	p.expectCluster("one", "ab", cluster.Undeployed, false)
	p.expectCluster("two", "abc", cluster.Deployed, true)

	p.hosts[0].Locked, p.hosts[0].Revoked = "it is revoked", true
	p.settle()
	if r := p.cluster("two", "abc"); r.Healthy || r.Peers[0].Membership == cluster.IsMember {
		t.Errorf("one is revoked: %+v", r)
	}

	// Its name and its labels are a former host's: who could read that one does not read the present host of the name.
	former := p.hosts[0]
	former.Labels = map[string]string{"team": "old"}
	p.hosts[0] = former
	p.enroll("a")
	p.hosts[len(p.hosts)-1].Labels = map[string]string{"team": "new"}
	for team, want := range map[string]int{"old": 0, "new": 1} {
		grant, err := access.ParseSelector("team=" + team)
		p.must(err)
		list, err := p.Clusters(t.Context(), &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Read, Hosts: grant, Site: "two"}}}, ClusterFilter{})
		p.must(err)
		if len(list) != 1 || len(list[0].Peers) != want {
			t.Errorf("who reads hosts of the team %s sees %+v", team, list[0].Peers)
		}
	}
}

// A host goes from one cluster of a site to another by leaving first.
func TestHostChangesClusters(t *testing.T) {
	p := newPlace(t, "a", "b", "c")
	p.deploy(lab("lab", "x", site.Cluster{Name: "one", Hosts: []string{"a", "b"}}, site.Cluster{Name: "two", Hosts: []string{"c"}}), Request{})
	p.settle()
	if got := p.has("a", "b", "c"); got != "a[one: a b] b[one: a b] c[two: c] " {
		t.Fatal(got)
	}
	p.deploy(lab("lab", "x", site.Cluster{Name: "one", Hosts: []string{"a"}}, site.Cluster{Name: "two", Hosts: []string{"b", "c"}}), Request{})
	p.settle()
	if got := p.has("a", "b", "c"); got != "a[one: a] b[two: b c] c[two: b c] " {
		t.Error(got)
	}
	left := ""
	for _, a := range p.assigned() {
		if a.Host == p.id("b") {
			left += "[" + p.made[a.Identity] + "]"
		}
	}
	if left != "[][one: a b][][two: b c]" && left != "[one: a b][][two: b c]" {
		t.Errorf("b was %s", left)
	}
}

// A host of which nothing is wanted but what its cluster declares is no mistake, neither before it has joined nor after.
func TestNothingButACluster(t *testing.T) {
	p := newPlace(t, "a", "b")
	p.deploy(lab("lab", "", site.Cluster{Name: "bench", Hosts: []string{"a", "b"}}), Request{})
	p.settle()
	p.expectCluster("lab", "bench", cluster.Deployed, true)
	_, err := p.Undeploy(t.Context(), p.ann, "lab", "bench", "")
	p.must(err)
	p.settle()
	p.expectCluster("lab", "bench", cluster.Undeployed, false)
}

// A deployment for some hosts makes no others members; and nobody takes a cluster from hosts that they may not deploy to.
func TestClustersAndRights(t *testing.T) {
	p := newPlace(t, "a", "b")
	bench := lab("lab", "x", site.Cluster{Name: "bench", Hosts: []string{"a", "b"}})
	p.deploy(bench, Request{Hosts: "a"})
	p.settle()
	if r := p.expectCluster("lab", "bench", cluster.Waiting, false); len(r.Waiting) != 1 || r.Waiting[0] != "b (the deployment is not for it)" {
		t.Errorf("it waits for %v", r.Waiting)
	}
	p.deploy(bench, Request{})
	p.settle()
	p.expectCluster("lab", "bench", cluster.Deployed, true)
	nobody := &access.Caller{Name: "eve"}
	if _, err := p.Undeploy(t.Context(), nobody, "lab", "bench", ""); err == nil {
		t.Error("who has no grants takes it away")
	}
	if _, err := p.Clusters(t.Context(), nobody, ClusterFilter{Site: "lab"}); err == nil {
		t.Error("who has no grants sees it")
	}
	some, err := access.ParseSelector("a")
	if err != nil {
		t.Fatal(err)
	}
	carl := &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Deploy, Hosts: some, Site: "lab"}}}
	if _, err := p.Undeploy(t.Context(), carl, "lab", "bench", ""); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("who may deploy to some of its members takes it away: %v", err)
	}
	p.settle()
	p.expectCluster("lab", "bench", cluster.Deployed, true)
}

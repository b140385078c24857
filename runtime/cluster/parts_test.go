package cluster

import (
	"testing"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/states"
)

// The parts of a member are those of the cluster alone; one that has failed is what is missing, though its run went well.
func TestParts(t *testing.T) {
	bench := site.Cluster{Name: "bench", Hosts: []string{"a", "b"}}
	part := func(cluster, state string) states.PartReport {
		return states.PartReport{Address: "file.x", Cluster: cluster, Target: states.Present, State: state}
	}
	a := Peer{Name: "a", Of: memberOf("bench", "a", "b"), Run: RunDone, Parts: []states.PartReport{
		part("", states.PartError), part("other", states.PartPresent), part("bench", states.PartPresent), part("bench", states.PartDone), part("bench", states.PartError), part("bench", states.PartPending),
	}}
	b := Peer{Name: "b", Of: memberOf("other", "b"), Parts: []states.PartReport{part("bench", states.PartPresent)}}
	r := Tell(siteName, bench, []Peer{a, b})
	if p := r.Peers[0]; len(p.Parts) != 4 || p.Missing != "1 of 4 parts failed" || len(p.Unsettled()) != 2 {
		t.Errorf("%+v", p)
	}
	if p := r.Peers[1]; len(p.Parts) != 0 {
		t.Errorf("a member of another cluster has parts of this one: %+v", p)
	}
}

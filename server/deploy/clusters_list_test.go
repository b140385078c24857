package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/states"
)

// names lists clusters.
func (p *place) names(by *access.Caller, f ClusterFilter) (out []string) {
	p.t.Helper()
	list, err := p.Clusters(p.t.Context(), by, f)
	p.must(err)
	for _, o := range list {
		out = append(out, o.Site+"/"+o.Cluster)
	}
	return out
}

// A list of clusters goes on where a page ends, with the same filters, and pages are full as long as there are clusters that fit.
func TestPagesOfClusters(t *testing.T) {
	p := newPlace(t, "a", "b", "c", "d", "e")
	p.deploy(lab("north", "x", site.Cluster{Name: "one", Hosts: []string{"a"}}, site.Cluster{Name: "two", Hosts: []string{"b"}}), Request{})
	p.deploy(lab("south", "x", site.Cluster{Name: "one", Hosts: []string{"c"}}, site.Cluster{Name: "three", Hosts: []string{"d"}}, site.Cluster{Name: "two", Hosts: []string{"e"}}), Request{})
	p.settle()
	south := &access.Caller{Name: "carl", Grants: []access.Grant{{Verb: access.Read, Site: "south"}}}
	for _, c := range []struct {
		by   *access.Caller
		f    ClusterFilter
		want string
	}{
		{p.ann, ClusterFilter{}, "north/one north/two south/one south/three south/two"},
		{p.ann, ClusterFilter{Site: "south"}, "south/one south/three south/two"},
		{p.ann, ClusterFilter{Name: "one"}, "north/one south/one"},
		{p.ann, ClusterFilter{Site: "north", Name: "two"}, "north/two"},
		{p.ann, ClusterFilter{Host: "d"}, "south/three"},
		{p.ann, ClusterFilter{Fits: func(o *cluster.Overview) bool { return strings.HasPrefix(o.Cluster, "t") }}, "north/two south/three south/two"},
		{south, ClusterFilter{}, "south/one south/three south/two"},
	} {
		want := strings.Fields(c.want)
		for limit := range 7 {
			var got []string
			for f := c.f; ; {
				f.Limit = limit
				page := p.names(c.by, f)
				if got = append(got, page...); limit == 0 || len(page) < limit || len(got) > len(want) {
					break
				}
				site, name, _ := strings.Cut(page[limit-1], "/")
				f.After = ClusterPlace{Site: site, Name: name}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %+v, by %d: %v, want %v", c.by.Name, c.f, limit, got, want)
			}
		}
	}
}

// What members have by their clusters is asked for at once, and each part stands with its own host and cluster.
func TestPartsOfClusters(t *testing.T) {
	p := newPlace(t, "a", "b", "c", "d")
	p.away[p.id("d")] = p.now
	p.deploy(lab("lab", "x", site.Cluster{Name: "one", Hosts: []string{"a", "b"}}, site.Cluster{Name: "two", Hosts: []string{"c"}}, site.Cluster{Name: "away", Hosts: []string{"d"}}), Request{})
	p.settle()
	asked := 0
	p.Reports = func(_ context.Context, of map[string][]trust.ID, each func(string, trust.ID, *states.Report)) error {
		if asked++; len(of) != 1 || len(of["lab"]) != 3 { // who waits is no member
			t.Errorf("it asks for %v", of)
		}
		for _, id := range slices.Concat(of["lab"], of["lab"]) { // more than once
			part := func(of, state string) states.PartReport {
				return states.PartReport{Address: "file." + string(id) + of, Cluster: of, State: state}
			}
			each("lab", id, &states.Report{Parts: []states.PartReport{part("", states.PartDone), part("one", states.PartError), part("two", states.PartDone)}})
		}
		return nil
	}
	got := ""
	list, err := p.Clusters(t.Context(), p.ann, ClusterFilter{})
	p.must(err)
	for _, o := range list {
		for _, peer := range o.Peers {
			got += fmt.Sprintf("%s of %s: %d, %s; ", peer.Host, o.Cluster, len(peer.Parts), peer.Missing)
			if len(peer.Parts) > 0 && peer.Parts[0].Address != "file."+string(p.id(peer.Host))+o.Cluster {
				t.Errorf("%s has %s", peer.Host, peer.Parts[0].Address)
			}
		}
	}
	if got != "d of away: 0, it is not connected; a of one: 1, 1 of 1 parts failed; b of one: 1, 1 of 1 parts failed; c of two: 1, ; " || asked != 1 {
		t.Errorf("asked %d times, it tells %s", asked, got)
	}
	if list, err = p.Clusters(t.Context(), p.ann, ClusterFilter{NoParts: true}); err != nil || asked != 1 || len(list) != 3 || len(list[1].Peers[0].Parts) != 0 {
		t.Errorf("without parts: %v, asked %d times: %+v", err, asked, list)
	}
}

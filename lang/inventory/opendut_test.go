package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang/diag"
)

// peer is a descriptor of a peer with one device.
func peer(n int, name string) string {
	return fmt.Sprintf("version: v1\nkind: PeerDescriptor\nmetadata: {id: p%[1]d, name: %[2]s}\nspec:\n  network: {interfaces: [{id: i%[1]d, name: eth1, kind: Ethernet}]}\n"+
		"  topology: {devices: [{id: d%[1]d, name: ecu, interface-id: i%[1]d}]}\n", n, name)
}

func clusterOf(name, leader string, devices ...string) string {
	return fmt.Sprintf("version: v1\nkind: ClusterDescriptor\nmetadata: {id: %s-id, name: %s}\nspec: {leader-id: %s, devices: [%s]}\n", name, name, leader, strings.Join(devices, ", "))
}

// The members of a cluster are those that have its devices, whichever file tells of them first; it is deployed if a document says so.
func TestReadPeers(t *testing.T) {
	inv, list := ReadPeers(fstest.MapFS{
		"lab/a.yml":    {Data: []byte(clusterOf("bench", "p2", "d2", "d1") + "---\n" + clusterOf("spare", "p3", "d3"))},
		"lab/b.yaml":   {Data: []byte(strings.Replace(peer(1, "edge1"), "Ethernet", "vCAN", 1) + "---\n---\n" + peer(2, "edge2") + "---\n" + peer(3, "edge3"))},
		"lab/c.json":   {Data: []byte(`{"version": "v1", "kind": "ClusterDeployment", "metadata": {"id": "bench-id"}}`)},
		"lab/.hidden":  {Data: []byte("x")},
		"lab/notes.md": {Data: []byte("x")},
	}, "lab")
	if len(list) > 0 {
		t.Fatal(list)
	}
	var got []string
	for _, c := range inv.Clusters {
		got = append(got, fmt.Sprint(c.Name, c.Leader, c.Hosts, c.Deployed))
	}
	if want := []string{"benchedge2[edge1 edge2] true", "spareedge3[edge3] false"}; !slices.Equal(got, want) {
		t.Errorf("clusters are %q", got)
	}
	for i, want := range []string{"[d1] true", "[d2] false", "[d3] false"} {
		h := inv.Hosts[i]
		if got := fmt.Sprint(h.Levels[0].Items[0].Value, " ", h.Labels["can"]); got != want {
			t.Errorf("%s has %s, want %s", h.Name, got, want)
		}
	}
	h := inv.Hosts[1]
	if h.Name != "edge2" || h.Labels["id"] != "p2" || !slices.Equal(h.Groups, []string{"bench"}) || len(h.Levels) != 2 || h.Levels[1].Items[0].Name != "peer" || fmt.Sprint(h.Levels[0].Items[0].Value) != "[d2]" {
		t.Errorf("the host is %+v", h)
	}
}

// What is wrong with descriptors is told with its line, all of it at once, and with what to do.
func TestReadPeersRefuses(t *testing.T) {
	one := peer(1, "edge1")
	for name, c := range map[string]struct{ text, want string }{
		"version":    {strings.Replace(one, "v1", "v2", 1), `lab.yml:1:10: the version "v2"`},
		"kind":       {strings.Replace(one, "PeerD", "PierD", 1), `lab.yml:2:7: there is no descriptor of the kind "PierDescriptor"`},
		"no kind":    {"version: v1\n", "lab.yml:1:1: it has no kind"},
		"a list":     {"- version: v1\n", "lab.yml:1:1: a descriptor is an object"},
		"no YAML":    {"a: [1\n", "this is no YAML"},
		"name":       {strings.Replace(one, "edge1", "../x", 1), `"../x" is no name for a host`},
		"twice":      {one + "---\n" + peer(2, "edge1"), `lab.yml:10:26: the peer "edge1" is described twice`},
		"id twice":   {one + "---\n" + strings.ReplaceAll(peer(2, "edge2"), "d2", "d1"), `the id "d1" is given twice`},
		"interface":  {strings.Replace(one, "interface-id: i1", "interface-id: i9", 1), `the peer edge1 has no interface with the id "i9"`},
		"ethernet":   {strings.Replace(one, "Ethernet", "Token Ring", 1), `there is no interface of the kind "Token Ring"`},
		"device":     {one + "---\n" + clusterOf("bench", "p1", "d1", "d9"), `lab.yml:11:37: no peer has the device "d9" of the cluster bench`},
		"cluster":    {one + "---\n" + strings.Replace(clusterOf("bench", "p1", "d1"), "name: bench", "name: a b", 1), `"a b" is no name for a cluster`},
		"leader":     {one + "---\n" + clusterOf("bench", "p9", "d1"), `no peer has the id "p9" of the leader of bench`},
		"outsider":   {one + "---\n" + peer(2, "edge2") + "---\n" + clusterOf("bench", "p2", "d1"), "edge2 leads the cluster bench, which has none of its devices"},
		"empty":      {one + "---\n" + clusterOf("bench", "p1"), `the cluster "bench" has no devices`},
		"deployed":   {one + "---\nversion: v1\nkind: ClusterDeployment\nmetadata: {id: other}\n", `there is no cluster "other", which is deployed`},
		"executor":   {one + "  executors: [{kind: Container, parameters: {image: x}}]\n", "lab.yml:7:15: it has no id"},
		"its id":     {one + "  executors: [{id: d1, kind: Container, parameters: {image: x}}]\n", `lab.yml:7:20: the id "d1" is given twice`},
		"its kind":   {one + "  executors: [{id: e1, kind: Kontainer, parameters: {image: x}}]\n", `lab.yml:7:30: there is no executor of the kind "Kontainer"`},
		"no kind of": {one + "  executors: [{id: e1, image: x}]\n", "lab.yml:7:15: it has no kind"},
		"program":    {one + "  executors: [{id: e1, kind: executable, parameters: {image: x}}]\n", `lab.yml:7:30: executors of the kind "executable" are not carried out`},
		"image":      {one + "  executors:\n    - id: e1\n      kind: container\n      parameters: {name: x}\n", "lab.yml:10:19: it has no image"},
		"a word":     {one + "  executors: [nmap]\n", "lab.yml:7:15: an executor is an object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, list := ReadPeers(fstest.MapFS{"lab.yml": {Data: []byte(c.text)}}, "lab.yml")
			i := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Error(), c.want) })
			if i < 0 || list[i].Hint == "" {
				t.Errorf("said was %v", list)
			}
		})
	}
	if _, list := ReadPeers(fstest.MapFS{}, "lab.yml"); !list.HasErrors() {
		t.Error("what is not there is read")
	}
}

func FuzzPeers(f *testing.F) {
	f.Add([]byte(peer(1, "edge1") + "  executors: [{id: e1, kind: Container, parameters: {image: x}}, {}]\n"))
	f.Add([]byte(peer(1, "edge1") + "---\n" + clusterOf("bench", "p1", "d1")))
	f.Add([]byte("version: v1\nkind: ClusterDeployment\nmetadata: {name: bench}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		inv, list := ReadPeers(fstest.MapFS{"lab.yml": {Data: data}}, "lab.yml")
		for _, c := range inv.Clusters {
			if len(c.Hosts) == 0 && !list.HasErrors() {
				t.Errorf("the cluster %q has no hosts, and nothing is said", c.Name)
			}
		}
	})
}

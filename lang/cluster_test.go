package lang_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	langsite "github.com/tenetcm/tenet/lang/site"
)

const clusterSite = `
site {
  name = "lab"
}
host "a" {}
host "b" {
  roles = ["shared"]
}
host "c" {}
cluster "bench" {
  hosts  = "a,b,c"
  leader = "a"
  roles  = ["bench", "shared"]
}
role "bench" {
  file "/bench" {
    content = join(" ", host.cluster.members)
  }
  component "inner" {
    source = "./inner"
  }
}
role "shared" {
  file "/shared" {
    content = "x"
  }
}
file "/alone" {
  content = host.cluster == null ? "alone" : "together"
}
`

// A host has what a cluster declares once it has joined, is told of those who have, and knows what of it is the cluster's alone.
func TestCluster(t *testing.T) {
	files := fstest.MapFS{"site.hcl": {Data: []byte(clusterSite)}, "inner/main.hcl": {Data: []byte("file \"/inner\" {\n  content = \"x\"\n}\n")}}
	for _, c := range []struct {
		host    string
		joined  map[string][]string
		alone   string   // the content of /alone
		members []string // nil: it has joined nothing
		own     []string // what goes with the cluster
	}{
		{"a", nil, "together", []string{"a", "b", "c"}, []string{"component.inner", `component.inner.file["/inner"]`, `file["/bench"]`, `file["/shared"]`}},
		{"b", map[string][]string{"bench": {"b", "a"}}, "together", []string{"a", "b"}, []string{"component.inner", `component.inner.file["/inner"]`, `file["/bench"]`}},
		{"c", map[string][]string{"bench": {"b", "a"}}, "alone", nil, nil},
		{"b", map[string][]string{}, "alone", nil, nil},
	} {
		p := loadSite(t, files)
		d, list := p.Evaluate(t.Context(), lang.Target{Host: c.host, Clusters: c.joined})
		if len(list) > 0 {
			t.Fatal(list)
		}
		var own []string
		has := map[string]bool{}
		for _, one := range d.List {
			has[one.Address] = true
			if one.Cluster == "bench" {
				own = append(own, one.Address)
			}
			if one.Address == `file["/alone"]` {
				if got := one.Parts[0].Values["content"]; got != c.alone {
					t.Errorf("%s with %v: %v", c.host, c.joined, got)
				}
			}
		}
		slices.Sort(own)
		if !slices.Equal(own, c.own) {
			t.Errorf("%s with %v has of the cluster %v", c.host, c.joined, own)
		}
		if has[`file["/shared"]`] != (c.host == "b" || c.members != nil) {
			t.Errorf("%s with %v has %v", c.host, c.joined, has)
		}
		if (d.Cluster == nil) != (c.members == nil) || d.Cluster != nil && (!slices.Equal(d.Cluster.Members, c.members) || d.Cluster.Leader != "a") {
			t.Errorf("%s with %v is told of %+v", c.host, c.joined, d.Cluster)
		}
	}
	clusters, list := loadSite(t, files).Clusters(t.Context(), lang.Target{})
	if len(list) > 0 || len(clusters) != 1 || !slices.Equal(clusters[0].Hosts, []string{"a", "b", "c"}) || clusters[0].Leader != "a" || clusters[0].Absent {
		t.Errorf("%+v %v", clusters, list)
	}
}

// A member of a cluster does not go back by itself to what worked last; others do.
func TestClusterDoesNotRevert(t *testing.T) {
	site := loadSite(t, fstest.MapFS{"site.hcl": {Data: []byte(`
site {
  name = "lab"
  reconcile {
    on_failure = "revert"
  }
}
host "a" {}
host "b" {}
cluster "bench" {
  hosts = "a"
}
`)}})
	for host, want := range map[string]langsite.OnFailure{"a": "help", "b": "revert"} {
		d, list := site.Evaluate(t.Context(), lang.Target{Host: host})
		if len(list) > 0 || d.Reconcile == nil || d.Reconcile.OnFailure != want {
			t.Errorf("%s: %+v, %v", host, d.Reconcile, list)
		}
	}
}

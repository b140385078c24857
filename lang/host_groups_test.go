package lang_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
)

// At equal priority the inner group counts, whatever its name; a higher priority counts
// more than that.
func TestGroupsWithinGroups(t *testing.T) {
	got := bothLanguages(t, `
host "eu1" {}
host "eu-test" {}
host "us1" {}
host_group "edge" {
  hosts = ["@a", "@us"]
  user  = "edge"
  roles = ["outer"]
  vars  = { port = 443 }
}
host_group "a" {
  hosts = "eu*,!@test"
  user  = "eu"
  roles = ["inner"]
  vars  = { port = 8443 }
}
host_group "us" {
  hosts    = "us*"
  priority = -1
  vars     = { port = 1 }
}
host_group "test" {
  hosts = "*-test"
}
host_group "rest" {
  hosts = "!@edge"
}
role "outer" {}
role "inner" {}
variable "port" {
  default = 0
}
`, `
[host(name) for name in ["eu1", "eu-test", "us1"]]
host_group("edge", hosts = ["@a", "@us"], user = "edge", roles = ["outer"], vars = {"port": 443})
host_group("a", hosts = "eu*,!@test", user = "eu", roles = ["inner"], vars = {"port": 8443})
host_group("us", hosts = "us*", priority = -1, vars = {"port": 1})
host_group("test", hosts = "*-test")
host_group("rest", hosts = "!@edge")
role("outer", [])
role("inner", [])
variable("port", default = 0)
`, func(s *lang.Site) (any, diag.List) {
		hosts, _, list := s.Hosts(t.Context(), lang.Target{})
		var out []string
		for _, h := range hosts {
			vars, more := s.Variables(t.Context(), lang.Target{Host: h.Name})
			list = append(list, more...)
			out = append(out, fmt.Sprint(h.Name, h.Groups, h.User, h.Roles, vars[0].Value))
		}
		return out, list
	})
	want := `["eu1[edge a]eu[outer inner]8443","eu-test[rest test][]0","us1[us edge]edge[outer]443"]`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// randomGroup is a group that names hosts and groups before it in a random order of names.
type randomGroup struct {
	name          string
	priority      int
	with, without []string
}

func (g randomGroup) contains(host string, all map[string]randomGroup) bool {
	fits := func(term string) bool {
		if name, ok := strings.CutPrefix(term, "@"); ok {
			return all[name].contains(host, all)
		}
		ok, _ := path.Match(term, host)
		return ok
	}
	if len(g.with)+len(g.without) == 0 || len(g.with) > 0 && !slices.ContainsFunc(g.with, fits) {
		return false
	}
	return !slices.ContainsFunc(g.without, fits)
}

// isWithin reports whether a group is within another.
func (g randomGroup) isWithin(outer randomGroup, all map[string]randomGroup) bool {
	for _, term := range outer.with {
		if name, ok := strings.CutPrefix(term, "@"); ok && (name == g.name || g.isWithin(all[name], all)) {
			return true
		}
	}
	return false
}

// Groups hold whom their patterns name, however they name each other, and come in the order
// of their precedence; groups that name each other in a cycle are an error.
func TestGroupPatterns(t *testing.T) {
	hosts := []string{"web1", "web2", "db1", "eu-db2"}
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.Permutation([]string{"a", "b", "c", "d", "e"}).Draw(rt, "names")
		all := map[string]randomGroup{}
		var text strings.Builder
		for i, name := range names {
			terms := append([]string{"web*", "*1", "db1", "*"}, hosts...)
			for _, other := range names[:i] {
				terms = append(terms, "@"+other, "@"+other, "@"+other)
			}
			draw := func(label string) []string { return rapid.SliceOfN(rapid.SampledFrom(terms), 0, 2).Draw(rt, label) }
			g := randomGroup{name, rapid.IntRange(0, 1).Draw(rt, "priority"), draw("with"), draw("without")}
			all[name] = g
			written := slices.Clone(g.with)
			for _, term := range g.without {
				written = append(written, "!"+term)
			}
			if len(written) > 0 && rapid.Bool().Draw(rt, "one text") {
				written = []string{strings.Join(written, ",")}
			}
			fmt.Fprintf(&text, "host_group %q {\n  priority = %d\n  hosts = [", name, g.priority)
			for _, term := range rapid.Permutation(written).Draw(rt, "order") {
				fmt.Fprintf(&text, "%q, ", term)
			}
			text.WriteString("]\n}\n")
		}
		cyclic := rapid.IntRange(0, 9).Draw(rt, "cyclic") == 0
		blocks := strings.SplitAfter(text.String(), "\n}\n")
		if cyclic {
			blocks = append(blocks, "host_group \"x\" {\n  hosts = [\"@y\"]\n}\n", "host_group \"y\" {\n  hosts = \"*,!@x\"\n}\n")
		}
		source := strings.Join(rapid.Permutation(blocks).Draw(rt, "blocks"), "")
		for _, name := range hosts {
			source += fmt.Sprintf("host %q {}\n", name)
		}
		site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(source)}}, lang.Options{Registry: registry()})
		if len(list) > 0 {
			rt.Fatal(list.Error())
		}
		found, _, list := site.Hosts(rt.Context(), lang.Target{})
		if cyclic != strings.Contains(list.Error(), "name each other") || list.HasErrors() != cyclic {
			rt.Fatalf("cyclic: %v, and it says %q", cyclic, list.Error())
		}
		if cyclic {
			return
		}
		for _, h := range found {
			for name, g := range all {
				if in := slices.Contains(h.Groups, name); in != g.contains(h.Name, all) {
					rt.Fatalf("%s is in %v; %s says %v\n%s", h.Name, h.Groups, name, !in, source)
				}
			}
			for i, low := range h.Groups {
				for _, high := range h.Groups[i+1:] {
					a, b := all[low], all[high]
					if a.priority > b.priority || a.priority == b.priority && a.isWithin(b, all) {
						rt.Fatalf("%s comes before %s\n%s", low, high, source)
					}
				}
			}
		}
	})
}

// Hosts are evaluated once for many targets, as long as the variables that they use are the
// same.
func TestHostsFollowVariables(t *testing.T) {
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(`
variable "count" {
  type    = number
  default = 1
}
locals {
  names = [for i in range(var.count) : "web${i}"]
}
host "web" {
  for_each = local.names
}
file "/etc/hosts.list" {
  content = join(",", hosts("*")[*].name)
}
`)}}, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list.Error())
	}
	for _, count := range []int{1, 3, 3, 2} {
		target := lang.Target{Host: "web0", Vars: []lang.Var{{Name: "count", Value: fmt.Sprint(count)}}}
		hosts, _, list := site.Hosts(t.Context(), target)
		d, more := site.Evaluate(t.Context(), target)
		if list = append(list, more...); len(list) > 0 || len(hosts) != count {
			t.Fatalf("%d hosts, wanted %d: %v", len(hosts), count, list)
		}
		if got := fmt.Sprint(d.List[0].Parts[0]); strings.Count(got, "web") != count {
			t.Errorf("%d hosts are listed as %s", count, got)
		}
	}
}

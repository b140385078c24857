package lang_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang"
)

// askedFacts answers for facts, and notes what it is asked.
type askedFacts struct {
	silent []string
	rounds [][]lang.HostFact
}

func (a *askedFacts) ask(_ context.Context, wanted []lang.HostFact) map[lang.HostFact]lang.HostFactValue {
	a.rounds = append(a.rounds, wanted)
	answers := map[lang.HostFact]lang.HostFactValue{}
	for _, w := range wanted {
		answers[w] = lang.HostFactValue{Value: w.Name + " of " + w.Host}
		if slices.Contains(a.silent, w.Host) {
			answers[w] = lang.HostFactValue{Err: errors.New("it did not answer")}
		}
	}
	return answers
}

// all lists what it was asked, and how often anything was asked.
func (a *askedFacts) all() (names map[string]int) {
	names = map[string]int{}
	for _, r := range a.rounds {
		for _, w := range r {
			names[w.Host+"."+w.Name]++
		}
	}
	return names
}

func loadSite(t interface{ Fatal(...any) }, files fstest.MapFS) *lang.Site {
	site, list := lang.Load(files, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list.Error())
	}
	return site
}

// All facts that a site names of hosts, wherever and by whichever way, are asked for in one go, and no others:
// only what depends on a fact takes another. Hosts that come later ask for nothing that is known.
func TestFactsOfHostsAreAskedTogether(t *testing.T) {
	site := loadSite(t, fstest.MapFS{"site.hcl": {Data: []byte(`
host "web" {
  for_each = toset(["1", "2", "3"])
  name     = "web${each.key}"
}
host "db1" {}
host "db2" {}
variable "peer" {
  default = "db2"
}
locals {
  webs  = hosts("web*")
  lines = join("\n", [for h in local.webs : "${h.facts.ipv4} ${h.facts.fqdn}"])
}
file "/etc/lines" {
  content = local.lines
}
file "/etc/peer" {
  content = try(hosts(var.peer)[0].facts.ipv4, "none")
}
file "/etc/by" {
  for_each = toset(["web1", "web2"])
  path     = "/etc/by-${each.key}"
  content  = hosts(each.key)[0].facts.arch
}
file "/etc/splat" {
  content = jsonencode(hosts("web*")[*].facts.fqdn)
}
file "/etc/then" {
  content = hosts(hosts("web1")[0].facts.ipv4 == "ipv4 of web1" ? "web3" : "web2")[0].facts.kernel
}
`)}})
	asked := &askedFacts{}
	target := lang.Target{HostFacts: lang.NewHostFacts(asked.ask)}
	for _, host := range []string{"web2", "db1", "web1"} {
		target.Host = host
		d, list := site.Evaluate(t.Context(), target)
		if len(list) > 0 {
			t.Fatal(list.Error())
		}
		for path, want := range map[string]string{
			"/etc/lines":   "ipv4 of web1 fqdn of web1\nipv4 of web2 fqdn of web2\nipv4 of web3 fqdn of web3",
			"/etc/peer":    "ipv4 of db2",
			"/etc/by-web2": "arch of web2",
			"/etc/splat":   `["fqdn of web1","fqdn of web2","fqdn of web3"]`,
			"/etc/then":    "kernel of web3",
		} {
			if got := contentOf(d.List, path); got != want {
				t.Errorf("%s on %s: %s", path, host, got)
			}
		}
	}
	names := asked.all()
	if len(asked.rounds) != 2 || len(asked.rounds[1]) != 1 || len(names) != 10 {
		t.Errorf("what was asked: %v", asked.rounds)
	}
}

// A script has to know a fact at once: those of all hosts of a list are asked for with the first.
func TestScriptsAskForFactsOfListedHosts(t *testing.T) {
	site := loadSite(t, fstest.MapFS{"site.star": {Data: []byte(`
for i in range(4):
    host("web%d" % i)
host("db1")
text = ""
for h in hosts("web*,!web3"):
    if h.facts.ipv4.startswith("ipv4"):
        text += "%s %s\n" % (h.facts.ipv4, h["facts"]["arch"])
file("/etc/all", content = text)
file("/etc/now", content = hosts("db1", {"facts": "now"})[0].facts.ipv4)
`)}})
	asked := &askedFacts{}
	d, list := site.Evaluate(t.Context(), lang.Target{Host: "web1", HostFacts: lang.NewHostFacts(asked.ask)})
	if len(list) > 0 {
		t.Fatal(list.Error())
	}
	if got, want := contentOf(d.List, "/etc/all"), "ipv4 of web0 arch of web0\nipv4 of web1 arch of web1\nipv4 of web2 arch of web2\n"; got != want {
		t.Error(got)
	}
	if contentOf(d.List, "/etc/now") != "ipv4 of db1" || len(asked.rounds) != 3 || !asked.rounds[2][0].IsNow || len(asked.all()) != 7 {
		t.Errorf("what was asked: %v", asked.rounds)
	}
}

// Whatever a site names of whichever hosts, in HCL and in Starlark: it reads that fact of that host, in HCL nothing
// else is asked for, and nothing twice; a host without an answer is an error if, and only if, it is read.
func TestFactsOfHostsAreThoseOfTheHost(t *testing.T) {
	hosts, facts := []string{"h0", "h1", "h2", "h3"}, []string{"ipv4", "arch", "os"}
	rapid.Check(t, func(rt *rapid.T) {
		var hcl, star, want strings.Builder
		named := map[string]bool{}
		for _, name := range hosts {
			fmt.Fprintf(&hcl, "host %q {}\n", name)
			fmt.Fprintf(&star, "host(%q)\n", name)
		}
		silent := rapid.SampledFrom(append([]string{""}, hosts...)).Draw(rt, "silent")
		fails := false
		for i := range rapid.IntRange(1, 4).Draw(rt, "files") {
			of := rapid.SliceOfNDistinct(rapid.SampledFrom(hosts), 1, len(hosts), rapid.ID[string]).Draw(rt, "of")
			fact := rapid.SampledFrom(facts).Draw(rt, "fact")
			now := rapid.Bool().Draw(rt, "now")
			call := fmt.Sprintf("hosts(%q)", strings.Join(of, ","))
			inStar := call
			if now {
				call = fmt.Sprintf("hosts(%q, { facts = \"now\" })", strings.Join(of, ","))
				inStar = fmt.Sprintf("hosts(%q, {\"facts\": \"now\"})", strings.Join(of, ","))
			}
			fmt.Fprintf(&hcl, "file \"/etc/%d\" {\n  content = jsonencode({ for h in %s : h.name => h.facts.%s })\n}\n", i, call, fact)
			fmt.Fprintf(&star, "file(\"/etc/%d\", content = jsonencode({h.name: h.facts.%s for h in %s}))\n", i, fact, inStar)
			var pairs []string
			for _, name := range hosts {
				if slices.Contains(of, name) {
					named[fmt.Sprint(name, ".", fact, now)] = true
					pairs = append(pairs, fmt.Sprintf("%q:%q", name, fact+" of "+name))
					fails = fails || name == silent
				}
			}
			fmt.Fprintf(&want, "/etc/%d {%s}\n", i, strings.Join(pairs, ","))
		}
		for kind, files := range map[string]fstest.MapFS{"hcl": {"site.hcl": {Data: []byte(hcl.String())}}, "star": {"site.star": {Data: []byte(star.String())}}} {
			site := loadSite(rt, files)
			asked := &askedFacts{silent: []string{silent}}
			target := lang.Target{HostFacts: lang.NewHostFacts(asked.ask)}
			for _, target.Host = range hosts {
				d, list := site.Evaluate(rt.Context(), target)
				if list.HasErrors() != fails {
					rt.Fatalf("%s, %s is silent: %v", kind, silent, list.Err())
				}
				got := ""
				if !fails {
					for i := range d.List {
						got += fmt.Sprintf("%s %v\n", d.List[i].Parts[0].Key, d.List[i].Parts[0].Values["content"])
					}
					if got != want.String() {
						rt.Fatalf("%s:\n%s%s", kind, got, want.String())
					}
				}
			}
			seen := map[string]bool{}
			for _, r := range asked.rounds {
				for _, w := range r {
					key := fmt.Sprint(w.Host, ".", w.Name, w.IsNow)
					if seen[key] || !named[key] {
						rt.Fatalf("%s: %s is asked for, and was %v", kind, key, seen)
					}
					seen[key] = true
				}
			}
			if len(seen) != len(named) && !(kind == "star" && fails) {
				rt.Fatalf("%s: asked for %v of %v", kind, seen, named)
			}
		}
	})
}

// What facts of all hosts cost a host does not grow with the number of hosts, once they are known.
func TestFactsOfHostsCostOnce(t *testing.T) {
	work := func(n int) float64 {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "host \"web%d\" {}\n", i)
		}
		for i := range 100 {
			fmt.Fprintf(&text, "file \"/etc/%d\" {\n  content = length(join(\",\", [for h in hosts(\"*\") : h.facts.ipv4]))\n}\n", i)
		}
		site := loadSite(t, fstest.MapFS{"site.hcl": {Data: []byte(text.String())}})
		asked := &askedFacts{}
		target := lang.Target{Host: "web7", HostFacts: lang.NewHostFacts(asked.ask)}
		return testing.AllocsPerRun(3, func() {
			if d, list := site.Evaluate(context.Background(), target); len(list) > 0 || len(d.List) != 100 || len(asked.rounds) != 1 {
				t.Fatal(list.Error())
			}
		})
	}
	few, many := work(10), work(510)
	if grown := many - few; grown > 5*500 {
		t.Errorf("with 500 hosts more, a host's evaluation allocates %.0f times more (%.0f, %.0f)", grown, few, many)
	}
}

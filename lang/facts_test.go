package lang_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/stdlib"
)

// asks demands that all facts that an evaluation asks for are announced, and
// gives how many it has asked for.
func asks(t *testing.T, what string, files fs.FS, targets ...lang.Target) int {
	t.Helper()
	site, _ := lang.Load(files, lang.Options{Registry: modules.Standard(), Standard: stdlib.FS})
	announced := site.FactNames()
	asked := 0
	for _, target := range targets {
		facts := target.Facts
		target.Facts = func(name string) (any, error) {
			asked++
			if !slices.Contains(announced, name) && announced[0] != lang.AllFacts {
				t.Errorf("%s asks for the fact %s, and announces %q", what, name, announced)
			}
			return facts(name)
		}
		site.Evaluate(t.Context(), target)
	}
	return asked
}

func TestFactNamesHoldAllThatAreAsked(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, pattern := range []string{"pairs", "mistakes"} {
		names, err := filepath.Glob("../testdata/lang/" + pattern + "/*.txtar")
		if err != nil || len(names) < 50 {
			t.Fatalf("%d archives, %v", len(names), err)
		}
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(filepath.Dir(name)) == "pairs" {
				p := readPair(t, a)
				asked += asks(t, name, p.hcl, p.targets...) + asks(t, name, p.star, p.targets...)
				continue
			}
			wrong, fixed := mistake(a)
			target := lang.Target{Host: "web1", Facts: debian, HostFacts: factsOfHosts(debian)}
			asked += asks(t, name, wrong, target) + asks(t, name, fixed, target)
		}
	}
	facts := pairFacts(nil)
	for _, root := range []string{"../examples", "../stdlib"} {
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				dir := filepath.Join(root, e.Name())
				asked += asks(t, dir, os.DirFS(dir), lang.Target{Host: "web1", Facts: facts})
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d facts were asked for", asked)
	}
}

func TestFactNames(t *testing.T) {
	tests := map[string]struct{ name, source, want string }{
		"none":        {"a.hcl", `file "/a" {}`, "home"},
		"plain":       {"a.hcl", `file "/a" { content = "${fact.os.id} ${fact["arch"]}" }`, "arch home os"},
		"nested":      {"a.hcl", "state \"a\" {\n file \"/a\" {\n only_if {\n exists = fact.hostname\n}\n}\n}", "home hostname"},
		"component":   {"a.hcl", "component \"c\" {\n source = \"./c\"\n}", "cpus home memory"},
		"library":     {"a.hcl", "functions \"f\" {\n source = \"lib/f.star\"\n}", "home kernel"},
		"JSON":        {"a.hcl.json", `{"file": {"/a": {"content": "${fact.ipv4}"}}}`, "home ipv4"},
		"script":      {"a.star", `file("/a", content = fact.os.id + getattr(fact, "arch"))`, "arch home os"},
		"no value":    {"a.star", `[x.fact for x in []]`, "home"},
		"handed on":   {"a.star", "f = fact\nfile(\"/a\", content = f.arch)", "*"},
		"computed":    {"a.star", `file("/a", content = getattr(fact, "ar" + "ch"))`, "*"},
		"by script":   {"a.star", `component("c", source = "./c", vars = {"a": fact.user})`, "cpus home memory user"},
		"any source":  {"a.star", `component("c", source = "./" + "c")`, "*"},
		"loaded":      {"a.star", "load(\"./lib/f.star\", \"f\")\nfile(\"/a\", content = f())", "home kernel"},
		"wrong names": {"a.hcl", `file "/a" { content = fact["a b,c"] }`, "home"},
		"broken":      {"a.hcl", `file "/a" {`, "*"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			site, _ := lang.Load(fstest.MapFS{tt.name: {Data: []byte(tt.source)},
				"lib/f.star": {Data: []byte("def f():\n    return fact.kernel\n")},
				"c/a.hcl":    {Data: []byte("component \"d\" {\n source = \"../d\"\n}\nlocals {\n a = fact.cpus\n}\n")},
				"d/main.hcl": {Data: []byte("output \"o\" {\n value = fact.memory\n}\n")}}, lang.Options{Registry: modules.Standard()})
			if got := strings.Join(site.FactNames(), " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func ExampleSite_FactNames() {
	site, _ := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(`
file "/etc/motd" {
  content = "This is ${fact.hostname}, with ${fact.os.name}.\n"
}
`)}}, lang.Options{Registry: modules.Standard()})
	fmt.Println(site.FactNames())
	// Output: [home hostname os]
}

package modules_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

var update = flag.Bool("update", false, "rewrite the reference pages in docs/modules")

const docs = "../docs/modules"

// The reference pages say what the modules' declarations say, and how each has been
// tested.
func TestReferencePages(t *testing.T) {
	registry := modules.Standard()
	proof := readProof(t)
	tested := map[string]string{}
	for _, name := range registry.Names() {
		module := registry.Lookup(name)
		how, why := proof.of(t, module)
		tested[name] = how + proof.besides(name)
		note := "It is verified: tested on real hosts with Debian 12" + why + "."
		if how != verified {
			note = "It is tested " + how + ", and not on a real host" + why + "."
		}
		page := reference.Module(&module.Schema, note)
		golden(t, name+".md", page.Markdown())
	}
	index := reference.Modules(registry, tested)
	golden(t, "README.md", index.Markdown())
	pages, err := os.ReadDir(docs)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != len(registry.Names())+1 {
		t.Errorf("docs/modules holds %d pages, want one for each of %d modules and README.md", len(pages), len(registry.Names()))
	}
}

func golden(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join(docs, name)
	if *update {
		if err := os.MkdirAll(docs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("docs/modules/%s is not what the module says (%v); rewrite it with: go test ./modules -update", name, err)
	}
}

// The examples of the reference pages are sites that load.
func TestExamplesLoad(t *testing.T) {
	registry := modules.Standard()
	for _, name := range registry.Names() {
		t.Run(name, func(t *testing.T) {
			source := "variable \"domain\" {\n  default = \"example.test\"\n}\n" + registry.Lookup(name).Example
			site, list := lang.Load(fstest.MapFS{
				"site.hcl": {Data: []byte(source)}, "files/www/index.html": {}, "files/app.tar.gz": {},
			}, lang.Options{Registry: registry})
			if list.HasErrors() {
				t.Fatal(list.Err())
			}
			d, list := site.Evaluate(t.Context(), lang.Target{Host: "example"})
			if list.HasErrors() {
				t.Fatal(list.Err())
			}
			if len(d.List) == 0 {
				t.Error("the example declares nothing")
			}
		})
	}
}

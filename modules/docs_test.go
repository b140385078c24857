package modules_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

var update = flag.Bool("update", false, "rewrite the reference pages in docs/modules")

const docs = "../docs/modules"

// The reference pages say what the modules' declarations say.
func TestReferencePages(t *testing.T) {
	registry := modules.Standard()
	proof := labSources(t)
	for _, name := range registry.Names() {
		verified := "It is tested in memory, and not on a real host."
		if uses(proof, name) {
			verified = "Verified: it is tested on real hosts with Debian 12."
		}
		page := reference.Module(&registry.Lookup(name).Schema, verified)
		golden(t, name+".md", page.Markdown())
	}
	index := reference.Modules(registry)
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

// labSources are the sites that tests apply on real hosts.
func labSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"../internal/lab/labtest/*_test.go", "../examples/nginx/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}

func uses(sources, module string) bool {
	return regexp.MustCompile(`\b` + module + ` \\?"|\bType: "` + module + `"`).MatchString(sources)
}

// The examples of the reference pages are sites that load.
func TestExamplesLoad(t *testing.T) {
	registry := modules.Standard()
	for _, name := range registry.Names() {
		t.Run(name, func(t *testing.T) {
			source := "variable \"domain\" {\n  default = \"example.test\"\n}\n" + registry.Lookup(name).Example
			site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(source)}}, lang.Options{Registry: registry})
			if list.HasErrors() {
				t.Fatal(list.Err())
			}
			d, list := site.For(t.Context(), lang.Target{Host: "example"})
			if list.HasErrors() {
				t.Fatal(list.Err())
			}
			if len(d.List) == 0 {
				t.Error("the example declares nothing")
			}
		})
	}
}

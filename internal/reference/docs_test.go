package reference_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/stdlib"
)

var update = flag.Bool("update", false, "rewrite the reference pages in docs")

const docs = "../../docs"

// golden compares with a page of docs/, or writes it.
func golden(t *testing.T, name string, page reference.Page) {
	t.Helper()
	file, want := filepath.Join(docs, name), page.Markdown()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("docs/%s is not what the program says (%v); rewrite it with: go test ./internal/reference -update", name, err)
	}
}

// The pages about the language say what the program says.
func TestLanguagePages(t *testing.T) {
	golden(t, "functions.md", reference.Functions(lang.Functions()))
	golden(t, "facts.md", reference.Facts(facts.Docs()))
	golden(t, "options.md", reference.Options(expr.OptionDocs()))
	golden(t, "keywords.md", reference.Keywords(syntax.KeywordDocs()))
}

// The pages of the standard components say what these say.
func TestComponentPages(t *testing.T) {
	all := components(t)
	for _, c := range all {
		name := strings.TrimPrefix(c.Source, "std/")
		golden(t, "stdlib/"+name+".md", reference.Component(c.Source, c.Description))
		if c.Text == "" || len(c.Variables) == 0 || len(c.States) == 0 {
			t.Errorf("%s is not described", c.Source)
		}
		for _, v := range c.Variables {
			if v.Description == "" || v.TypeText == "any" {
				t.Errorf("%s: the input %s has no description or no type", c.Source, v.Name)
			}
		}
		for _, o := range c.Outputs {
			if o.Description == "" {
				t.Errorf("%s: the output %s has no description", c.Source, o.Name)
			}
		}
	}
	golden(t, "stdlib/README.md", reference.Components(all))
	pages, err := os.ReadDir(filepath.Join(docs, "stdlib"))
	if err != nil || len(pages) != len(all)+1 {
		t.Errorf("docs/stdlib holds %d pages, want one for each of %d components and README.md (%v)", len(pages), len(all), err)
	}
}

// components describes the standard components.
func components(t *testing.T) []reference.NamedComponent {
	t.Helper()
	entries, err := fs.ReadDir(stdlib.FS, ".")
	if err != nil || len(entries) < 5 {
		t.Fatalf("%d components, %v", len(entries), err)
	}
	var all []reference.NamedComponent
	for _, e := range entries {
		files, err := fs.Sub(stdlib.FS, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		site, list := lang.Load(files, lang.Options{Registry: modules.Standard()})
		d, _ := site.Describe(t.Context())
		if len(list) > 0 {
			t.Fatalf("%s: %s", e.Name(), list.Error())
		}
		all = append(all, reference.NamedComponent{Source: "std/" + e.Name(), Description: d})
	}
	return all
}

package lang_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
)

// shelf holds packages by their sources.
type shelf map[string]*lang.Package

func (s shelf) open(source string) (*lang.Package, error) {
	if p := s[source]; p != nil {
		return p, nil
	}
	return nil, &diag.HintError{Message: source + " is not here", Hint: "bring it"}
}

func filesOf(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// Packages use packages, collections are packages, and what a package names of itself lies within it.
func TestPackages(t *testing.T) {
	packages := shelf{
		"oci://r.example/acme/web:1": {Name: "oci/r.example/acme/web@1", Files: filesOf(map[string]string{
			"main.hcl":            "component \"inner\" {\n source = \"./parts/page\"\n}\ncomponent \"motd\" {\n source = \"oci://r.example/acme/motd:2\"\n vars = { text = \"from web\" }\n}\n",
			"parts/page/x.hcl":    "component \"text\" {\n source = \"../text\"\n}\n",
			"parts/text/x.hcl":    "file \"/page\" {\n content = read(\"page.txt\")\n}\n",
			"parts/text/page.txt": "the page",
		})},
		"oci://r.example/acme/motd:2": {Name: "oci/r.example/acme/motd@2", Files: filesOf(map[string]string{
			"main.star": "text = variable(\"text\", type = \"string\")\nstate(\"motd\", [file(\"/motd\", content = text)])\n",
		})},
		"git::https://r.example/net.git//nets?ref=v1": {Name: "git/https/r.example/net.git@v1+nets", Files: filesOf(map[string]string{
			"vlan/main.hcl": "component \"base\" {\n source = \"../base\"\n}\n",
			"base/main.hcl": "file \"/vlan\" {\n content = \"v\"\n}\n",
		})},
	}
	site := filesOf(map[string]string{"site.hcl": `
component "web" {
  source = "oci://r.example/acme/web:1"
}
collection "net" {
  source = "git::https://r.example/net.git//nets?ref=v1"
}
component "vlan" {
  source = "net/vlan"
}
`})
	asked := map[string]int{}
	loaded, list := lang.Load(site, lang.Options{Registry: modules.Standard(), OpenPackage: func(source string) (*lang.Package, error) {
		asked[source]++
		return packages.open(source)
	}})
	if list.HasErrors() {
		t.Fatal(list)
	}
	declared, list := loaded.Evaluate(t.Context(), lang.Target{Host: "h"})
	if list.HasErrors() {
		t.Fatal(list)
	}
	run, list := graph.Compile(declared, graph.Options{Registry: modules.Standard()})
	if list.HasErrors() {
		t.Fatal(list)
	}
	var got []string
	for _, inv := range run.Run.Invocations {
		for _, p := range inv.Parts {
			got = append(got, p.Address)
		}
	}
	if text := strings.Join(got, " "); !strings.Contains(text, "component.web.component.inner.component.text.file[\"/page\"]") || !strings.Contains(text, "component.web.component.motd") || len(got) != 3 {
		t.Errorf("the parts are %v", got)
	}
	for source, n := range asked {
		if n != 1 {
			t.Errorf("%s was opened %d times", source, n)
		}
	}
	if src, ok := loaded.Source("@packages/oci/r.example/acme/web@1/parts/text/page.txt"); !ok || string(src) != "the page" {
		t.Errorf("the source is %q", src)
	}
}

func TestPackageMistakes(t *testing.T) {
	bad := func(name, text string) shelf {
		return shelf{"oci://r.example/bad:1": {Name: "oci/r.example/bad@1", Files: filesOf(map[string]string{name: text, "sub/x.hcl": "component \"up\" {\n source = \"../../other\"\n}\n"})}}
	}
	use := "component \"bad\" {\n source = \"oci://r.example/bad:1\"\n}\n"
	for name, c := range map[string]struct {
		packages   shelf
		site, want string
	}{
		"not here":          {shelf{}, use, "oci://r.example/bad:1 is not here"},
		"leads out":         {bad("main.hcl", "component \"up\" {\n source = \"../other\"\n}\n"), use, `"../other" leads out of the package`},
		"leads out deeper":  {bad("main.hcl", "component \"sub\" {\n source = \"./sub\"\n}\n"), use, `"../../other" leads out of the package`},
		"reads out":         {bad("main.hcl", "file \"/x\" {\n content = read(\"../../../secret\")\n}\n"), use, "secret"},
		"names the folder":  {bad("main.hcl", "file \"/x\" {\n content = \"y\"\n}\n"), "component \"bad\" {\n source = \"./@packages/oci/r.example/bad@1\"\n}\n", "is no source of a component"},
		"itself":            {bad("main.hcl", use), use, "contain each other"},
		"unsigned":          {bad("main.hcl", "file \"/x\" {\n content = \"y\"\n}\n"), "site {\n name = \"s\"\n signers = \"signers\"\n}\n" + use, "oci://r.example/bad:1 is not signed by anybody whom signers names"},
		"signers elsewhere": {bad("main.hcl", "file \"/x\" {\n content = \"y\"\n}\n"), "site {\n name = \"s\"\n signers = \"../signers\"\n}\n" + use, `"../signers" is no file of the site`},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, list := lang.Load(filesOf(map[string]string{"site.hcl": c.site}), lang.Options{Registry: modules.Standard(), OpenPackage: c.packages.open})
			if !list.HasErrors() {
				_, list = loaded.Evaluate(t.Context(), lang.Target{Host: "h"})
			}
			if err := list.Err(); err == nil || !strings.Contains(errors.Join(err).Error(), c.want) {
				t.Errorf("got %v", list)
			}
		})
	}
	_, list := lang.Load(filesOf(map[string]string{"site.hcl": use}), lang.Options{Registry: modules.Standard()})
	if err := list.Err(); err == nil || !strings.Contains(err.Error(), "packages cannot be used here") {
		t.Errorf("without packages: %v", list)
	}
}

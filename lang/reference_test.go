package lang_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/modules"
)

// loads demands that an example is a site that is right, for one of its hosts
// if it has any.
func loads(t *testing.T, name, source string, more map[string]string) {
	t.Helper()
	files := fstest.MapFS{"site.hcl": {Data: []byte(source)}}
	for name, text := range more {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	site, list := lang.Load(files, lang.Options{Registry: modules.Standard()})
	if len(list) > 0 {
		t.Fatalf("%s: %s", name, list.Error())
	}
	target := lang.Target{Host: "web1", Facts: debian}
	if _, list := site.Evaluate(t.Context(), target); len(list) > 0 {
		t.Errorf("%s: %s", name, list.Error())
	}
	formatted, list := lang.Format("site.hcl", []byte(source))
	if len(list) > 0 || string(formatted) != source {
		t.Errorf("%s is not in the canonical layout:\n%s", name, formatted)
	}
}

// Each option is described, with an example that is right.
func TestOptionDocs(t *testing.T) {
	for _, o := range expr.OptionDocs() {
		if o.Doc == "" || o.Type == "" || len(o.Places) == 0 {
			t.Errorf("%s is not described: %+v", o.Name, o)
			continue
		}
		loads(t, o.Name, o.Example, nil)
	}
}

// Each word is described with all its attributes, and with an example that is
// right.
func TestKeywordDocs(t *testing.T) {
	shapes := syntax.NewShapes(modules.Standard())
	described := map[string]bool{}
	for _, w := range syntax.KeywordDocs() {
		described[w.Name] = true
		in := shapes.Root
		switch w.Name {
		case "param":
			in = shapes.State
		case "before_each", "after_each":
			in = shapes.Rollout
		}
		shape, _ := shapes.BlockOf(in, w.Name)
		if shape == nil || w.Doc == "" || w.Usage == "" {
			t.Errorf("%s is no word, or not described: %+v", w.Name, w)
			continue
		}
		var names []string
		for _, a := range w.Attributes {
			names = append(names, a.Name)
			if _, block := shape.Blocks[a.Name]; !block && !slices.Contains(shape.Attributes, a.Name) && a.Name != "TYPE" {
				t.Errorf("%s has no %s", w.Name, a.Name)
			}
		}
		for _, name := range shape.Attributes {
			if option := shapes.Options[name]; (option == nil || w.Options == "") && !slices.Contains(names, name) {
				t.Errorf("%s of %s is not described", name, w.Name)
			}
		}
		loads(t, w.Name, w.Example, w.Files)
	}
	for name := range shapes.Root.Blocks {
		if !described[name] {
			t.Errorf("%s is not described", name)
		}
	}
}

// The example of hosts() is what a site with two hosts of a group gives.
func TestExampleOfHosts(t *testing.T) {
	docs := lang.Functions()
	i := slices.IndexFunc(docs, func(f lang.FunctionDoc) bool { return f.Name == "hosts" })
	source := `
host "web1" {
  address = "192.0.2.1"
}
host "web2" {
  address = "192.0.2.2"
}
host "db" {
  address = "192.0.2.3"
}
host_group "web" {
  hosts = ["web*"]
}
file "/a" {
  content = jsonencode(` + docs[i].Example.Expression + `) == jsonencode(` + docs[i].Example.Value + `) ? "same" : "other"
}
`
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(source)}}, lang.Options{Registry: registry()})
	d, more := site.Evaluate(t.Context(), lang.Target{Host: "web1", Facts: debian})
	if list = slices.Concat(list, more); len(list) > 0 {
		t.Fatal(diag.List(list).Error())
	}
	if got := d.List[0].Parts[0].Values["content"]; got != "same" {
		t.Errorf("the example of hosts() says something else")
	}
}

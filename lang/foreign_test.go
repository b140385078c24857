package lang_test

import (
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/foreign"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/modules"
)

// What is called a word of another tool is none of tenet's, and what is said to
// be written in its place is there.
func TestForeignWords(t *testing.T) {
	var functions []string
	for _, f := range lang.Functions() {
		functions = append(functions, f.Name)
	}
	use := regexp.MustCompile(`^use (\w+)\(`)
	for _, w := range foreign.Functions() {
		if slices.Contains(functions, w.Name) {
			t.Errorf("%s is a function", w.Name)
		}
		if m := use.FindStringSubmatch(w.Write); m != nil && m[1] != "secret" && !slices.Contains(functions, m[1]) {
			t.Errorf("%s: there is no function %s", w.Name, m[1])
		}
	}
	registry := modules.Standard()
	root := syntax.NewShapes(registry)
	for _, w := range foreign.Blocks() {
		if registry.Lookup(w.Name) != nil || slices.Contains(root.BlockNames(root.Root), w.Name) {
			t.Errorf("%s is a block", w.Name)
		}
	}
	for _, w := range foreign.Attributes() {
		if m := registry.Lookup(w.On); m != nil && m.Attribute(w.Name) != nil {
			t.Errorf("%s is an attribute of %s", w.Name, w.On)
		}
		if w.On == "" && root.Options[w.Name] != nil && w.Value == "" {
			t.Errorf("%s is an option", w.Name)
		}
	}
}

// Files as editors on other systems save them are as good as any.
func TestLoadTolerates(t *testing.T) {
	for name, source := range map[string]string{
		"byte order mark": "\ufefffile \"/a\" {\n  content = \"x\"\n}\n",
		"CRLF":            "file \"/a\" {\r\n  content = \"x\"\r\n}\r\n",
		"tabs":            "file \"/a\" {\n\tcontent\t=\t\"x\"\n}\n",
		"no newline":      "file \"/a\" {\n  content = \"x\"\n}",
		"comments":        "# a\n// b\n/* c */\nfile \"/a\" { # d\n  content = \"x\" // e\n}\n",
	} {
		site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(source)}}, lang.Options{Registry: registry()})
		d, more := site.Evaluate(t.Context(), lang.Target{Host: "h"})
		if len(list)+len(more) > 0 || len(d.List) != 1 {
			t.Errorf("%s: %v, %v", name, list, more)
		}
	}
}

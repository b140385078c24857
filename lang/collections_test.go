package lang_test

import (
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

const bannerModule = `"""A banner of one line."""

attributes = {
    "path": attr("string", key = True, path = True, doc = "Where it is."),
    "text": attr("string", present = True, doc = "What it says."),
}

example = """banner "/etc/banner" {
  text = "hello"
}"""

def read(host, want):
    text = host.read_file(want.path, default = None)
    return {"text": text} if text != None else None

def write(host, have, want):
    host.write_file(want.path, want.text)

def remove(host, have):
    host.remove_file(have.path)
`

// Whether something is part of a collection does not depend on what names it first: the component that declares the collection, or
// one that goes there by a path.
func TestCollectionsInAnyOrder(t *testing.T) {
	first, second := "component \"a\" {\n  source = \"./lib/inner\"\n}\n", "component \"b\" {\n  source = \"./user\"\n}\n"
	for name, tt := range map[string]struct{ inner, want string }{
		"leaks":  {"component \"x\" {\n  source = \"../../other\"\n}\n", "leads out of the collection"},
		"module": {"banner \"/etc/banner\" {\n  text = \"hello\"\n}\n", ""},
	} {
		for order, site := range map[string]string{"path first": first + second, "collection first": second + first} {
			t.Run(name+"/"+order, func(t *testing.T) {
				files := fstest.MapFS{
					"site.hcl":                {Data: []byte(site)},
					"lib/inner/main.hcl":      {Data: []byte(tt.inner)},
					"other/main.hcl":          {Data: []byte("file \"/b\" {\n  content = \"x\"\n}\n")},
					"user/main.hcl":           {Data: []byte("collection \"lib\" {\n  source = \"../lib\"\n}\nfile \"/a\" {\n  content = \"x\"\n}\n")},
					"lib/modules/banner.star": {Data: []byte(bannerModule)},
				}
				_, list := lang.Load(files, lang.Options{Registry: registry()})
				if tt.want != "" {
					one(t, list, tt.want)
				} else if list.HasErrors() {
					t.Error(list)
				}
			})
		}
	}
}

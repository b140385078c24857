package lang_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// Whether a template includes itself is a question of the templates around it, not of who
// rendered it first.
func TestTemplatesIncludeByTurns(t *testing.T) {
	files := fstest.MapFS{
		"a": {Data: []byte("a%{ if inside }${template(\"b\", { inside = more, more = more })}%{ endif }")},
		"b": {Data: []byte("b%{ if inside }${template(\"a\", { inside = more, more = more })}%{ endif }")},
	}
	for _, c := range []struct{ first, second, wrong string }{
		{`template("a", { inside = true, more = false })`, `template("b", { inside = true, more = false })`, ""},
		{`"${template("a", { inside = false, more = false })}${template("b", { inside = false, more = false })}"`,
			`template("a", { inside = true, more = true })`, `the template "a" includes itself: a → b → a`},
	} {
		files["site.hcl"] = &fstest.MapFile{Data: []byte("print \"first\" {\n  message = " + c.first + "\n}\nprint \"second\" {\n  message = " + c.second + "\n}\n")}
		site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
		d, list := site.Evaluate(t.Context(), lang.Target{Facts: facts})
		if c.wrong != "" {
			if !strings.Contains(list.Error(), c.wrong) {
				t.Errorf("%s\n%s: %s", c.first, c.second, list.Error())
			}
			continue
		}
		if list.HasErrors() || d.List[1].Parts[0].Values["message"] != "ba" {
			t.Errorf("%s\n%s: %s", c.first, c.second, list.Error())
		}
	}
}

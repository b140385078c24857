package hcl

import (
	"reflect"
	"strings"
	"testing"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/expr"
)

// TestPieces demands that a source parsed line by line, wherever nothing is
// open, gives the same tree as the whole, with the same places.
func TestPieces(t *testing.T) {
	lines := []string{"a {\n", "}\n", "b = 1\n", "  c = <<E\n", "E\n", "  text ${x}\n", "# comment {\n", "/* {\n", "*/\n",
		"d = [\n", "]\n", "(", ")", "\"", "${", "}", "\n", "\r\n", "e \"l\" \"m\" {}\n", "f = \"x${\"}\"}y\"\n", "<<-F\n", "F\n", "é", "//", "\\", "%{", "="}
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 1, 12).Draw(t, "lines"), ""))
		pieces, deep := expr.SplitSource("f", src, 1, 100)
		if deep != nil {
			t.Fatal(deep)
		}
		joined := ""
		for _, p := range pieces {
			joined += string(p)
		}
		if joined != string(src) {
			t.Fatalf("%q was cut into %q", src, pieces)
		}
		got := parsePieces("f", pieces)
		file, diags := hclsyntax.ParseConfig(src, "f", hcl2.InitialPos)
		if (got == nil) != (len(diags) > 0) {
			t.Fatalf("%q: in pieces %v, as a whole %v", pieces, got, diags)
		}
		if got == nil {
			return
		}
		want := nativeBody(file.Body.(*hclsyntax.Body))
		want.Src = got.Src
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q differs from the whole", pieces)
		}
	})
}

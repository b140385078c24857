package hcl

import (
	"fmt"
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
		"d = [\n", "]\n", "(", ")", "\"", "${", "}", "\n", "\r\n", "e \"l\" \"m\" {}\n", "f = \"x${\"}\"}y\"\n", "<<-F\n", "F\n", "é", "//", "\\", "%{", "=", "\ufeff", "#",
		"g \"l\" m\t{ \n", "\tname-1 = \"te\\tx\\\"t\\\\\"\n", "n = 007 \n", "t=true\n", "u = null # c\n", "v = \"\"\n", "w = \"é\"\n",
		"x = \"a$b%c\"\n", "y = \"\\u00e9\"\n", "z = 1.5\n", "} # end\n", " # only\n", "h {}\n", "i { j = 1 }\n", "a", "1", "n"}
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 1, 16).Draw(t, "lines"), ""))
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
		whole := parseLines("f", src, hcl2.InitialPos)
		want := nativeBody(file.Body.(*hclsyntax.Body))
		want.Src = got.Src
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q differs from the whole", pieces)
		}
		if whole == nil {
			return // such as } and a comment in one line: then the library parses it
		}
		whole.Src = got.Src
		if !reflect.DeepEqual(whole, want) {
			t.Fatalf("%q differs where it is read by lines", src)
		}
	})
}

// TestLines demands that what sites mostly consist of is read without the library, and other
// statements by it, to the same tree.
func TestLines(t *testing.T) {
	src := []byte(`# a site
file "/a" {
  path    = "/srv/a"
  content = "one\n\"two\"\t\\\n"
  mode    = "0640" // octal
  size    = 12
	lazy = true

  notify  = [
    reload.a,
  ]
  only_if {
    exists = "/b"
  }
}
state s "é" {}
locals {
  a = null
  b = <<-E
    }
  E
  c = ""
}`)
	file, diags := hclsyntax.ParseConfig(src, "f", hcl2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want, got := nativeBody(file.Body.(*hclsyntax.Body)), parseLines("f", src, hcl2.InitialPos)
	if got == nil {
		t.Fatal("the source is left to the library")
	}
	want.Src = got.Src
	if !reflect.DeepEqual(got, want) {
		t.Fatal("the tree is not the library's")
	}
}

// TestManyAttributes finds an attribute that is given twice in a body of many.
func TestManyAttributes(t *testing.T) {
	var src strings.Builder
	for i := range 100 {
		fmt.Fprintf(&src, "  a%d = 1\n", i)
	}
	if parseLines("f", []byte("locals {\n"+src.String()+"}\n"), hcl2.InitialPos) == nil {
		t.Error("attributes of different names are refused")
	}
	if parseLines("f", []byte("locals {\n"+src.String()+"  a50 = 2\n}\n"), hcl2.InitialPos) != nil {
		t.Error("an attribute may be given twice")
	}
}

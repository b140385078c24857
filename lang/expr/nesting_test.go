package expr_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/expr"
)

func TestNesting(t *testing.T) {
	deep := func(open, inner, close string) func(n int) string {
		return func(n int) string { return strings.Repeat(open, n) + inner + strings.Repeat(close, n) }
	}
	tests := map[string]struct {
		make     func(n int) string
		template bool
		before   string
	}{
		"lists":               {make: deep("[", "1", "]"), before: "a = "},
		"parentheses":         {make: deep("(", "1", ")"), before: "a = "},
		"newlines":            {make: deep("(\n", "1", "\n)"), before: "a = "},
		"objects":             {make: deep("{\na = ", "1", "\n}"), before: "a = "},
		"blocks":              {make: deep("a {\n", "", "}\n")},
		"not":                 {make: deep("!", "true", ""), before: "a = "},
		"not with newlines":   {make: deep("!\n", "true", ""), before: "a = ("},
		"minus":               {make: deep("-", "1", ""), before: "a = "},
		"conditionals":        {make: deep("x ? 1 : ", "1", ""), before: "a = "},
		"templates":           {make: deep(`"${`, "1", `}"`), before: "a = "},
		"template conditions": {make: deep("%{if x}", "1", "%{endif}"), template: true},
		"template loops":      {make: deep("%{~ for x in y ~}", "1", "%{ endfor }"), template: true},
		"conditions in text":  {make: deep("%{if x}", "1", "%{endif}"), before: "a = \""},
		"heredocs":            {make: deep("[<<E\n${", "1", "}\nE\n]"), before: "a = "},
		"calls":               {make: deep("f(", "1", ")"), before: "a = "},
		"indexes":             {make: deep("a[", "1", "]"), before: "a = "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := expr.CheckNesting("f", []byte(tt.before+tt.make(40)), tt.template, 125); d != nil {
				t.Errorf("40 levels are refused: %v", d)
			}
			d := expr.CheckNesting("f", []byte(tt.before+tt.make(5000)), tt.template, 125)
			if d == nil {
				t.Fatal("5000 levels are accepted")
			}
			if d.Hint == "" || d.Range.Start.Line == 0 {
				t.Errorf("no hint or place: %v", d)
			}
		})
	}
}

// What follows one another nests in the tree too: an expression has so many of each.
func TestOperatorsAreBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		before, more string
		template     bool
	}{
		"sum":         {before: "a = 1", more: " + 1"},
		"and":         {before: "a = true", more: "&&true"},
		"equals":      {before: "a = 1", more: "==1"},
		"quotient":    {before: "a = 1", more: "/1"},
		"comparison":  {before: "a = 1", more: "<1"},
		"attributes":  {before: "a = b", more: ".c"},
		"indexes":     {before: "a = b", more: "[0]"},
		"splats":      {before: "a = b", more: "[*]"},
		"brackets":    {before: "a = [(1", more: "\n* 1"},
		"within text": {before: "a = \"${1", more: " % 1"},
		"template":    {before: "x\n${1", more: "||1", template: true},
	} {
		t.Run(name, func(t *testing.T) {
			source := func(n int) []byte { return []byte(tt.before + strings.Repeat(tt.more, n)) }
			if d := expr.CheckNesting("f", source(9_999), tt.template, 125); d != nil {
				t.Errorf("9,999 are refused: %v", d)
			}
			d := expr.CheckNesting("f", source(10_001), tt.template, 125)
			if d == nil {
				t.Fatal("10,001 are accepted")
			}
			if at := d.Range.Start; at.Byte < 20_000 || at.Line == 0 || d.Hint == "" {
				t.Errorf("no place or hint: %v", d)
			}
		})
	}
}

func TestNestingIsNotLength(t *testing.T) {
	for _, s := range []string{
		"a = -1\n", "a = !x ? 1 : 2\n", "a {\n  b = [1, -1]\n}\n", "a = \"{[(\"\n", "# {[(\n", "// {[(\n", "/* {[( */\n",
		"a = <<E\n{[( \" %{ if x }y%{ endif }\nE\n", "a = <<-E\n  {[(\n  E\n", "a = \"\\\"{\"\n", "a = \"$${{%%{{\"\n", "a = 1 - 1\n",
		"a = \"${x ? \"{\" : \"[\"}\"\n", "a = b.c[0] + 1 * 2 == 3\n",
	} {
		if d := expr.CheckNesting("f", []byte(strings.Repeat(s, 10_001)), false, 10); d != nil {
			t.Errorf("%q many times: %v", s, d)
		}
	}
}

// TestNestingBoundsTheTree compares the check with the depth of the tree that
// the parser makes: what it lets pass is never deeper than a small factor.
func TestNestingBoundsTheTree(t *testing.T) {
	pieces := []string{"{", "}", "[", "]", "(", ")", "!", "-", "? ", ": ", "\"", "${", "%{", "if ", "for ", "endif",
		"endfor", "<<E\n", "\nE\n", "\n", ",", "a", "1", " = ", "#", "/*", "*/", "\\", "a {\n", "$", "%", "~"}
	const limit = 8
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), ""))
		if expr.CheckNesting("f", src, false, limit) != nil {
			return
		}
		file, diags := hclsyntax.ParseConfig(src, "f", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		d := &depth{}
		hclsyntax.Walk(file.Body.(*hclsyntax.Body), d)
		if d.max > 6*limit {
			t.Fatalf("%q has depth %d", src, d.max)
		}
	})
}

type depth struct{ now, max int }

func (d *depth) Enter(hclsyntax.Node) hcl.Diagnostics {
	d.now++
	d.max = max(d.max, d.now)
	return nil
}

func (d *depth) Exit(hclsyntax.Node) hcl.Diagnostics {
	d.now--
	return nil
}

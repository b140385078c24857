package expr

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestSpellNumbers demands the text that the library writes, whatever stands in a template.
func TestSpellNumbers(t *testing.T) {
	sources := []string{"${n}", "a${n}b", "${-n}", "${n * 3}x", "x${n / 7}", "%{ for i in [n, 2, n + 0.5] }${i},%{ endfor }",
		"%{ if n > 0 }+${n}%{ else }${s} ${n}%{ endif }", "x${l[0]}", "${s}${n}", "${u}x${n}"}
	numbers := []string{"0", "-0", "1", "10", "-7", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"1e30", "0.1", "-1.5", "1e-9", "123456789012345678901234567890.5"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom(numbers), rapid.StringMatching(`-?[0-9]{1,20}`)).Draw(t, "number")
		source := rapid.SampledFrom(sources).Draw(t, "source")
		n, err := cty.ParseNumberVal(text)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "sensitive") {
			n = n.Mark(Sensitive)
		}
		ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"n": n, "s": cty.StringVal("é"),
			"l": cty.TupleVal([]cty.Value{n}), "u": cty.UnknownVal(cty.Number)}}
		values := make([]cty.Value, 2)
		for i := range values {
			x, diags := hclsyntax.ParseTemplate([]byte(source), "t", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if i == 1 {
				if diags := NewArithmetic().ReplaceAll(x); diags.HasErrors() {
					t.Fatal(diags)
				}
			} else if diags := hclsyntax.Walk(x, operatorsOnly{NewArithmetic()}); diags.HasErrors() {
				t.Fatal(diags)
			}
			values[i], _ = x.Value(ctx)
		}
		if !values[0].RawEquals(values[1]) {
			t.Errorf("%s of %s is %#v, and not %#v", source, text, values[1], values[0])
		}
	})
}

// TestSpelledPartsAreWalked finds what stands in a part, after it was replaced twice.
func TestSpelledPartsAreWalked(t *testing.T) {
	x, diags := hclsyntax.ParseTemplate([]byte("a${l[n]}b"), "t", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for range 2 {
		SpellNumbers(x)
	}
	part, ok := x.(*hclsyntax.TemplateExpr).Parts[1].(*spelled)
	if !ok {
		t.Fatal("the part writes no numbers")
	}
	if _, twice := part.Expression.(*spelled); twice {
		t.Error("the part was replaced twice")
	}
	if !HasIndex(x) || len(x.Variables()) != 2 {
		t.Error("what stands in the part is not found")
	}
}

// operatorsOnly replaces operators, as was done before templates wrote numbers.
type operatorsOnly struct{ *Arithmetic }

func (o operatorsOnly) Enter(n hclsyntax.Node) hcl.Diagnostics { o.Replace(n); return nil }
func (o operatorsOnly) Exit(hclsyntax.Node) hcl.Diagnostics    { return nil }

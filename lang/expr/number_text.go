package expr

import (
	"math/big"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// SpellNumbers lets the parts of a template write whole numbers by themselves, if the node is
// one. What the library writes is the same, but it looks for the shortest text among numbers
// of 512 bits, which takes a hundred times as long.
func SpellNumbers(n hclsyntax.Node) {
	t, ok := n.(*hclsyntax.TemplateExpr)
	if !ok {
		return
	}
	for i, part := range t.Parts {
		switch part.(type) {
		case *hclsyntax.LiteralValueExpr, *spelled:
			continue
		}
		t.Parts[i] = &spelled{&hclsyntax.ParenthesesExpr{Expression: part, SrcRange: part.Range()}}
	}
}

// spelled gives the text of a whole number in its place, and any other value as it is. It is an
// expression in parentheses, so that whoever walks a tree comes to what is in it.
type spelled struct{ *hclsyntax.ParenthesesExpr }

// Value evaluates the part.
func (s *spelled) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := s.Expression.Value(ctx)
	if v.Type() != cty.Number {
		return v, diags
	}
	number, marks := v.Unmark()
	if !number.IsKnown() || number.IsNull() {
		return v, diags
	}
	if text, ok := integerText(number.AsBigFloat()); ok {
		return cty.StringVal(text).WithMarks(marks), diags
	}
	return v, diags
}

// integerText writes a whole number of 64 bits; ok is false for any other, and for a negative zero.
func integerText(n *big.Float) (text string, ok bool) {
	i, accuracy := n.Int64()
	if accuracy != big.Exact || i == 0 && n.Signbit() {
		return "", false
	}
	return strconv.FormatInt(i, 10), true
}

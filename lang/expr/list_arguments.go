package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// listArgument is an argument of a function that takes a list. The library finds the type of
// a list's elements by comparing all those of a tuple with one another, which takes seconds
// for a thousand hosts; where all are the same, the list is made here.
type listArgument struct{ *hclsyntax.ParenthesesExpr }

// fewElements is how many elements the library may compare.
const fewElements = 16

// Value gives a list in place of a tuple whose elements have one type.
func (a *listArgument) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := a.Expression.Value(ctx)
	tuple, marks := v.Unmark()
	if !tuple.Type().IsTupleType() || !tuple.IsKnown() || tuple.IsNull() || tuple.LengthInt() < fewElements {
		return v, diags
	}
	types := tuple.Type().TupleElementTypes()
	for _, t := range types {
		if t == cty.DynamicPseudoType || !t.Equals(types[0]) {
			return v, diags
		}
	}
	return cty.ListVal(tuple.AsValueSlice()).WithMarks(marks), diags
}

// WrapLists lets the arguments of a call that are lists, or sets, come as such.
func WrapLists(call *hclsyntax.FunctionCallExpr) {
	fn, ok := hostFunctions()[call.Name]
	if !ok {
		return
	}
	params := fn.Params()
	for i, arg := range call.Args {
		want := cty.DynamicPseudoType
		switch {
		case i < len(params):
			want = params[i].Type
		case fn.VarParam() != nil:
			want = fn.VarParam().Type
		}
		if !want.IsListType() && !want.IsSetType() || call.ExpandFinal && i == len(call.Args)-1 {
			continue
		}
		switch arg.(type) {
		case *hclsyntax.LiteralValueExpr, *hclsyntax.TupleConsExpr, *listArgument:
		default:
			call.Args[i] = &listArgument{&hclsyntax.ParenthesesExpr{Expression: arg, SrcRange: arg.Range()}}
		}
	}
}

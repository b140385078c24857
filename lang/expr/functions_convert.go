package expr

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// convertElements is cty's conversion to a collection. cty takes time that grows
// with the square of a tuple's length to find what its types have in common;
// where they are all the same, as for 10,000 names, there is nothing to find.
func convertElements(wanted cty.Type) function.Function {
	convert := stdlib.MakeToFunc(wanted)
	return function.New(&function.Spec{
		Params: convert.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			return convert.ReturnTypeForValues([]cty.Value{uniformList(args[0])})
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return convert.Call([]cty.Value{uniformList(args[0])})
		},
	})
}

// uniformList makes a list of a tuple whose elements have one type.
func uniformList(v cty.Value) cty.Value {
	if !v.Type().IsTupleType() || !v.IsKnown() || v.IsNull() || v.LengthInt() == 0 {
		return v
	}
	types := v.Type().TupleElementTypes()
	for _, t := range types {
		if t == cty.DynamicPseudoType || !t.Equals(types[0]) {
			return v
		}
	}
	return cty.ListVal(v.AsValueSlice())
}

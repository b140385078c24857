package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// convertTo is the library's conversion, whose error is the same each time: of several
// attributes that do not fit, the library names the one that its map gives first.
func convertTo(v cty.Value, t cty.Type) (cty.Value, error) {
	out, err := convert.Convert(v, t)
	if err == nil {
		return out, nil
	}
	if convert.GetConversionUnsafe(v.Type(), t) == nil {
		return out, errors.New(mismatch(v.Type(), t))
	}
	if name := missingElement(v, t, err); name != "" {
		return out, fmt.Errorf("map has no element for required attribute %q", name)
	}
	return out, err
}

// mismatch says why no value of a type can be converted to another. Of the attributes of an
// object it names the first in order.
func mismatch(got, want cty.Type) string {
	switch {
	case got.IsObjectType() && want.IsObjectType():
		for _, name := range slices.Sorted(maps.Keys(want.AttributeTypes())) {
			if !got.HasAttribute(name) && !want.AttributeOptional(name) {
				return convert.MismatchMessage(got, want) // it names all that are missing
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want.AttributeTypes())) {
			if to := want.AttributeType(name); got.HasAttribute(name) && !isConvertible(got.AttributeType(name), to) {
				return fmt.Sprintf("attribute %q: %s", name, mismatch(got.AttributeType(name), to))
			}
		}
	case got.IsObjectType() && want.IsMapType() && want.ElementType() != cty.DynamicPseudoType:
		for _, name := range slices.Sorted(maps.Keys(got.AttributeTypes())) {
			if from := got.AttributeType(name); !isConvertible(from, want.ElementType()) {
				return fmt.Sprintf("element %q: %s", name, mismatch(from, want.ElementType()))
			}
		}
	case got.IsTupleType() && (want.IsListType() || want.IsSetType()) && want.ElementType() != cty.DynamicPseudoType:
		for i, from := range got.TupleElementTypes() {
			if !isConvertible(from, want.ElementType()) {
				return fmt.Sprintf("element %d: %s", i, mismatch(from, want.ElementType()))
			}
		}
	case got.IsCollectionType() && want.IsCollectionType() && got.IsMapType() == want.IsMapType():
		kind := map[bool]string{got.IsMapType(): "map", want.IsListType(): "list", want.IsSetType(): "set"}[true]
		return fmt.Sprintf("incorrect %s element type: %s", kind, mismatch(got.ElementType(), want.ElementType()))
	}
	return convert.MismatchMessage(got, want)
}

func isConvertible(from, to cty.Type) bool {
	return from.Equals(to) || convert.GetConversionUnsafe(from, to) != nil
}

// missingElement gives the first of the elements that a map lacks, if that is the error of a conversion.
func missingElement(v cty.Value, t cty.Type, err error) string {
	var at cty.PathError
	if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), "map has no element for required attribute") {
		return ""
	}
	plain, _ := v.UnmarkDeep()
	plain, err = at.Path.Apply(plain)
	for _, step := range at.Path {
		name := ""
		switch step := step.(type) {
		case cty.GetAttrStep:
			name = step.Name
		case cty.IndexStep:
			if t.IsTupleType() {
				i, _ := step.Key.AsBigFloat().Int64()
				t = t.TupleElementType(int(i))
				continue
			}
			if t.IsCollectionType() {
				t = t.ElementType()
				continue
			}
			name = step.Key.AsString()
		}
		t = t.AttributeType(name)
	}
	if err != nil || !t.IsObjectType() || !plain.Type().IsMapType() {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
		if !t.AttributeOptional(name) && plain.HasIndex(cty.StringVal(name)).False() {
			return name
		}
	}
	return ""
}

// settleArgument gives the diagnostic of an argument that cannot be converted to the type of its
// parameter with a text that is the same each time.
func settleArgument(d *hcl.Diagnostic) *hcl.Diagnostic {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok || extra.FunctionCallError() != nil || d.Expression == nil {
		return d
	}
	fn, ok := functionIn(d.EvalContext, extra.CalledFunctionName())
	if !ok {
		return d
	}
	params := fn.Params()
	if p := fn.VarParam(); p != nil {
		params = append(params[:len(params):len(params)], *p)
	}
	for _, p := range params {
		start := fmt.Sprintf("Invalid value for %q parameter: ", p.Name)
		if !strings.HasPrefix(d.Detail, start) {
			continue
		}
		v, diags := d.Expression.Value(d.EvalContext)
		if _, err := convertTo(v, p.Type); err != nil && !diags.HasErrors() {
			out := *d
			out.Detail = start + err.Error() + "."
			return &out
		}
	}
	return d
}

// functionIn looks a function up as a call does.
func functionIn(ctx *hcl.EvalContext, name string) (function.Function, bool) {
	for ; ctx != nil; ctx = ctx.Parent() {
		if fn, ok := ctx.Functions[name]; ok {
			return fn, true
		}
	}
	return function.Function{}, false
}

package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// deferredMark is the cty mark of a value that only the host will know: an unknown
// value that carries the expression that makes it there. What functions and
// operators compute from it is unknown too, and has its mark; Settle then gives
// that an expression of its own.
type deferredMark struct{ tree *states.Expr }

// DeferredValue makes a value that only the host will know.
func DeferredValue(tree *states.Expr, t cty.Type) cty.Value {
	return cty.UnknownVal(t).Mark(deferredMark{tree})
}

// IsDeferred reports whether a value, or something in it, is known only on the
// host.
func IsDeferred(v cty.Value) bool {
	return v.ContainsMarked() && !v.IsWhollyKnown() && hasDeferred(v)
}

func hasDeferred(v cty.Value) bool {
	if !v.ContainsMarked() {
		return false
	}
	_, marks := v.UnmarkDeep()
	for m := range marks {
		if _, ok := m.(deferredMark); ok {
			return true
		}
	}
	return false
}

// treeOf gives the expression of an unknown value that Settle has made.
func treeOf(v cty.Value) *states.Expr {
	if v.IsKnown() {
		return nil
	}
	for m := range v.Marks() {
		if d, ok := m.(deferredMark); ok {
			return d.tree
		}
	}
	return nil
}

// Settle completes what the expression x gave in ctx: what is known only on the
// host gets the expression that makes it there, and the rest is without traces
// of it. Each value that names may stand for goes through Settle first.
func Settle(v cty.Value, x hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if !hasDeferred(v) || IsWithheld(v) { // of what is withheld nothing is made here
		return v, nil
	}
	if v.IsWhollyKnown() {
		return settleParts(v, nil)
	}
	tree, diags := Residual(x, ctx)
	if tree == nil {
		return cty.DynamicVal, diags
	}
	settled, more := settleParts(v, tree)
	return settled, append(diags, more...)
}

// settleParts gives each unknown part of v its own expression, by its place within
// the tree that makes v.
func settleParts(v cty.Value, tree *states.Expr) (cty.Value, hcl.Diagnostics) {
	if !v.ContainsMarked() && v.IsWhollyKnown() {
		return v, nil
	}
	v, marks := v.Unmark()
	for m := range marks {
		if _, ok := m.(deferredMark); ok {
			delete(marks, m)
		}
	}
	switch t := v.Type(); {
	case !v.IsKnown():
		if tree == nil {
			return v.WithMarks(marks), nil
		}
		return DeferredValue(tree, t).WithMarks(marks), nil
	case v.IsNull() || !v.CanIterateElements() || v.LengthInt() == 0:
		return v.WithMarks(marks), nil
	case t.IsObjectType() || t.IsMapType():
		elements, diags := settleMap(v, tree)
		if t.IsObjectType() {
			return cty.ObjectVal(elements).WithMarks(marks), diags
		}
		return cty.MapVal(elements).WithMarks(marks), diags
	case t.IsSetType() && !v.IsWhollyKnown() && tree != nil: // which elements it has is not known
		return DeferredValue(tree, t).WithMarks(marks), nil
	case t.IsSetType(): // its elements are known, and without marks
		return v.WithMarks(marks), nil
	default:
		elements, diags := settleList(v, tree)
		if t.IsTupleType() {
			return cty.TupleVal(elements).WithMarks(marks), diags
		}
		return cty.ListVal(elements).WithMarks(marks), diags
	}
}

func settleMap(v cty.Value, tree *states.Expr) (elements map[string]cty.Value, diags hcl.Diagnostics) {
	elements = v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		inner, more := settleElement(elements[name], tree, func() (*states.Expr, error) {
			if v.Type().IsObjectType() {
				return getNode(tree, name, tree.Range)
			}
			return indexNode(tree, cty.StringVal(name), tree.Range)
		})
		elements[name], diags = inner, append(diags, more...)
	}
	return elements, diags
}

func settleList(v cty.Value, tree *states.Expr) (elements []cty.Value, diags hcl.Diagnostics) {
	elements = v.AsValueSlice()
	for i, e := range elements {
		inner, more := settleElement(e, tree, func() (*states.Expr, error) {
			return indexNode(tree, cty.NumberIntVal(int64(i)), tree.Range)
		})
		elements[i], diags = inner, append(diags, more...)
	}
	return elements, diags
}

// settleElement settles an element, whose expression is made only where it is used.
func settleElement(e cty.Value, tree *states.Expr, part func() (*states.Expr, error)) (cty.Value, hcl.Diagnostics) {
	if tree == nil || e.IsWhollyKnown() {
		return settleParts(e, nil)
	}
	inner, err := part()
	if err != nil {
		return cty.DynamicVal, hcl.Diagnostics{sizeError(err, tree)}
	}
	return settleParts(e, inner)
}

func sizeError(err error, x *states.Expr) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: err.Error(), Subject: hclRange(x.Range).Ptr(),
		Detail: "Did you mean to compute less of it on the host?"}
}

package program

import (
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// item is NAME = VALUE in an object.
type item struct {
	name                  string
	value                 cty.Value
	nameRange, valueRange hcl2.Range
}

// items evaluates an attribute that is an object of names and values, each with
// its own place where they are written out. It is not known when the object
// itself is not; a wrong one is reported.
func (e *expressions) items(a *syntax.Attribute, ctx *hcl2.EvalContext, example string) (list []item, known bool) {
	if a == nil {
		return nil, true
	}
	if object, ok := a.Expr.Expression.(*hclsyntax.ObjectConsExpr); ok {
		seen := map[string]hcl2.Range{}
		for _, x := range object.Items {
			part := func(sub hclsyntax.Expression) *syntax.Expression {
				return &syntax.Expression{Expression: sub, Needs: a.Expr.Needs, Bad: a.Expr.Bad}
			}
			key, diags := x.KeyExpr.Value(nil) // most are plain names
			if diags.HasErrors() {
				key = e.value(part(x.KeyExpr), ctx)
			}
			if !key.IsKnown() {
				return list, false
			}
			if key.IsNull() || key.Type() != cty.String || key.IsMarked() {
				e.errorAt(x.KeyExpr.Range(), "write a name", "%s: a name is a string that may be shown", a.Name)
				continue
			}
			if first, twice := seen[key.AsString()]; twice {
				e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s: %q is given twice", a.Name, key.AsString()), Hint: "give it once",
					Range: rangeOf(x.KeyExpr.Range()), Related: []diag.Related{{Message: "first given here", Range: rangeOf(first)}}})
				continue
			}
			seen[key.AsString()] = x.KeyExpr.Range()
			list = append(list, item{key.AsString(), e.deferrableValue(part(x.ValueExpr), ctx), x.KeyExpr.Range(), x.ValueExpr.Range()})
		}
		return list, true
	}
	v := e.deferrableValue(a.Expr, ctx)
	if !v.IsKnown() {
		e.requireKnown(a, v)
		return nil, false
	}
	v, marks := v.Unmark()
	if v.IsNull() {
		return nil, true
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		e.wrongValue(a, fmt.Errorf("an object is required, not a %s", t.FriendlyName()), fmt.Sprintf("write %s = { NAME = VALUE }", example))
		return nil, false
	}
	for it := v.ElementIterator(); it.Next(); {
		name, element := it.Element()
		list = append(list, item{name.AsString(), element.WithMarks(marks), a.Range(), a.Range()})
	}
	return list, true
}

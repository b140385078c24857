package program

import (
	"errors"
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

const windowHint = `write window { hours = "22:00-04:00" }, with days = ["sat", "sun"] and timezone = "Europe/Berlin" if need be`

// window gives the windows of a host or group as one attribute, however they are written; nil: there are none.
func (d *decoder) window(b *syntax.Block) *syntax.Attribute {
	given := b.Body.Attribute("window")
	var objects []hclsyntax.Expression
	var first *syntax.Attribute
	for _, sub := range b.Body.Blocks {
		if sub.Type != "window" || d.check(sub.Body, d.shapes.Window, nil) {
			continue
		}
		if given != nil {
			d.errorAt(sub.TypeRange, "write all of them as blocks, or as a list", "window is given as an attribute, too")
			continue
		}
		one := objectOf(sub)
		if first == nil {
			first = one
		}
		objects = append(objects, one.Expr.Expression)
	}
	if first == nil {
		return given
	}
	list := &hclsyntax.TupleConsExpr{Exprs: objects, SrcRange: objects[0].Range(), OpenRange: objects[0].StartRange()}
	return &syntax.Attribute{Name: "window", NameRange: first.NameRange, Expr: &syntax.Expression{Expression: list}}
}

// windows evaluates windows; nil: there are none.
func (e hostReader) windows(a *syntax.Attribute, ctx *hcl2.EvalContext) (out []site.Window) {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return nil
	}
	v, _ = v.UnmarkDeep()
	values := []cty.Value{v}
	if v.Type().IsTupleType() || v.Type().IsListType() {
		values = v.AsValueSlice()
	}
	for _, one := range values {
		w, err := windowOf(one)
		if err != nil {
			e.wrongValue(a, err, windowHint)
			return nil
		}
		out = append(out, w)
	}
	return out
}

// windowOf reads one.
func windowOf(v cty.Value) (site.Window, error) {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || v.IsNull() {
		return site.Window{}, errors.New("a window is an object")
	}
	var days []string
	texts := map[string]string{}
	for name, value := range v.AsValueMap() {
		switch {
		case value.IsNull():
		case name == "days":
			list, err := expr.Texts(value)
			if err != nil {
				return site.Window{}, fmt.Errorf("its days: %w", err)
			}
			days = list
		case name != "hours" && name != "timezone":
			return site.Window{}, fmt.Errorf("a window has days, hours and timezone, and no %q", name)
		case value.Type() != cty.String:
			return site.Window{}, fmt.Errorf("its %s is text", name)
		default:
			texts[name] = value.AsString()
		}
	}
	if texts["hours"] == "" {
		return site.Window{}, errors.New("a window has hours")
	}
	return site.ParseWindow(days, texts["hours"], texts["timezone"])
}

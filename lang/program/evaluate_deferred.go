package program

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// requireKnown reports a value that depends on a result where none may; ok says that
// it is known and not null.
func (e *expressions) requireKnown(a *syntax.Attribute, v cty.Value) (cty.Value, bool) {
	if expr.IsDeferred(v) {
		e.errorAt(a.Range(), "results may stand in the attributes of parts, in when and in guards; give this a value that is known, such as var.NAME",
			"%s must be known before anything runs, and depends on a result", a.Name)
		return cty.DynamicVal, false
	}
	return v, (v.IsWhollyKnown() || expr.IsWithheld(v)) && !v.IsNull()
}

// deferWhen makes a guard of a when that only the host can decide.
func (e optionValues) deferWhen(out *states.Options, a *syntax.Attribute, v cty.Value) {
	g := states.GuardDeclaration{Range: rangeOf(a.NameRange)}
	if e.deferCondition(&g, a, v, cty.Bool) {
		out.Guards = append(out.Guards, g)
	}
}

// guardCondition evaluates a condition of a guard; one that depends on results goes
// to the host. ok says that it is known and not null.
func (e optionValues) guardCondition(g *states.GuardDeclaration, a *syntax.Attribute, ctx *hcl2.EvalContext) (v cty.Value, ok bool) {
	if a == nil {
		return cty.DynamicVal, false
	}
	v = e.deferrableValue(a.Expr, ctx)
	if !expr.IsDeferred(v) {
		return v, (v.IsWhollyKnown() || expr.IsWithheld(v)) && !v.IsNull()
	}
	want := cty.String
	if a.Name == "command" {
		want = cty.List(cty.String)
	}
	e.deferCondition(g, a, v, want)
	return cty.DynamicVal, false
}

func (e optionValues) deferCondition(g *states.GuardDeclaration, a *syntax.Attribute, v cty.Value, want cty.Type) bool {
	if _, sensitive := expr.Split(v); sensitive {
		e.wrongValue(a, &diag.HintError{Message: "a guard cannot depend on a sensitive value", Hint: "use a value that may be shown"}, "")
		return false
	}
	converted, err := expr.Convert(v, want)
	if err != nil {
		e.wrongValue(a, err, "give it a "+want.FriendlyName())
		return false
	}
	x, err := expr.Tree(converted, rangeOf(a.Range()))
	if err != nil {
		e.wrongValue(a, err, "compute less of it on the host")
		return false
	}
	if g.Results == nil {
		g.Results = map[string]*states.Expr{}
	}
	g.Results[a.Name] = x
	return true
}

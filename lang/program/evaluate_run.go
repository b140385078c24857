package program

import (
	"cmp"
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// run evaluates a run: its state's parts with its params.
func (e *evaluator) run(out *states.Declaration, in *instance, ctx *hcl2.EvalContext) {
	d := in.decl
	target := e.runTarget(d, ctx)
	if target == nil {
		e.doubtful[in.address], e.doubtful[d.base] = true, true
		return
	}
	out.State = target.address
	values := e.runParams(d, target.decl, ctx)
	of := e.optionsOf(target)
	if out.Options.LeftOut = out.Options.LeftOut || of.LeftOut; out.Options.LeftOut {
		e.doubtful[in.address], e.doubtful[d.base] = true, true
		return
	}
	ensure := cmp.Or(out.Options.Ensure, of.Ensure)
	part := &instance{decl: target.decl, address: in.address, each: target.each}
	out.Parts = e.stateParts(part, values, ensure)
	out.Parallel = e.flag(target.decl.parallel, e.context(target), false)
	in.parts = part.parts
}

// runTarget finds the state that a run names.
func (e *evaluator) runTarget(d *declaration, ctx *hcl2.EvalContext) *instance {
	if d.state == nil {
		return nil
	}
	v := e.value(d.state.Expr, ctx)
	if !v.IsKnown() {
		return nil
	}
	refs, err := eval.Refs(v, at(d.state.Range()))
	if err != nil {
		e.wrongValue(d.state, err, "write state = state.NAME")
		return nil
	}
	if len(refs) != 1 || refs[0].Part != "" {
		e.errorAt(d.state.Range(), "write state = state.NAME", "a run names one state")
		return nil
	}
	target := e.instances[refs[0].Address]
	switch {
	case target != nil && target.decl.kind == states.StateKind:
		return target
	case target != nil || e.site.byBase[refs[0].Address] != nil && e.site.byBase[refs[0].Address].kind != states.StateKind:
		e.errorAt(d.state.Range(), "name the state itself", "%s is no state", refs[0].Address)
	case e.doubtful[refs[0].Address] || e.anyDoubtful(refs[0].Address):
	case len(e.expanded[refs[0].Address]) > 0:
		e.errorAt(d.state.Range(), fmt.Sprintf("name one: %s", e.expanded[refs[0].Address][0].address),
			"%s has several instances, and a run names one", refs[0].Address)
	default:
		e.undefinedInstance(refs[0])
	}
	return nil
}

// runParams gives the state's params the run's values.
func (e *evaluator) runParams(d *declaration, state *declaration, ctx *hcl2.EvalContext) map[string]cty.Value {
	given, src := e.runArguments(d, state, ctx)
	values := map[string]cty.Value{}
	for _, p := range state.params {
		v, ok := given[p.name]
		switch {
		case ok && v.IsWhollyKnown() && v.IsNull(), !ok:
			if p.given == nil && given != nil {
				e.errorAt(d.src, fmt.Sprintf("add params = { %s = … }", p.name), "%s needs the param %q", state.base, p.name)
			}
			values[p.name] = cty.DynamicVal
			if p.given != nil {
				values[p.name] = e.paramDefault(p)
			}
		case !v.IsWhollyKnown():
			values[p.name] = cty.DynamicVal
		default:
			values[p.name] = e.paramValue(p, v, src[p.name])
		}
	}
	return values
}

// runArguments evaluates params = { … }; the result is nil when they are not
// known.
func (e *evaluator) runArguments(d *declaration, state *declaration, ctx *hcl2.EvalContext) (map[string]cty.Value, map[string]hcl2.Range) {
	values, places := map[string]cty.Value{}, map[string]hcl2.Range{}
	if d.args == nil {
		return values, places
	}
	var names []string
	for _, p := range state.params {
		names = append(names, p.name)
	}
	take := func(name string, v cty.Value, key, value hcl2.Range) {
		if state.param(name) == nil {
			hint := cmp.Or(eval.DidYouMean(name, names), eval.Choices(names),
				fmt.Sprintf("declare it in the state: param %q { … }", name))
			e.errorAt(key, hint, "%s has no param %q", state.base, name)
			return
		}
		values[name], places[name] = v, value
	}
	if object, ok := d.args.Expr.Expression.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			key := e.value(&syntax.Expression{Expression: item.KeyExpr, Needs: d.args.Expr.Needs, Bad: d.args.Expr.Bad}, ctx)
			if !key.IsKnown() || key.IsNull() || key.Type() != cty.String || key.IsMarked() {
				continue
			}
			v := e.value(&syntax.Expression{Expression: item.ValueExpr, Needs: d.args.Expr.Needs, Bad: d.args.Expr.Bad}, ctx)
			take(key.AsString(), v, item.KeyExpr.Range(), item.ValueExpr.Range())
		}
		return values, places
	}
	v := e.value(d.args.Expr, ctx)
	if !v.IsKnown() {
		return nil, nil
	}
	v, marks := v.Unmark()
	if t := v.Type(); v.IsNull() || !t.IsObjectType() && !t.IsMapType() {
		if !v.IsNull() {
			e.wrongValue(d.args, fmt.Errorf("an object is required, not a %s", t.FriendlyName()), "write params = { NAME = VALUE }")
			return nil, nil
		}
		return values, places
	}
	for name, element := range v.AsValueMap() {
		take(name, element.WithMarks(marks), d.args.Range(), d.args.Range())
	}
	return values, places
}

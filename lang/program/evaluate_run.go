package program

import (
	"cmp"
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// run evaluates a run: its state's parts with its params.
func (e *evaluator) run(out *states.Declaration, in *instance, ctx *hcl2.EvalContext) {
	d := in.decl
	target, without := e.runTarget(d, ctx)
	if without != "" { // the run of what is left out is left out
		out.State, out.Options.LeftOut = without, true
		e.empty = append(e.empty, without)
	}
	if target == nil {
		e.doubtful[in.address], e.doubtful[e.prefix+d.base] = true, true
		return
	}
	out.State = target.address
	values := e.runParams(d, target, ctx)
	of := target.owner.optionsOf(target)
	if out.Options.LeftOut = out.Options.LeftOut || of.LeftOut; out.Options.LeftOut {
		e.doubtful[in.address], e.doubtful[e.prefix+d.base] = true, true
		return
	}
	ensure := cmp.Or(out.Options.Ensure, of.Ensure)
	owner := target.owner
	part := &instance{decl: target.decl, address: in.address, each: target.each, owner: owner}
	out.Parts = partValues{owner.expressions}.stateParts(part, values, ensure)
	out.Parallel = owner.flag(target.decl.parallel, owner.context(target), false)
	in.parts = part.parts
}

// runTarget finds the state that a run names. Without is its address where the
// host does not have it, or it is left out with its component.
func (e *evaluator) runTarget(d *declaration, ctx *hcl2.EvalContext) (target *instance, without string) {
	if d.state == nil {
		return nil, ""
	}
	v := e.value(d.state.Expr, ctx)
	if !v.IsKnown() {
		return nil, ""
	}
	refs, err := expr.Refs(v, rangeOf(d.state.Range()))
	if err != nil {
		e.wrongValue(d.state, err, "write state = state.NAME")
		return nil, ""
	}
	if len(refs) != 1 || refs[0].Part != "" {
		e.errorAt(d.state.Range(), "write state = state.NAME", "a run names one state")
		return nil, ""
	}
	target, base := e.instances[refs[0].Address], e.bases[refs[0].Address]
	switch {
	case target != nil && target.decl.kind == states.StateKind:
		return target, ""
	case target != nil, base != nil && base.kind != states.StateKind:
		e.errorAt(d.state.Range(), "name the state itself", "%s is no state", refs[0].Address)
	case e.doubtful[refs[0].Address] || referenceCheck{e.evaluation}.isDoubtful(refs[0].Address):
	case len(e.instancesByBase[refs[0].Address]) > 0:
		e.errorAt(d.state.Range(), fmt.Sprintf("name one: %s", e.instancesByBase[refs[0].Address][0].address),
			"%s has several instances, and a run names one", refs[0].Address)
	case e.isOmitted(refs[0].Address):
		return nil, refs[0].Address
	default:
		referenceCheck{e.evaluation}.undefinedInstance(refs[0])
	}
	return nil, ""
}

// runParams gives the state's params the run's values.
func (e *evaluator) runParams(d *declaration, target *instance, ctx *hcl2.EvalContext) map[string]cty.Value {
	state := target.decl
	given, src := e.runArguments(d, state, ctx)
	values := map[string]cty.Value{}
	for _, p := range state.params {
		v, ok := given[p.name]
		switch {
		case ok && v.IsWhollyKnown() && v.IsNull(), !ok:
			if p.attr == nil && given != nil {
				e.errorAt(d.src, fmt.Sprintf("add params = { %s = … }", p.name), "%s needs the param %q", state.base, p.name)
			}
			values[p.name] = cty.DynamicVal
			if p.attr != nil {
				values[p.name] = partValues{target.owner.expressions}.paramDefault(p)
			}
		case !v.IsWhollyKnown() && !expr.IsWithheld(v) && !expr.IsDeferred(v):
			values[p.name] = cty.DynamicVal
		default:
			values[p.name] = partValues{e.expressions}.paramValue(p, v, src[p.name])
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
	items, known := e.items(d.args, ctx, "params")
	if !known {
		return nil, nil
	}
	for _, item := range items {
		if state.param(item.name) == nil {
			hint := cmp.Or(diag.DidYouMean(item.name, names), diag.Choices(names),
				fmt.Sprintf("declare it in the state: param %q { … }", item.name))
			e.errorAt(item.nameRange, hint, "%s has no param %q", state.base, item.name)
			continue
		}
		values[item.name], places[item.name] = item.value, item.valueRange
	}
	return values, places
}

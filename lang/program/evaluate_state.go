package program

import (
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// state evaluates a state or a top-level part.
func (e *evaluator) state(out *states.Declaration, in *instance) {
	d := in.decl
	values := map[string]cty.Value{}
	given := e.hookArguments(in)
	for _, p := range d.params {
		out.ParamNames = append(out.ParamNames, p.name)
		if v, ok := given[p.name]; ok {
			values[p.name] = partValues{e.expressions}.paramValue(p, v, d.src)
			continue
		}
		if p.attr == nil {
			out.NeedsRun = true
		}
		values[p.name] = partValues{e.expressions}.paramDefault(p)
	}
	out.Lazy = out.Lazy || given != nil
	out.NeedsRun = out.NeedsRun || e.ruleStates[in.address]
	if out.Options.LeftOut {
		in.parts, e.doubtful[in.address] = nil, true
		return
	}
	if out.NeedsRun && d.generate != nil {
		return // a function cannot be called without values
	}
	out.Parts = partValues{e.expressions}.stateParts(in, values, out.Options.Ensure)
	if out.NeedsRun {
		out.Parts = nil // they were only checked
	}
}

// partValues evaluates params, and the parts of a state with them.
type partValues struct{ *expressions }

func (e partValues) paramDefault(p *param) cty.Value {
	if p.attr == nil {
		return cty.UnknownVal(p.convert.Type)
	}
	v := e.deferrableValue(p.attr.Expr, e.root)
	if !v.IsWhollyKnown() && !expr.IsWithheld(v) && !expr.IsDeferred(v) {
		return v
	}
	return e.paramValue(p, v, p.attr.Range())
}

func (e partValues) paramValue(p *param, v cty.Value, src hcl2.Range) cty.Value {
	converted, err := p.convert.Resolve([]expr.Assignment{{Value: v, Range: rangeOf(src)}})
	if err != nil {
		err.Summary = fmt.Sprintf("the value of param %q does not fit its type", p.name)
		err.Hint = strings.Replace(err.Hint, "variable's", "param's", 1)
		e.list.Add(*err)
		return cty.DynamicVal
	}
	return converted
}

// stateParts evaluates the parts of a state with these params.
func (e partValues) stateParts(in *instance, params map[string]cty.Value, ensure states.Ensure) []states.PartDeclaration {
	d := e.generateParts(in, params)
	ctx := e.root.NewChild()
	ctx.Variables = make(map[string]cty.Value, len(params)+2)
	for name, v := range params {
		ctx.Variables["param."+name] = v
	}
	if in.each != nil {
		in.each.set(ctx, "each.")
	}
	if !d.topLevel {
		ctx.Functions = map[string]function.Function{expr.RefFunction: e.resolver(d.entry)}
	}
	out := make([]states.PartDeclaration, 0, len(d.parts))
	if in.parts == nil {
		in.parts = map[string]bool{}
	}
	for _, p := range d.parts {
		turns, ok := e.partTurns(p, ctx)
		if !ok {
			e.doubtful[in.address] = true
		}
		out = slices.Grow(out, len(turns))
		for _, turn := range turns {
			before := len(e.list)
			made := e.part(p, in, turn, ctx, ensure)
			addCalls(e.list, before, p.calls)
			in.parts[made.Address] = true
			out = append(out, made)
		}
	}
	return out
}

// part evaluates one instance of a part.
func (e partValues) part(p *part, in *instance, turn *each, ctx *hcl2.EvalContext, ensure states.Ensure) states.PartDeclaration {
	input := expr.PartInput{Module: p.module, Label: p.label, Range: rangeOf(p.src), Dir: ".", Doubtful: p.doubtful}
	// A part at top level has the loop of its declaration, and no other.
	if turn != nil || in.each != nil && !in.decl.topLevel {
		ctx = partContext(ctx, turn, in.each)
	}
	switch {
	case turn != nil:
		input.Key = &turn.key
	case in.decl.topLevel && in.each != nil:
		input.Key = &in.each.key
	}
	options := optionValues(e).options(p.options, p.guards, ctx)
	input.Sensitive = options.Sensitive
	if !options.LeftOut {
		for _, a := range p.attributes {
			input.Attributes = append(input.Attributes, expr.Attribute{
				Name: a.Name, Value: e.deferrableValue(a.Expr, ctx), Range: rangeOf(a.Range())})
		}
	} else {
		return e.parts.OmittedPart(input, options)
	}
	made, _, list := e.parts.Part(input)
	e.list.Add(list...)
	made.Options = options
	made.Options.Doubtful = options.Doubtful || p.doubtful
	if options.Retain != states.RetainAll || options.Ensure != "" {
		e.checkAbsent(p, in, options.Ensure, ensure)
	}
	if options.Retain.Count() > 0 {
		e.checkRetain(p, in, &made)
	}
	return made
}

// partContext adds each and each.parent. A part without a loop of its own has
// its state's.
func partContext(ctx *hcl2.EvalContext, own, parent *each) *hcl2.EvalContext {
	child := ctx.NewChild()
	child.Variables = make(map[string]cty.Value, 4)
	if parent != nil {
		parent.set(child, "each.parent.")
	}
	if own != nil {
		own.set(child, "each.")
	}
	return child
}

// checkAbsent reports a part that shall be absent though its type cannot be.
func (e partValues) checkAbsent(p *part, in *instance, own, inherited states.Ensure) {
	why := p.module.NoAbsent
	if why == "" || own != states.Absent && (own != "" || inherited != states.Absent) {
		return
	}
	src := p.src
	for _, o := range append(p.options[:len(p.options):len(p.options)], in.decl.options...) {
		if o.Name == "ensure" && (own != "" || in.decl.topLevel) {
			src = o.attr.Range()
			break
		}
	}
	e.errorAt(src, fmt.Sprintf("leave ensure out for it, or give it ensure = \"present\": %s", why),
		"%s cannot be absent", expr.Article(p.module.Name))
}

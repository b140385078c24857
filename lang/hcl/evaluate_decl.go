package hcl

import (
	"cmp"
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/states"
)

// declaration evaluates all instances of a declaration.
func (e *evaluator) declaration(d *declaration) {
	for _, in := range e.expanded[d.base] {
		ctx := e.context(in)
		out := states.Declaration{Kind: d.kind, Address: in.address, Base: d.base, File: d.file, Range: at(d.src),
			TopLevel: d.topLevel, Lazy: d.handler}
		out.Options = *e.optionsOf(in)
		out.Parallel = e.flag(d.parallel, ctx, false)
		out.Lazy = e.flag(d.lazy, ctx, out.Lazy)
		out.Defer = e.flag(d.deferred, ctx, false)
		switch d.kind {
		case states.StateKind:
			e.state(&out, in)
		case states.RunKind:
			e.run(&out, in, ctx)
		case states.BlockKind:
			e.block(&out, d, ctx)
		}
		e.out = append(e.out, out)
	}
}

// context is where an instance's own options and attributes are evaluated.
func (e *evaluator) context(in *instance) *hcl2.EvalContext {
	if in.each == nil {
		return e.root
	}
	ctx := e.root.NewChild()
	ctx.Variables = map[string]cty.Value{}
	in.each.set(ctx, "each.")
	return ctx
}

// optionsOf evaluates the options of an instance once; a run asks for those of
// its state, which may stand after it.
func (e *evaluator) optionsOf(in *instance) *states.Options {
	if in.options == nil {
		options := e.options(in.decl.options, in.decl.guards, e.context(in))
		in.options = &options
	}
	return in.options
}

// flag evaluates a bool.
func (e *evaluator) flag(a *attribute, ctx *hcl2.EvalContext, otherwise bool) bool {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return otherwise
	}
	v, sensitive := eval.Split(v)
	b, err := eval.Bool(v)
	if sensitive {
		err = &eval.HintError{Message: fmt.Sprintf("%s cannot depend on a sensitive value", a.name), Hint: "use a value that may be shown"}
	}
	if err != nil {
		e.wrongValue(a, err, "write true or false")
		return otherwise
	}
	return b
}

// wrongValue reports the value of an attribute; hint serves if the error has
// none.
func (e *evaluator) wrongValue(a *attribute, err error, hint string) {
	d := eval.Diagnose(err, at(a.src()))
	d.Summary = a.name + ": " + d.Summary
	if d.Hint == "" {
		d.Hint = hint
	}
	e.list.Add(d)
}

func (e *evaluator) options(given []option, guards []guard, ctx *hcl2.EvalContext) states.Options {
	var out states.Options
	for _, o := range given {
		if o.Refs {
			o.AddRefs(&out, e.refs(o.given, ctx))
			continue
		}
		v, ok := e.attribute(o.given, ctx)
		if !ok {
			continue
		}
		if err := o.Set(&out, v); err != nil {
			e.wrongValue(o.given, err, "see the options in the language's description")
		}
	}
	if out.LeftOut {
		return out
	}
	for _, g := range guards {
		out.Guards = append(out.Guards, e.guard(g, ctx))
	}
	return out
}

// refs evaluates references. The elements of a list that is written out each
// have their own range.
func (e *evaluator) refs(a *attribute, ctx *hcl2.EvalContext) []states.Ref {
	if a == nil {
		return nil
	}
	var out []states.Ref
	each := []hclsyntax.Expression{a.expr.Expression}
	if tuple, ok := a.expr.Expression.(*hclsyntax.TupleConsExpr); ok {
		each = tuple.Exprs
	}
	for _, x := range each {
		v := e.value(&expression{Expression: x, needs: a.expr.needs, bad: a.expr.bad}, ctx)
		refs, err := eval.Refs(v, at(x.Range()))
		if err != nil {
			d := eval.Diagnose(err, at(x.Range()))
			d.Summary = a.name + ": " + d.Summary
			e.list.Add(d)
		}
		out = append(out, refs...)
	}
	return out
}

func (e *evaluator) guard(g guard, ctx *hcl2.EvalContext) states.GuardDeclaration {
	out := states.GuardDeclaration{Unless: g.unless, Range: at(g.src)}
	e.guardPath(&out.Exists, g.exists, ctx)
	e.guardPath(&out.Missing, g.missing, ctx)
	if v, ok := e.attribute(g.command, ctx); ok {
		argv, err := eval.Texts(v)
		if err == nil && len(argv) == 0 {
			err = fmt.Errorf("the list is empty")
		}
		if err != nil {
			e.wrongValue(g.command, err, `write the program and its arguments: ["test", "-s", "/etc/motd"]`)
		}
		out.Command = argv
	}
	out.WouldChange = eval.SortRefs(e.refs(g.wouldChange, ctx))
	return out
}

func (e *evaluator) guardPath(to *string, a *attribute, ctx *hcl2.EvalContext) {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return
	}
	v, sensitive := eval.Split(v)
	text, err := eval.Text(v)
	switch {
	case sensitive:
		err = &eval.HintError{Message: "a guard cannot depend on a sensitive value", Hint: "use a value that may be shown"}
	case err == nil:
		text, err = e.parts.HostPath(text)
	}
	if err != nil {
		e.wrongValue(a, err, `write an absolute path: "/etc/motd"`)
	}
	*to = text
}

// state evaluates a state or a top-level part.
func (e *evaluator) state(out *states.Declaration, in *instance) {
	d := in.decl
	values := map[string]cty.Value{}
	for _, p := range d.params {
		out.ParamNames = append(out.ParamNames, p.name)
		if p.given == nil {
			out.NeedsRun = true
		}
		values[p.name] = e.paramDefault(p)
	}
	if out.Options.LeftOut {
		in.parts, e.doubtful[in.address] = nil, true
		return
	}
	out.Parts = e.stateParts(in, values, out.Options.Ensure)
	if out.NeedsRun {
		out.Parts = nil // they were only checked
	}
}

func (e *evaluator) paramDefault(p *param) cty.Value {
	if p.given == nil {
		return cty.UnknownVal(p.convert.Type)
	}
	v := e.value(p.given.expr, e.root)
	if !v.IsWhollyKnown() {
		return v
	}
	return e.paramValue(p, v, p.given.src())
}

func (e *evaluator) paramValue(p *param, v cty.Value, src hcl2.Range) cty.Value {
	converted, err := p.convert.Resolve([]eval.Given{{Value: v, Range: at(src)}})
	if err != nil {
		err.Summary = fmt.Sprintf("the value of param %q does not fit its type", p.name)
		err.Hint = "the type stands in the param's declaration"
		e.list.Add(*err)
		return cty.DynamicVal
	}
	return converted
}

// stateParts evaluates the parts of a state with these params.
func (e *evaluator) stateParts(in *instance, params map[string]cty.Value, ensure states.Ensure) []states.PartDeclaration {
	d := in.decl
	ctx := e.root.NewChild()
	ctx.Variables = make(map[string]cty.Value, len(params)+2)
	for name, v := range params {
		ctx.Variables["param."+name] = v
	}
	if in.each != nil {
		in.each.set(ctx, "each.")
	}
	if !d.topLevel {
		ctx.Functions = map[string]function.Function{eval.RefFunction: e.resolver(d.entry)}
	}
	out := make([]states.PartDeclaration, 0, len(d.parts))
	if in.parts == nil {
		in.parts = map[string]bool{}
	}
	for _, p := range d.parts {
		turns, ok := e.forEach(p.forEach, ctx)
		if !ok {
			e.doubtful[in.address] = true
		}
		out = slices.Grow(out, len(turns))
		for _, turn := range turns {
			made := e.part(p, in, turn, ctx, ensure)
			in.parts[made.Address] = true
			out = append(out, made)
		}
	}
	return out
}

// part evaluates one instance of a part.
func (e *evaluator) part(p *part, in *instance, turn *each, ctx *hcl2.EvalContext, ensure states.Ensure) states.PartDeclaration {
	input := eval.PartInput{Module: p.module, Label: p.label, Range: at(p.src), Dir: ".", Doubtful: p.doubtful}
	if turn != nil || in.each != nil {
		ctx = partContext(ctx, turn, in.each)
	}
	switch {
	case turn != nil:
		input.Key = &turn.key
	case in.decl.topLevel && in.each != nil:
		input.Key = &in.each.key
	}
	options := e.options(p.options, p.guards, ctx)
	if !options.LeftOut {
		for _, a := range p.attributes {
			input.Attributes = append(input.Attributes, eval.Attribute{
				Name: a.name, Value: e.value(a.expr, ctx), Range: at(a.src())})
		}
	} else {
		return e.parts.LeftOut(input, options)
	}
	made, _, list := e.parts.Part(input)
	e.list.Add(list...)
	made.Options = options
	e.absent(p, in, options.Ensure, ensure)
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

// absent reports a part that shall be absent though its type cannot be.
func (e *evaluator) absent(p *part, in *instance, own, inherited states.Ensure) {
	why := p.module.NoAbsent
	if why == "" || own != states.Absent && (own != "" || inherited != states.Absent) {
		return
	}
	src := p.src
	for _, o := range append(p.options[:len(p.options):len(p.options)], in.decl.options...) {
		if o.Name == "ensure" && (own != "" || in.decl.topLevel) {
			src = o.given.src()
			break
		}
	}
	e.errorAt(src, fmt.Sprintf("leave ensure out for it, or give it ensure = \"present\": %s", why),
		"a %s cannot be absent", p.module.Name)
}

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
	v := e.value(d.state.expr, ctx)
	if !v.IsKnown() {
		return nil
	}
	refs, err := eval.Refs(v, at(d.state.src()))
	if err != nil {
		e.wrongValue(d.state, err, "write state = state.NAME")
		return nil
	}
	if len(refs) != 1 || refs[0].Part != "" {
		e.errorAt(d.state.src(), "write state = state.NAME", "a run names one state")
		return nil
	}
	target := e.instances[refs[0].Address]
	switch {
	case target != nil && target.decl.kind == states.StateKind:
		return target
	case target != nil || e.site.byBase[refs[0].Address] != nil && e.site.byBase[refs[0].Address].kind != states.StateKind:
		e.errorAt(d.state.src(), "name the state itself", "%s is no state", refs[0].Address)
	case e.doubtful[refs[0].Address] || e.anyDoubtful(refs[0].Address):
	case len(e.expanded[refs[0].Address]) > 0:
		e.errorAt(d.state.src(), fmt.Sprintf("name one: %s", e.expanded[refs[0].Address][0].address),
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
	if object, ok := d.args.expr.Expression.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			key := e.value(&expression{Expression: item.KeyExpr, needs: d.args.expr.needs, bad: d.args.expr.bad}, ctx)
			if !key.IsKnown() || key.IsNull() || key.Type() != cty.String || key.IsMarked() {
				continue
			}
			v := e.value(&expression{Expression: item.ValueExpr, needs: d.args.expr.needs, bad: d.args.expr.bad}, ctx)
			take(key.AsString(), v, item.KeyExpr.Range(), item.ValueExpr.Range())
		}
		return values, places
	}
	v := e.value(d.args.expr, ctx)
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
		take(name, element.WithMarks(marks), d.args.src(), d.args.src())
	}
	return values, places
}

// block evaluates a block's lists.
func (e *evaluator) block(out *states.Declaration, d *declaration, ctx *hcl2.EvalContext) {
	list := func(l refList) []states.Ref { return append(e.refs(l.given, ctx), l.inline...) }
	out.Members, out.Rescue, out.Always = list(d.members), list(d.rescue), list(d.always)
	out.Ordered, out.Recovered = e.flag(d.ordered, ctx, false), e.flag(d.recovered, ctx, false)
}

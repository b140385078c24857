package program

import (
	"context"
	"slices"

	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// oneByOne evaluates units in their order.
func (e *evaluator) oneByOne(ctx context.Context, units []unit) error {
	for _, u := range units {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.evaluateUnit(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// evaluateUnit evaluates an instance, or notes that a declaration has none.
func (e *evaluator) evaluateUnit(ctx context.Context, u unit) error {
	d, base := u.declaration, e.prefix+u.declaration.base
	if u.instance != nil {
		return e.evaluateInstance(ctx, base, u.instance)
	}
	e.empty = append(e.empty, base)
	if d.component != nil {
		e.markEmpty(d.component, base+".")
	}
	return nil
}

// evaluateInstance evaluates one instance of a declaration.
func (e *evaluator) evaluateInstance(ctx context.Context, base string, in *instance) error {
	d := in.decl // those of scripts have one each
	before := len(e.list)
	scope := e.root
	if d.hasOwnValues() {
		scope = e.context(in)
	}
	out := states.Declaration{Kind: d.kind, Address: in.address, Base: base, File: e.prefix + d.file, Range: rangeOf(d.src),
		TopLevel: d.topLevel, Lazy: d.handler}
	out.Options = *e.optionsOf(in)
	out.Parallel = e.flag(d.parallel, scope, false)
	out.Defer = e.flag(d.deferred, scope, false)
	out.Lazy = e.flag(d.lazy, scope, out.Lazy || out.Defer)
	if out.Defer && !out.Lazy {
		e.errorAt(d.lazy.NameRange, "leave lazy out: what is deferred is lazy", "%s is deferred, and cannot be lazy = false", in.address)
	}
	switch {
	case d.component != nil:
		out.Component = true
		err := e.component(ctx, &out, in)
		addCalls(e.list, before, d.calls)
		return err
	case d.kind == states.StateKind:
		e.state(&out, in)
	case d.kind == states.RunKind:
		e.run(&out, in, scope)
	case d.kind == states.BlockKind:
		e.block(&out, d, scope)
	}
	e.emptyParts(d, &out)
	addCalls(e.list, before, d.calls)
	e.out = append(e.out, out)
	return nil
}

// hasOwnValues reports whether the declaration itself, apart from its options
// and parts, holds something to evaluate.
func (d *declaration) hasOwnValues() bool {
	return d.kind != states.StateKind || d.parallel != nil || d.lazy != nil || d.deferred != nil
}

// emptyParts notes the parts whose for_each has no element: who refers to them
// means nothing, and makes no mistake.
func (e *evaluator) emptyParts(d *declaration, out *states.Declaration) {
	if in := e.instances[out.State]; d.kind == states.RunKind && in != nil {
		d = in.decl
	}
	for _, p := range d.parts {
		if p.forEach == nil || slices.ContainsFunc(out.Parts, func(made states.PartDeclaration) bool { return made.Base == p.base }) {
			continue
		}
		e.empty = append(e.empty, out.Address+"."+p.base)
		if out.Base != out.Address {
			e.empty = append(e.empty, out.Base+"."+p.base)
		}
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
		in.options = &states.Options{}
		if len(in.decl.options)+len(in.decl.guards) > 0 {
			*in.options = optionValues{e.expressions}.options(in.decl.options, in.decl.guards, e.context(in))
		}
	}
	return in.options
}

// flag evaluates a bool.
func (e *expressions) flag(a *syntax.Attribute, ctx *hcl2.EvalContext, otherwise bool) bool {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return otherwise
	}
	v, sensitive := expr.Split(v)
	b, err := expr.Bool(v)
	if sensitive {
		err = &diag.HintError{Message: fmt.Sprintf("%s cannot depend on a sensitive value", a.Name), Hint: "use a value that may be shown"}
	}
	if err != nil {
		e.wrongValue(a, err, "write true or false")
		return otherwise
	}
	return b
}

// wrongValue reports the value of an attribute; hint serves if the error has
// none.
func (e *expressions) wrongValue(a *syntax.Attribute, err error, hint string) {
	d := diag.Diagnose(expr.HideReason(err, e.sensitive[a]), rangeOf(a.Range()))
	d.Summary = a.Name + ": " + d.Summary
	if d.Hint == "" {
		d.Hint = hint
	}
	e.list.Add(d)
}

// wrongElement reports an element of a list, which knows best what to do about it.
func (e *expressions) wrongElement(a *syntax.Attribute, i int, err error) {
	src := a.Range()
	if list, ok := a.Expr.Expression.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		src = list.Exprs[i].Range()
	}
	d := diag.Diagnose(expr.HideReason(err, e.sensitive[a]), rangeOf(src))
	d.Summary = a.Name + ": " + d.Summary
	e.list.Add(d)
}

// optionValues evaluates options and guards.
type optionValues struct{ *expressions }

func (e optionValues) options(given []option, guards []guard, ctx *hcl2.EvalContext) states.Options {
	var out states.Options
	for _, o := range given {
		if o.Refs {
			o.AddRefs(&out, e.refs(o.attr, ctx))
			continue
		}
		v := e.deferrableValue(o.attr.Expr, ctx)
		if expr.IsDeferred(v) && o.Name == "when" {
			e.deferWhen(&out, o.attr, v)
			continue
		}
		if v, ok := e.requireKnown(o.attr, v); !ok {
			out.Doubtful = true
		} else if err := o.Set(&out, v); err != nil {
			out.Doubtful = true
			for _, err := range expr.JoinedErrors(err) {
				e.wrongValue(o.attr, err, "see the options in the language's description")
			}
		}
	}
	if out.LeftOut {
		return out
	}
	for _, g := range guards {
		made := e.guard(g, ctx)
		// One whose attributes are all null asks for nothing.
		if made.Exists != "" || made.Missing != "" || made.Command != nil || made.WouldChange != nil || made.Results != nil {
			out.Guards = append(out.Guards, made)
		}
	}
	return out
}

// refs evaluates references. The elements of a list that is written out each
// have their own range.
func (e *expressions) refs(a *syntax.Attribute, ctx *hcl2.EvalContext) []states.Ref {
	if a == nil {
		return nil
	}
	var out []states.Ref
	each := []hclsyntax.Expression{a.Expr.Expression}
	if tuple, ok := a.Expr.Expression.(*hclsyntax.TupleConsExpr); ok {
		each = tuple.Exprs
	}
	for _, x := range each {
		v := e.value(&syntax.Expression{Expression: x, Needs: a.Expr.Needs, Bad: a.Expr.Bad}, ctx)
		refs, err := expr.Refs(v, rangeOf(x.Range()))
		if err != nil {
			d := diag.Diagnose(err, rangeOf(x.Range()))
			d.Summary = a.Name + ": " + d.Summary
			e.list.Add(d)
		}
		out = append(out, refs...)
	}
	return out
}

func (e optionValues) guard(g guard, ctx *hcl2.EvalContext) states.GuardDeclaration {
	out := states.GuardDeclaration{Unless: g.unless, Range: rangeOf(g.src)}
	e.guardPath(&out, &out.Exists, g.exists, ctx)
	e.guardPath(&out, &out.Missing, g.missing, ctx)
	if v, ok := e.guardCondition(&out, g.command, ctx); ok {
		argv, err := guardCommand(v)
		if err == nil && len(argv) == 0 {
			err = fmt.Errorf("the list is empty")
		}
		if err != nil {
			e.wrongValue(g.command, err, `write the program and its arguments: ["test", "-s", "/etc/motd"]`)
		}
		out.Command = argv
	}
	for _, r := range e.refs(g.wouldChange, ctx) {
		if r.Self {
			e.list.Add(diag.Diagnostic{Summary: "would_change cannot name a part of its own state: " + r.Part, Range: r.Range,
				Detail: "It asks for a plan of what else the site declares.", Hint: "declare that part in a state of its own, or at top level, and name it there"})
			continue
		}
		out.WouldChange = append(out.WouldChange, r)
	}
	out.WouldChange = expr.SortRefs(out.WouldChange)
	return out
}

// errSensitiveGuard refuses what plans and records would show.
func errSensitiveGuard() error {
	return &diag.HintError{Message: "a guard cannot depend on a sensitive value", Hint: "use a value that may be shown"}
}

func guardCommand(v cty.Value) ([]string, error) {
	if _, sensitive := expr.Split(v); sensitive {
		return nil, errSensitiveGuard()
	}
	return expr.Texts(v)
}

func (e optionValues) guardPath(g *states.GuardDeclaration, to *string, a *syntax.Attribute, ctx *hcl2.EvalContext) {
	v, ok := e.guardCondition(g, a, ctx)
	if !ok {
		return
	}
	if _, sensitive := expr.Split(v); sensitive {
		e.wrongValue(a, errSensitiveGuard(), "")
		return
	}
	text, err := expr.Text(v)
	if err == nil {
		text, err = e.parts.HostPath(text)
	}
	if err != nil {
		e.wrongValue(a, err, `write an absolute path: "/etc/motd"`)
	}
	*to = text
}

// block evaluates a block's lists.
func (e *evaluator) block(out *states.Declaration, d *declaration, ctx *hcl2.EvalContext) {
	list := func(l refList) []states.Ref {
		refs := e.refs(l.attr, ctx)
		for _, r := range l.inline {
			refs = append(refs, e.withPrefix(r))
		}
		return refs
	}
	out.Members, out.Rescue, out.Always = list(d.members), list(d.rescue), list(d.always)
	out.Ordered, out.Recovered = e.flag(d.ordered, ctx, false), e.flag(d.recovered, ctx, false)
}

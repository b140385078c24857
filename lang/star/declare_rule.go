package star

import (
	"context"
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// declareRule is rule(NAME, data = ref("data.NAME"), select = …, create = …, **options).
func declareRule(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("rule"); err != nil {
		return nil, err
	}
	b, err := r.declare("rule", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return nil, &placedError{argumentCountError("rule"), c.argument(1).src}
	}
	special := map[string]func(starlark.Value, place) error{"data": func(v starlark.Value, at place) error {
		ref, ok := v.(*reference)
		if !ok || len(ref.steps) != 2 || ref.steps[0].key != "data" {
			return &diag.HintError{Message: "the data of a rule is named, and not given", Hint: `write data = ref("data.NAME")`}
		}
		nameRange, _ := c.keyword("data")
		named := &hclsyntax.ScopeTraversalExpr{SrcRange: at.src, Traversal: hcl2.Traversal{
			hcl2.TraverseRoot{Name: "data", SrcRange: at.src}, hcl2.TraverseAttr{Name: ref.steps[1].key, SrcRange: at.src}}}
		b.Body.Attributes = append(b.Body.Attributes, &syntax.Attribute{Name: "data", NameRange: nameRange, Expr: &syntax.Expression{Expression: named}})
		return nil
	}, "hosts": func(v starlark.Value, at place) error { return r.ruleHosts(b, c, v, at) }}
	if err := r.keywords(b, nil, c, kwargs, special); err != nil {
		return nil, err
	}
	r.add(b)
	return r.reference(b), nil
}

// ruleHosts takes the hosts of a rule: a pattern, a list of them, or a function that gives these for a node.
func (r *run) ruleHosts(b *syntax.Block, c *call, v starlark.Value, at place) error {
	nameRange, _ := c.keyword("hosts")
	fn, ok := v.(*starlark.Function)
	if !ok {
		r.attribute(b, nil, "hosts", nameRange, v, at)
		return nil
	}
	const hint = "it takes those that it declares of node, path and parent: hosts = lambda path: path[\"switches\"]"
	if fn.HasVarargs() || fn.HasKwargs() {
		return &placedError{&diag.HintError{Message: "the function of hosts takes any arguments", Hint: hint}, at.src}
	}
	for i := range fn.NumParams() {
		name, _ := fn.Param(i)
		if !slices.Contains(nodeWords(), name) && fn.ParamDefault(i) == nil {
			return &placedError{&diag.HintError{Message: fmt.Sprintf("the function of hosts takes %q, which a rule does not give", name), Hint: hint}, at.src}
		}
	}
	b.Body.Attributes = append(b.Body.Attributes, &syntax.Attribute{Name: "hosts", NameRange: nameRange,
		Expr: &syntax.Expression{Expression: &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.String), SrcRange: at.src}}})
	b.Hosts = func(values map[string]cty.Value) (cty.Value, error) { return r.callHosts(fn, values) }
	return nil
}

func nodeWords() []string { return []string{"node", "path", "parent"} }

func (r *run) callHosts(fn *starlark.Function, values map[string]cty.Value) (cty.Value, error) {
	if r.ctx.Err() != nil {
		return cty.DynamicVal, context.Cause(r.ctx)
	}
	var args starlark.Tuple
	for i := range fn.NumParams() {
		name, _ := fn.Param(i)
		v := fn.ParamDefault(i)
		if slices.Contains(nodeWords(), name) {
			var err error
			if v, err = starlarkOf(values[name]); err != nil {
				return cty.DynamicVal, err
			}
		}
		args = append(args, v)
	}
	return r.callPlain(fn, args)
}

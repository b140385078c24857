package star

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// operators are the operators of HCL as functions, which take opaque values.
func operators() map[string]*hclsyntax.Operation {
	return map[string]*hclsyntax.Operation{
		"eq": hclsyntax.OpEqual, "ne": hclsyntax.OpNotEqual,
		"lt": hclsyntax.OpLessThan, "le": hclsyntax.OpLessThanOrEqual,
		"gt": hclsyntax.OpGreaterThan, "ge": hclsyntax.OpGreaterThanOrEqual,
		"add": hclsyntax.OpAdd, "sub": hclsyntax.OpSubtract, "mul": hclsyntax.OpMultiply,
		"div": hclsyntax.OpDivide, "mod": hclsyntax.OpModulo,
		"and_": hclsyntax.OpLogicalAnd, "or_": hclsyntax.OpLogicalOr, "not_": hclsyntax.OpLogicalNot,
	}
}

// operator makes a function of an operator.
func (r *run) operator(name string, op *hclsyntax.Operation) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if name == "not_" {
			return r.compute(name, 1, args, kwargs, func(x []hclsyntax.Expression, src hcl2.Range) hclsyntax.Expression {
				return &hclsyntax.UnaryOpExpr{Op: op, Val: x[0], SrcRange: src, SymbolRange: src}
			})
		}
		return r.compute(name, 2, args, kwargs, func(x []hclsyntax.Expression, src hcl2.Range) hclsyntax.Expression {
			return &hclsyntax.BinaryOpExpr{LHS: x[0], Op: op, RHS: x[1], SrcRange: src}
		})
	})
}

// conditional is if_(condition, a, b).
func (r *run) conditional() *starlark.Builtin {
	return starlark.NewBuiltin("if_", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return r.compute("if_", 3, args, kwargs, func(x []hclsyntax.Expression, src hcl2.Range) hclsyntax.Expression {
			return &hclsyntax.ConditionalExpr{Condition: x[0], TrueResult: x[1], FalseResult: x[2], SrcRange: src}
		})
	})
}

// compute makes an expression of n arguments, and its value where all is known.
func (r *run) compute(name string, n int, args starlark.Tuple, kwargs []starlark.Tuple, combine func([]hclsyntax.Expression, hcl2.Range) hclsyntax.Expression) (starlark.Value, error) {
	if len(args) != n || len(kwargs) > 0 {
		return nil, &diag.HintError{Message: name + "() takes " + []string{"", "one argument", "two arguments", "three arguments"}[n],
			Hint: "write them one after the other, without names"}
	}
	c := r.call()
	given := make([]protoExpression, n)
	known := true
	for i, v := range args {
		var err error
		if given[i], err = r.convert(v, c.argument(i)); err != nil {
			return nil, &placedError{err, c.argument(i).src}
		}
		known = known && given[i].make == nil
	}
	out := sum(given)
	out.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		exprs := make([]hclsyntax.Expression, n)
		for i, g := range given {
			exprs[i] = g.expression(in, src)
		}
		return combine(exprs, src)
	}
	if !known {
		return &opaque{run: r, expr: out, what: "the value of " + name + "()", value: cty.DynamicVal}, out.check()
	}
	x := out.make(nil, c.whole)
	expr.NewArithmetic().ReplaceAll(x)
	v, diags := x.Value(nil)
	if diags.HasErrors() {
		return nil, &diagnosticsError{expr.FromHCL(diags)}
	}
	return starlarkOf(v)
}

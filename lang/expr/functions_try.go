package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// try and can are those of HCL's tryfunc, but for marks: whether an expression
// fails may tell something about a sensitive value in it, so that what is
// decided by that is sensitive too.

func tryFunction() function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return try(args) },
	})
}

func canFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			closure := customdecode.ExpressionClosureFromVal(args[0])
			v, diags := closure.Value()
			decided := cty.True
			switch {
			case diags.HasErrors():
				decided = cty.False
			case !v.IsWhollyKnown():
				decided = cty.UnknownVal(cty.Bool)
			}
			return decided.WithMarks(marksOf(v), marksIn(closure)), nil
		},
	})
}

func try(args []cty.Value) (cty.Value, error) {
	if len(args) == 0 {
		return cty.NilVal, errors.New("at least one argument is required")
	}
	var why strings.Builder
	marks := cty.ValueMarks{}
	for _, arg := range args {
		closure := customdecode.ExpressionClosureFromVal(arg)
		v, diags := closure.Value()
		if diags.HasErrors() {
			for _, d := range diags {
				detail, _, _ := strings.Cut(d.Detail, "\ngoroutine ") // a fault of the program has a stack
				fmt.Fprintf(&why, "\n- %s: %s", d.Summary, detail)
			}
			for m := range marksIn(closure) {
				marks[m] = struct{}{}
			}
			continue
		}
		if !v.IsWhollyKnown() {
			// Once it is known it may fail after all, or be of another type.
			return cty.DynamicVal.WithMarks(marksOf(v), marks), nil
		}
		return v.WithMarks(marks), nil
	}
	return cty.NilVal, errors.New("no expression has a value:" + why.String())
}

// marksOf gives the marks that say something about secrecy, at every depth.
func marksOf(v cty.Value) cty.ValueMarks {
	marks := cty.ValueMarks{}
	if v == cty.NilVal || !v.ContainsMarked() {
		return marks
	}
	_, all := v.UnmarkDeep()
	for m := range all {
		_, late := m.(deferredMark)
		if late || m == Sensitive || m == SecretFound || m == Withheld {
			marks[m] = struct{}{}
		}
	}
	return marks
}

// marksIn gives the marks of all that an expression computes with.
func marksIn(c *customdecode.ExpressionClosure) cty.ValueMarks {
	node, ok := c.Expression.(hclsyntax.Expression)
	if !ok {
		return cty.ValueMarks{}
	}
	marks, _ := ingredients(node, c.EvalContext)
	return marks
}

// ingredients gives the marks of all that an expression computes with; all is
// false where it uses what only an expression around it knows.
func ingredients(x hclsyntax.Expression, ctx *hcl.EvalContext) (marks cty.ValueMarks, all bool) {
	marks, all = cty.ValueMarks{}, true
	add := func(v cty.Value) {
		for m := range marksOf(v) {
			marks[m] = struct{}{}
		}
	}
	for _, variable := range x.Variables() {
		v, diags := variable.TraverseAbs(ctx)
		if diags.HasErrors() { // the part that there is not may be of a sensitive whole
			if v, diags = variable[:1].TraverseAbs(ctx); diags.HasErrors() {
				all = false
			}
		}
		add(v)
	}
	for _, v := range secretCalls(x, ctx) {
		marks[Sensitive] = struct{}{}
		add(v)
	}
	for _, v := range literalValues(x, ctx) {
		add(v)
	}
	return marks, all
}

// HasIndex reports whether an expression holds an index whose key is computed.
func HasIndex(x hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		if index, ok := n.(*hclsyntax.IndexExpr); ok {
			_, literal := index.Key.(*hclsyntax.LiteralValueExpr)
			found = found || !literal
		}
		return nil
	})
	return found
}

// MarkIndexed marks the value of an expression with what its index keys are
// marked with: HCL forgets it where an object is indexed, or the key is unknown.
func MarkIndexed(x hclsyntax.Expression, ctx *hcl.EvalContext, v cty.Value) cty.Value {
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		if index, ok := n.(*hclsyntax.IndexExpr); ok {
			marks, all := ingredients(index.Key, ctx)
			if !all { // the key is of a for expression, which goes over anything here
				marks, _ = ingredients(x, ctx)
			}
			v = v.WithMarks(marks)
		}
		return nil
	})
	return v
}

// secretCalls gives the values of all calls in an expression that make a secret,
// though nothing they take is one; unknown for those that need more than ctx, and
// for those of calls, which would be evaluated time and again.
func secretCalls(node hclsyntax.Node, ctx *hcl.EvalContext) []cty.Value {
	var made []cty.Value
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && (call.Name == "secret" || call.Name == "sensitive") {
			v := cty.DynamicVal
			if len(callsIn(call.Args)) == 0 {
				if known, diags := call.Value(ctx); !diags.HasErrors() {
					v = known
				}
			}
			made = append(made, v)
		}
		return nil
	})
	return made
}

func callsIn(list []hclsyntax.Expression) (calls []*hclsyntax.FunctionCallExpr) {
	for _, e := range list {
		_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
				calls = append(calls, call)
			}
			return nil
		})
	}
	return calls
}

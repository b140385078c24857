package expr

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/states"
)

// call keeps the call of a function that a host has too; others must give
// their value now.
func (r *residual) call(x *hclsyntax.FunctionCallExpr, s scope) *states.Expr {
	at := x.Range()
	switch {
	case x.Name == "try" || x.Name == "can":
		return r.attempt(x, s)
	case isHostFunction(x.Name):
		return r.node(states.Expr{Kind: states.ExprCall, Name: x.Name, Flag: x.ExpandFinal, Args: r.expressions(x.Args, s)}, at)
	case x.Name == "template" && len(x.Args) == 2 && !x.ExpandFinal:
		return r.templateFile(x, s)
	case x.Name == HostFunction:
		return r.hostAttribute(x, s)
	}
	v, diags := x.Value(s.ctx)
	r.diags = append(r.diags, diags...)
	switch {
	case diags.HasErrors():
		return nil
	case v.IsKnown() || treeOf(v) != nil && x.Name == RefFunction:
		if !v.IsKnown() && x.Name == RefFunction || v.IsWhollyKnown() {
			return r.knownValue(settleKnown(v), at)
		}
	case !hasDeferred(v):
		return nil // it could not be had
	}
	if strings.Contains(x.Name, "::") {
		return r.addError(at, fmt.Sprintf("%s() cannot be called with a result", x.Name),
			"a function written in Starlark is not on the host; use the language's own functions, or let a command compute it")
	}
	return r.addError(at, fmt.Sprintf("%s() cannot depend on a result", x.Name),
		"it looks at the site, which is read before the host knows any result; give it a value that is known, such as var.NAME")
}

// hostAttribute gives an attribute of a host; of anything else, the steps.
func (r *residual) hostAttribute(x *hclsyntax.FunctionCallExpr, s scope) *states.Expr {
	at := x.Range()
	v, diags := x.Value(s.ctx)
	if !diags.HasErrors() && (v.IsWhollyKnown() || treeOf(v) != nil) {
		return r.knownValue(settleKnown(v), at)
	}
	tree := r.expression(x.Args[0], s)
	for _, arg := range x.Args[1:] {
		if tree == nil {
			return nil
		}
		tree = r.get(tree, arg.(*hclsyntax.LiteralValueExpr).Val.AsString(), at)
	}
	return tree
}

// isHostFunction reports whether a host has the function.
func isHostFunction(name string) bool {
	_, ok := hostFunctions()[name]
	return ok
}

// settleKnown takes the traces of results off a value that is known in spite of them.
func settleKnown(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		v, _ = settleParts(v, nil)
	}
	return v
}

// attempt keeps try() and can(), whose arguments may fail now: one that does
// will never be what try() gives.
func (r *residual) attempt(x *hclsyntax.FunctionCallExpr, s scope) *states.Expr {
	var args []*states.Expr
	var failed hcl.Diagnostics
	for _, arg := range x.Args {
		inner := &residual{}
		made := inner.expression(arg, s)
		switch {
		case inner.diags.HasErrors():
			failed = append(failed, inner.diags...)
		case made == nil:
			return nil // it could not be had
		default:
			args = append(args, made)
		}
	}
	switch {
	case len(args) > 0:
		return r.node(states.Expr{Kind: states.ExprCall, Name: x.Name, Args: args}, x.Range())
	case x.Name == "can" && len(x.Args) == 1:
		return r.knownValue(cty.False, x.Range())
	}
	r.diags = append(r.diags, failed...)
	return nil
}

// TemplateFunction is the name under which the template files of a site are
// found by Residual; no source can write it.
const TemplateFunction = "(template)"

// templateFile takes in the text of a template over results.
func (r *residual) templateFile(x *hclsyntax.FunctionCallExpr, s scope) *states.Expr {
	at := x.Range()
	vars := r.expression(x.Args[1], s)
	file, isKnown := r.templateName(x.Args[0], s)
	if vars == nil || file == cty.NilVal {
		return nil
	}
	if isKnown && vars.Constant() {
		v, diags := x.Value(s.ctx)
		r.diags = append(r.diags, diags...)
		if diags.HasErrors() {
			return nil
		}
		if v.IsWhollyKnown() { // else a result in it turned out not to matter
			return r.knownValue(settleKnown(v), at)
		}
	}
	if !file.IsKnown() {
		return r.addError(x.Args[0].Range(), "the path of a template cannot depend on a result",
			"the files of the site are read before the host knows any result")
	}
	parsed, err := parsedTemplate(s.ctx, file)
	if err != nil {
		return r.addCallError(x, s, err)
	}
	inner := scope{ctx: &hcl.EvalContext{Functions: parsed.functions}, loops: s.loops}
	v, diags := x.Args[1].Value(s.ctx)
	if diags.HasErrors() {
		r.diags = append(r.diags, diags...)
		return nil
	}
	if v, more := settleParts(v, vars); v.IsKnown() && (v.Type().IsObjectType() || v.Type().IsMapType()) && !v.IsNull() {
		r.diags = append(r.diags, more...)
		unmarked, marks := v.Unmark()
		inner.ctx.Variables = map[string]cty.Value{}
		for name, e := range unmarked.AsValueMap() {
			inner.ctx.Variables[name] = e.WithMarks(marks)
		}
	} else {
		inner.vars = vars
	}
	within := &residual{}
	body := within.expression(parsed.expr, inner)
	switch {
	case within.diags.HasErrors():
		return r.addCallError(x, s, &TemplateError{List: templateHints(FromHCL(within.diags))})
	case body != nil && body.Kind == states.ExprTemplate:
		return body
	}
	return r.node(states.Expr{Kind: states.ExprTemplate, Args: []*states.Expr{body}}, at)
}

// templateName gives the path or the source of a template, unknown where a result decides it. It is
// NilVal where it could not be had, and isKnown says that no result has a part in it.
func (r *residual) templateName(x hclsyntax.Expression, s scope) (file cty.Value, isKnown bool) {
	if v, diags := x.Value(s.ctx); !diags.HasErrors() && v.Type().Equals(SourceType) && v.IsKnown() && !v.IsMarked() {
		return v, true
	}
	path := r.expression(x, s)
	if path == nil {
		return cty.NilVal, false
	}
	name, isText := path.Value.(string)
	if path.Kind != states.ExprLiteral || !isText || path.Sensitive {
		return cty.UnknownVal(cty.String), path.Constant()
	}
	return cty.StringVal(name), true
}

// addCallError reports what template() says.
func (r *residual) addCallError(x *hclsyntax.FunctionCallExpr, s scope, err error) *states.Expr {
	at := x.Range()
	r.diags = append(r.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Subject: &at, Expression: x, EvalContext: s.ctx, Extra: callError{x.Name, err}})
	return nil
}

// parsedTemplate finds a template file by the context's own function for it.
func parsedTemplate(ctx *hcl.EvalContext, file cty.Value) (*template, error) {
	for ; ctx != nil; ctx = ctx.Parent() {
		if f, ok := ctx.Functions[TemplateFunction]; ok {
			v, err := f.Call([]cty.Value{file})
			if err != nil {
				return nil, err
			}
			return v.EncapsulatedValue().(*template), nil
		}
	}
	return nil, fmt.Errorf("there are no template files here")
}

// callError is what FromHCL knows an error of a function by.
type callError struct {
	name string
	err  error
}

// CalledFunctionName gives the function's name.
func (e callError) CalledFunctionName() string { return e.name }

// FunctionCallError gives what it said.
func (e callError) FunctionCallError() error { return e.err }

var templateType = cty.Capsule("template", reflect.TypeFor[template]())

// templateFinder makes the function of that name for files in dir.
func (f *Files) templateFinder(dir string, chain []string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{fileParameter()},
		Type:   function.StaticReturnType(templateType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			files, in, name, err := f.file(dir, args[0])
			if err != nil {
				return cty.UnknownVal(templateType), err
			}
			t, err := files.parse(in, name, chain)
			if err != nil {
				return cty.UnknownVal(templateType), err
			}
			return cty.CapsuleVal(templateType, t), nil
		},
	})
}

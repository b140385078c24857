package star

import (
	"fmt"
	"path"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// table gives the functions of the language for files in a directory.
func (r *run) table(dir string) map[string]function.Function {
	t := r.tables[dir]
	if t == nil {
		t = r.world.Functions(dir)
		r.tables[dir] = t
	}
	return t
}

// function makes a function of the language one of Starlark. Where Starlark has
// one of that name, which does the same, that one takes what is known; guards
// are those of Starlark's that look at sizes first.
func (r *run) function(name string, guards starlark.StringDict) *starlark.Builtin {
	own, _ := starlark.Universe[name].(*starlark.Builtin)
	if guarded, ok := guards[name].(*starlark.Builtin); ok {
		own = guarded
	}
	return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if own != nil && !anyOpaque(args, kwargs) {
			return own.CallInternal(t, args, kwargs)
		}
		c := r.call()
		dir := path.Dir(c.file.rel)
		impl, ok := r.table(dir)[name]
		if !ok {
			return nil, &diag.HintError{Message: name + "() is not known here", Hint: "leave it out"}
		}
		given, places, err := r.arguments(name, impl, c, args, kwargs)
		if err != nil {
			return nil, err
		}
		return r.apply(name, dir, c, given, places)
	})
}

func anyOpaque(args starlark.Tuple, kwargs []starlark.Tuple) bool {
	is := func(v starlark.Value) bool { _, ok := v.(*opaque); return ok }
	return slices.ContainsFunc(args, is) || slices.ContainsFunc(kwargs, func(pair starlark.Tuple) bool { return is(pair[1]) })
}

// arguments brings arguments into the order of the function's parameters.
func (r *run) arguments(name string, impl function.Function, c *call, args starlark.Tuple, kwargs []starlark.Tuple) ([]protoExpression, []hcl2.Range, error) {
	var given []protoExpression
	var places []hcl2.Range
	add := func(v starlark.Value, at place) error {
		b, err := r.convert(v, at)
		if err != nil {
			if _, already := err.(*placedError); !already {
				err = &placedError{err, at.src}
			}
			return err
		}
		given, places = append(given, b), append(places, at.src)
		return nil
	}
	for i, v := range args {
		if err := add(v, c.argument(i)); err != nil {
			return nil, nil, err
		}
	}
	if name == "template" {
		if err := r.templateVars(c, len(args), kwargs, add); err != nil {
			return nil, nil, err
		}
		return mergeVars(given, places)
	}
	params := impl.Params()
	for len(kwargs) > 0 {
		if len(given) >= len(params) {
			return nil, nil, unknownKeyword(name, impl, kwargs[0])
		}
		next := params[len(given)].Name
		i := slices.IndexFunc(kwargs, func(pair starlark.Tuple) bool { return string(pair[0].(starlark.String)) == next })
		if i < 0 {
			return nil, nil, unknownKeyword(name, impl, kwargs[0])
		}
		_, at := c.keyword(next)
		if err := add(kwargs[i][1], at); err != nil {
			return nil, nil, err
		}
		kwargs = slices.Delete(slices.Clone(kwargs), i, i+1)
	}
	return given, places, nil
}

func unknownKeyword(name string, impl function.Function, pair starlark.Tuple) error {
	text := ""
	for _, p := range impl.Params() {
		text += p.Name + ", "
	}
	return &diag.HintError{Message: fmt.Sprintf("%s() takes no argument %s here", name, pair[0]),
		Hint: fmt.Sprintf("its parameters are %sin this order; tenet doc %s", text, name)}
}

// templateVars takes the variables of template(PATH, name = value, …).
func (r *run) templateVars(c *call, positional int, kwargs []starlark.Tuple, add func(starlark.Value, place) error) error {
	if positional == 0 {
		i := slices.IndexFunc(kwargs, func(pair starlark.Tuple) bool { return pair[0] == starlark.String("path") })
		if i < 0 {
			return &diag.HintError{Message: "template() needs the path of a file", Hint: `write template("FILE", name = value, …)`}
		}
		_, at := c.keyword("path")
		if err := add(kwargs[i][1], at); err != nil {
			return err
		}
		kwargs = slices.Delete(slices.Clone(kwargs), i, i+1)
	}
	if len(kwargs) == 0 && positional > 1 {
		return nil
	}
	vars := starlark.NewDict(len(kwargs))
	for _, pair := range kwargs {
		if err := vars.SetKey(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return add(vars, place{src: c.whole, file: c.file})
}

// mergeVars joins the dict of template(PATH, {…}, name = value).
func mergeVars(given []protoExpression, places []hcl2.Range) ([]protoExpression, []hcl2.Range, error) {
	if len(given) != 3 {
		return given, places, nil
	}
	vars, more := given[1], given[2]
	merged := sum(given[1:])
	merged.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		return callExpr("merge", []hclsyntax.Expression{vars.expression(in, src), more.expression(in, src)}, src)
	}
	return []protoExpression{given[0], merged}, places[:2], nil
}

// callExpr is a call in the tree.
func callExpr(name string, args []hclsyntax.Expression, src hcl2.Range) hclsyntax.Expression {
	return &hclsyntax.FunctionCallExpr{Name: name, Args: args, NameRange: src, OpenParenRange: src, CloseParenRange: src}
}

// apply calls a function: at once where all is known, else later.
func (r *run) apply(name, dir string, c *call, args []protoExpression, places []hcl2.Range) (starlark.Value, error) {
	known := !slices.ContainsFunc(args, func(b protoExpression) bool { return b.make != nil })
	if known {
		if list := r.knownHosts(name, args); list != nil {
			return list, nil
		}
		exprs := make([]hclsyntax.Expression, len(args))
		for i, a := range args {
			exprs[i] = a.expression(nil, places[i])
		}
		v, diags := callExpr(name, exprs, c.whole).Value(&hcl2.EvalContext{Functions: r.table(dir)})
		if diags.HasErrors() {
			return nil, &diagnosticsError{expr.FromHCL(diags)}
		}
		if v.IsWhollyKnown() && !v.ContainsMarked() {
			if name == "hosts" {
				return r.hostList(args, v)
			}
			return starlarkOf(v)
		}
		r.lacking = r.lacking || !v.ContainsMarked()
		return r.opaqueCall(name, dir, args, places, v), nil
	}
	out := r.opaqueCall(name, dir, args, places, cty.DynamicVal)
	return out, out.expr.check()
}

// opaqueCall is a call as an opaque value. Paths are relative to the file of the
// call, and the evaluator's to the directory of the scripts.
func (r *run) opaqueCall(name, dir string, args []protoExpression, places []hcl2.Range, v cty.Value) *opaque {
	if readsFiles(name) && len(args) > 0 && args[0].make == nil && args[0].literal.Type() == cty.String && !args[0].literal.IsNull() {
		args = slices.Clone(args)
		args[0] = literal(cty.StringVal(relative(dir, args[0].literal.AsString())))
	}
	call := sum(args)
	call.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		exprs := make([]hclsyntax.Expression, len(args))
		for i, a := range args {
			exprs[i] = a.expression(in, places[i])
		}
		return callExpr(name, exprs, src)
	}
	return &opaque{run: r, expr: call, what: "the value of " + name + "()", value: v}
}

func readsFiles(name string) bool {
	return name == "template" || name == "read" || name == "exists"
}

// relative names a file, which a script in dir names, from the directory of the
// scripts.
func relative(dir, name string) string {
	if dir == "." || path.IsAbs(name) || name == "" {
		return name
	}
	return path.Join(dir, name)
}

// diagnosticsError carries what an evaluation has found.
type diagnosticsError struct{ list diag.List }

// Error gives the first.
func (d *diagnosticsError) Error() string { return d.list[0].Error() }

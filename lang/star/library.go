package star

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Functions runs a file that declares nothing, and gives its functions. Names
// that begin with "_" are its own.
func (s *Scripts) Functions(ctx context.Context, name string, w syntax.World) (map[string]function.Function, diag.List) {
	p := newParser(s.options)
	f, err := p.load(&file{}, libraryName(name))
	if err != nil {
		return nil, diag.List{diag.Diagnose(err, diag.Range{})}
	}
	if len(p.list) > 0 {
		return nil, p.list.Sorted()
	}
	r := newRun(ctx, s.options, p.files, w)
	r.library = true
	globals, _ := r.exec(f)
	if r.list.HasErrors() {
		return nil, r.list
	}
	out := map[string]function.Function{}
	for name, v := range globals {
		if fn, ok := v.(*starlark.Function); ok && name[0] != '_' {
			out[name] = r.exportFunction(fn)
		}
	}
	return out, nil
}

// exportFunction makes a function of the script one of the language.
func (r *run) exportFunction(fn *starlark.Function) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true,
			AllowDynamicType: true, AllowMarked: true},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return r.callExported(fn, args) },
	})
}

func (r *run) callExported(fn *starlark.Function, args []cty.Value) (cty.Value, error) {
	given := make(starlark.Tuple, len(args))
	marks := cty.ValueMarks{}
	for i, arg := range args {
		plain, found := arg.UnmarkDeep()
		for m := range found {
			if m != expr.Sensitive && m != expr.Withheld {
				return cty.DynamicVal, deferredArgumentError(fn, i)
			}
			marks[m] = struct{}{}
		}
		if !plain.IsWhollyKnown() {
			if len(found) == 0 && arg.IsKnown() {
				return cty.DynamicVal, deferredArgumentError(fn, i)
			}
			return cty.DynamicVal.WithMarks(found), nil // why it is not known was said, or it is withheld
		}
		var err error
		if given[i], err = starlarkOf(plain); err != nil {
			return cty.DynamicVal, function.NewArgError(i, err)
		}
	}
	v, err := r.callPlain(fn, given)
	if err != nil && len(marks) > 0 {
		err = errors.New("the function fails; the reason may show a sensitive value, and is hidden")
	}
	if err != nil {
		return cty.DynamicVal, err
	}
	return v.WithMarks(marks), nil
}

func deferredArgumentError(fn *starlark.Function, i int) error {
	return function.NewArgError(i, &diag.HintError{
		Message: fmt.Sprintf("%s is a function of a script, and cannot take a value that is known only on the host", fn.Name()),
		Hint:    "use functions of the language, such as format() or replace()"})
}

// callPlain calls a function, and gives what it returns.
func (r *run) callPlain(fn *starlark.Function, args starlark.Tuple) (cty.Value, error) {
	before := len(r.list)
	defer func() { r.list, r.stopReason = r.list[:before], nil; r.thread.Uncancel() }()
	stop := r.watch()
	v, err := starlark.Call(r.thread, fn, args, nil)
	stop()
	if r.stopReason != nil {
		err = r.stopReason.err
	}
	if err == nil {
		var b protoExpression
		if b, err = r.convert(v, place{}); err == nil && b.make == nil {
			return b.literal, nil
		} else if err == nil {
			err = &diag.HintError{Message: "the function gives a value that is not known yet", Hint: "compute it from the arguments"}
		}
	}
	err = r.checkLimits(err)
	if r.ctx.Err() != nil {
		return cty.DynamicVal, context.Cause(r.ctx)
	}
	return cty.DynamicVal, &FunctionError{List: r.report(err, nil)}
}

// FunctionError is what is wrong in a function of a script, with the place
// there.
type FunctionError struct{ List diag.List }

// Error gives the place and the mistake.
func (e *FunctionError) Error() string {
	if len(e.List) == 0 {
		return "the function fails"
	}
	d := e.List[0]
	text := d.Summary
	if !d.Range.IsZero() {
		text = fmt.Sprintf("%s: %s", d.Range, text)
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

// Unwrap gives the advice, as a *diag.HintError.
func (e *FunctionError) Unwrap() error {
	i := slices.IndexFunc(e.List, func(d diag.Diagnostic) bool { return d.Hint != "" })
	if i < 0 {
		return nil
	}
	return &diag.HintError{Message: e.List[i].Summary, Hint: e.List[i].Hint}
}

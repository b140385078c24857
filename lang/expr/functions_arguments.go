package expr

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tenetcm/tenet/lang/diag"
)

// checkArguments is a function that refuses arguments which it could not work with, before its
// own types and code see them: cty's own functions fail in ways that explain nothing. The
// arguments come without marks, as they are else: null, unknown, or of another type.
func checkArguments(f function.Function, check func(args []cty.Value) error) function.Function {
	look := func(args []cty.Value) error {
		plain := make([]cty.Value, len(args))
		for i, a := range args {
			plain[i], _ = a.UnmarkDeep()
		}
		return check(plain)
	}
	params := f.Params()
	for i := range params {
		params[i] = relaxParameter(params[i])
	}
	rest := f.VarParam()
	if rest != nil {
		p := relaxParameter(*rest)
		rest = &p
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      params, VarParam: rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := look(args); err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// isPresent reports whether a value is known and not null.
func isPresent(v cty.Value) bool { return v.IsKnown() && !v.IsNull() }

// setFunction is one of cty's functions over sets, which cannot work with sets whose
// types are not known yet.
func setFunction(f function.Function) function.Function {
	params, rest := f.Params(), f.VarParam()
	for i := range params {
		params[i].AllowDynamicType = false
	}
	if rest != nil {
		p := *rest
		p.AllowDynamicType = false
		rest = &p
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      params, VarParam: rest,
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// mergeFunction passes over null, as Terraform's does.
func mergeFunction() function.Function {
	return checkArguments(stdlib.MergeFunc, func(args []cty.Value) error {
		for i, a := range args {
			if t := a.Type(); t != cty.DynamicPseudoType && !t.IsMapType() && !t.IsObjectType() {
				return function.NewArgErrorf(i, "a map or an object is required, not %s", TypeName(t))
			}
		}
		return nil
	})
}

func indentFunction() function.Function {
	return checkArguments(stdlib.IndentFunc, func(args []cty.Value) error {
		if isPresent(args[0]) && args[0].Type() == cty.Number && args[0].AsBigFloat().Sign() < 0 {
			return function.NewArgErrorf(0, "the number of spaces must not be negative")
		}
		return nil
	})
}

// logFunction has a logarithm of what has one.
func logFunction() function.Function {
	return limitNumbers(checkArguments(stdlib.LogFunc, func(args []cty.Value) error {
		for i, a := range args {
			if !isPresent(a) || a.Type() != cty.Number {
				continue
			}
			if a.AsBigFloat().Sign() <= 0 {
				return function.NewArgErrorf(i, "a number greater than zero is required")
			}
			if one, _ := a.AsBigFloat().Float64(); i == 1 && one == 1 {
				return function.NewArgErrorf(i, "there is no logarithm to the base 1")
			}
		}
		return nil
	}))
}

func powFunction() function.Function {
	return checkArguments(stdlib.PowFunc, func(args []cty.Value) error {
		for _, a := range args {
			if !isPresent(a) || a.Type() != cty.Number {
				return nil
			}
		}
		base, exponent := args[0].AsBigFloat(), args[1].AsBigFloat()
		switch {
		case base.Sign() < 0 && !exponent.IsInt():
			return errors.New("a negative number has only powers with a whole exponent")
		case base.Sign() == 0 && exponent.Sign() < 0:
			return errors.New("zero has no power with a negative exponent")
		}
		return nil
	})
}

// zipmapFunction refuses keys that are null.
func zipmapFunction() function.Function {
	return checkArguments(stdlib.ZipmapFunc, func(args []cty.Value) error {
		if !isPresent(args[0]) || !args[0].CanIterateElements() {
			return nil
		}
		for i, key := range args[0].AsValueSlice() {
			if key.IsNull() {
				return function.NewArgErrorf(0, "key number %d is null", i+1)
			}
		}
		return nil
	})
}

// describePanic gives what cty makes of a panic in a function as one line without a stack.
// It is the last resort: no call is known that ends so.
func describePanic(err error) error {
	p, ok := errors.AsType[function.PanicError](err)
	if !ok {
		return err
	}
	return &diag.HintError{Message: fmt.Sprintf("tenet cannot compute this, which is a fault of its own (%v)", p.Value),
		Hint: "write it in another way, and please report the expression to the maintainers of tenet"}
}

package sandbox

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// prefix begins the names of what Compile puts into a program. No source can
// write it.
const prefix = "\x00"

// maxBits is how large an integer may become.
const maxBits = 1 << 16

// binary is the checked form of an operator.
func binary(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(prefix+op.String(),
		func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			x, y := args[0], args[1]
			if isSmall(x) && isSmall(y) {
				return apply(op, x, y)
			}
			if err := checkBinary(op, x, y); err != nil {
				return nil, err
			}
			v, err := apply(op, x, y)
			if err != nil {
				return nil, err
			}
			return v, admit(thread, v)
		})
}

func apply(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		ok, err := starlark.Compare(op, x, y)
		return starlark.Bool(ok), err
	}
	return starlark.Binary(op, x, y)
}

// isSmall reports whether the operators on it make nothing large.
func isSmall(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.Int:
		_, small := v.Int64()
		return small
	case starlark.Bool, starlark.Float, starlark.NoneType:
		return true
	}
	return false
}

// checkBinary refuses what would be too large to make, or to compare.
func checkBinary(op syntax.Token, x, y starlark.Value) error {
	switch op {
	case syntax.PLUS, syntax.PIPE, syntax.CIRCUMFLEX:
		return checkSize(shallowSize(x)+shallowSize(y), "the sum")
	case syntax.STAR:
		return checkProduct(x, y)
	case syntax.LTLT:
		if n, ok := x.(starlark.Int); ok && n.BigInt().BitLen() > maxBits {
			return tooLarge("the number")
		}
	case syntax.PERCENT:
		if format, ok := x.(starlark.String); ok {
			return checkFormat(string(format), "%", weigh(y))
		}
	case syntax.IN, syntax.NOT_IN:
		if _, ok := y.(starlark.String); !ok && isOrdered(y) {
			return checkSize(weigh(y), "what is searched")
		}
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if _, text := x.(starlark.String); !text && x.Type() == y.Type() {
			return checkSize(min(weigh(x), weigh(y)), "what is compared")
		}
	}
	return nil
}

// isOrdered reports whether it is searched element by element.
func isOrdered(v starlark.Value) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple:
		return true
	}
	return false
}

func checkProduct(x, y starlark.Value) error {
	n, number := x.(starlark.Int)
	if !number {
		x, y = y, x
		if n, number = x.(starlark.Int); !number {
			return nil
		}
	}
	if m, both := y.(starlark.Int); both {
		if n.BigInt().BitLen()+m.BigInt().BitLen() > maxBits {
			return tooLarge("the number")
		}
		return nil
	}
	times, ok := n.Int64()
	if !ok && n.Sign() > 0 || ok && times > MaxValue {
		times = MaxValue // more than enough
		if shallowSize(y) > 0 {
			return tooLarge("the repetition")
		}
	}
	return checkSize(shallowSize(y)*max(times, 0), "the repetition")
}

// checkFormat refuses a text with these marks, each of which may stand for
// arguments of that weight. Quoting makes of one byte at most ten.
func checkFormat(format, mark string, weight int64) error {
	fields := int64(strings.Count(format, mark))
	if fields > 0 && weight > MaxValue {
		return tooLarge("the text")
	}
	return checkSize(int64(len(format))+fields*weight, "the text")
}

func checkSize(size int64, what string) error {
	if size > MaxValue {
		return tooLarge(what)
	}
	return nil
}

// checkAugmented checks x OP= y before it is done, and gives y. It cannot see x
// where that is more than a name.
func checkAugmented(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(prefix+op.String()+"=",
		func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			y := args[len(args)-1]
			if len(args) == 1 {
				return y, charge(thread, shallowSize(y))
			}
			x := args[0]
			if isSmall(x) && isSmall(y) {
				return y, nil
			}
			if err := checkBinary(op, x, y); err != nil {
				return nil, err
			}
			// Lists grow in place; texts are made anew.
			size := shallowSize(y)
			if _, list := x.(*starlark.List); !list {
				size += shallowSize(x)
			}
			if op == syntax.STAR {
				size = productSize(x, y)
			}
			return y, charge(thread, size)
		})
}

// productSize is the size of a product that checkBinary has let through.
func productSize(x, y starlark.Value) int64 {
	if n, ok := y.(starlark.Int); ok {
		if times, ok := n.Int64(); ok {
			return shallowSize(x) * max(times, 1)
		}
	}
	if n, ok := x.(starlark.Int); ok {
		if times, ok := n.Int64(); ok {
			return shallowSize(y) * max(times, 1)
		}
	}
	return shallowSize(x) + shallowSize(y)
}

// admitResult admits what an expression has made: a tuple, a slice, the values of
// *args.
func admitResult(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], admit(thread, args[0])
}

// checkSpread checks what is given as *args or **kwargs.
func checkSpread(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if _, ok := args[0].(starlark.Iterable); ok && starlark.Len(args[0]) < 0 {
		return nil, fmt.Errorf("a %s cannot be spread over arguments", args[0].Type())
	}
	if err := checkSize(shallowSize(args[0]), "the arguments"); err != nil {
		return nil, err
	}
	return args[0], charge(thread, shallowSize(args[0]))
}

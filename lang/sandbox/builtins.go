package sandbox

import (
	"fmt"
	"maps"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Environment gives the names that a compiled program sees: those given, and
// the checked forms of Starlark's own functions and operators.
func Environment(names starlark.StringDict) starlark.StringDict {
	env := functions()
	for _, op := range checkedOperators() {
		env[prefix+op.String()] = binary(op)
		env[prefix+op.String()+"="] = checkAugmented(op)
	}
	env[prefix+"keep"] = starlark.NewBuiltin(prefix+"keep", admitResult)
	env[prefix+"spread"] = starlark.NewBuiltin(prefix+"spread", checkSpread)
	env[prefix+"attr"] = starlark.NewBuiltin(prefix+"attr", checkedAttr)
	maps.Copy(env, names)
	return env
}

func checkedOperators() []syntax.Token {
	return []syntax.Token{
		syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.PERCENT, syntax.PIPE, syntax.AMP, syntax.CIRCUMFLEX, syntax.LTLT,
		syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.IN, syntax.NOT_IN,
	}
}

// check looks at arguments before a function gets them; self is a method's
// receiver, or nil.
type check func(self starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// functions are the checked forms of the universal functions that make much of
// little, or go through much in one step.
func functions() starlark.StringDict {
	env := starlark.StringDict{}
	for name, before := range map[string]check{
		"all": checkCounts, "any": checkCounts, "bytes": checkCounts, "dict": checkCounts, "enumerate": checkCounts,
		"list": checkCounts, "reversed": checkCounts, "set": checkCounts, "tuple": checkCounts, "zip": checkCounts,
		"max": checkContents, "min": checkContents, "sorted": checkContents,
		"fail": checkContents, "print": checkContents, "repr": checkContents, "str": checkContents,
		"int": checkDigits, "float": checkDigits,
	} {
		original := starlark.Universe[name].(*starlark.Builtin)
		env[name] = starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return callChecked(thread, original, before, nil, args, kwargs)
		})
	}
	env["range"] = starlark.NewBuiltin("range", checkedRange)
	env["getattr"] = starlark.NewBuiltin("getattr", checkedGetattr)
	return env
}

// callChecked calls a function after its check, and admits what it has made.
func callChecked(thread *starlark.Thread, original *starlark.Builtin, before check, self starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := before(self, args, kwargs); err != nil {
		return nil, err
	}
	v, err := original.CallInternal(thread, args, kwargs)
	if err != nil {
		return nil, err
	}
	if v == starlark.None { // the receiver has grown
		return v, eachArgument(args, kwargs, func(arg starlark.Value) error { return charge(thread, shallowSize(arg)) })
	}
	return v, admit(thread, v)
}

// eachArgument calls f with all arguments.
func eachArgument(args starlark.Tuple, kwargs []starlark.Tuple, f func(starlark.Value) error) error {
	for _, v := range args {
		if err := f(v); err != nil {
			return err
		}
	}
	for _, pair := range kwargs {
		if err := f(pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// checkCounts refuses arguments of too many elements.
func checkCounts(_ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	return eachArgument(args, kwargs, func(v starlark.Value) error {
		if n := starlark.Len(v); n > 0 {
			return checkSize(slot*int64(n), "the list")
		}
		return nil
	})
}

// checkContents refuses arguments that hold too much for a function that looks at all
// of it.
func checkContents(_ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	total := int64(0)
	return eachArgument(args, kwargs, func(v starlark.Value) error {
		total += weigh(v)
		return checkSize(total, "what it looks through")
	})
}

// checkDigits refuses numbers of too many digits.
func checkDigits(_ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	return eachArgument(args, kwargs, func(v starlark.Value) error {
		if s, ok := v.(starlark.String); ok && len(s) > maxBits/4 {
			return tooLarge("the number")
		}
		return nil
	})
}

func checkedRange(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Universe["range"].(*starlark.Builtin).CallInternal(thread, args, kwargs)
	if err != nil {
		return nil, err
	}
	return v, checkSize(slot*int64(starlark.Len(v)), "the range")
}

func checkedGetattr(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var object, otherwise starlark.Value
	if err := starlark.UnpackPositionalArgs("getattr", args, kwargs, 2, &object, &name, &otherwise); err != nil {
		return nil, err
	}
	if methodCheck(object, name) != nil {
		return attribute(object, name)
	}
	return starlark.Universe["getattr"].(*starlark.Builtin).CallInternal(thread, args, kwargs)
}

// checkedAttr is x.NAME for the names of checked methods.
func checkedAttr(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	name, _ := starlark.AsString(args[1])
	return attribute(args[0], name)
}

func attribute(x starlark.Value, name string) (starlark.Value, error) {
	object, ok := x.(starlark.HasAttrs)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	v, err := object.Attr(name)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	before := methodCheck(x, name)
	original, ok := v.(*starlark.Builtin)
	if before == nil || !ok {
		return v, nil
	}
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return callChecked(thread, original, before, x, args, kwargs)
	}).BindReceiver(x), nil
}

// methodCheck gives the check of a method of Starlark's own types; nil: there
// is none.
func methodCheck(x starlark.Value, name string) check {
	switch x.(type) {
	case starlark.String:
		return textMethod(name)
	case starlark.Bytes, *starlark.List, *starlark.Dict, *starlark.Set:
		return collectionMethod(name)
	}
	return nil
}

func textMethod(name string) check {
	switch name {
	case "capitalize", "lower", "upper", "title", "partition", "rpartition", "split", "rsplit", "splitlines":
		return checkCopy
	case "elems", "elem_ords", "codepoints", "codepoint_ords":
		return checkElements
	case "join":
		return checkJoin
	case "replace":
		return checkReplace
	case "format":
		return checkFormatMethod
	}
	return nil
}

func collectionMethod(name string) check {
	switch name {
	case "extend", "update", "union", "symmetric_difference", "symmetric_difference_update":
		return checkGrowth
	case "intersection", "difference", "issubset", "issuperset", "intersection_update", "difference_update",
		"items", "keys", "values", "popitem":
		return checkCounts
	case "elems":
		return checkElements
	case "index", "remove":
		return checkSearch
	}
	return nil
}

// checkCopy is the check of what makes as much as it is given.
func checkCopy(starlark.Value, starlark.Tuple, []starlark.Tuple) error { return nil }

// checkElements is the check of what makes an element of each byte.
func checkElements(self starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	return checkSize(slot*shallowSize(self), "the list")
}

// checkGrowth is the check of what adds all that it is given.
func checkGrowth(self starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	total := shallowSize(self)
	return eachArgument(args, kwargs, func(v starlark.Value) error {
		total += shallowSize(v)
		return checkSize(total, "the sum")
	})
}

// checkSearch is the check of what compares with each element.
func checkSearch(self starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	return checkSize(weigh(self), "what is searched")
}

func checkFormatMethod(self starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	total := int64(0)
	if err := eachArgument(args, kwargs, func(v starlark.Value) error {
		total += weigh(v)
		return nil
	}); err != nil {
		return err
	}
	return checkFormat(string(self.(starlark.String)), "{", total)
}

func checkJoin(self starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) != 1 {
		return nil // and the function says so
	}
	n := int64(starlark.Len(args[0]))
	if n < 0 {
		n = MaxValue / slot // as many as an iterable may have
	}
	total := shallowSize(self) * n
	if _, ok := args[0].(starlark.Sequence); ok {
		return checkSize(total+weigh(args[0]), "the text")
	}
	return checkSize(total, "the text")
}

func checkReplace(self starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) < 2 {
		return nil
	}
	old, ok := starlark.AsString(args[0])
	if !ok {
		return nil
	}
	text := string(self.(starlark.String))
	return checkSize(int64(len(text))+int64(strings.Count(text, old))*shallowSize(args[1]), "the text")
}

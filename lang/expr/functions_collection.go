package expr

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tenetcm/tenet/lang/diag"
)

func collectionFunctions() []Function {
	return withGroup("collections", []Function{
		{"alltrue", "", "whether all elements are true; true for none", boolFold(true)},
		{"anytrue", "", "whether any element is true; false for none", boolFold(false)},
		{"chunklist", "", "a list cut into lists of a length", stdlib.ChunklistFunc},
		{"coalesce", "", "the first argument that is neither null nor empty text", coalesceFunction()},
		{"coalescelist", "", "the first list that is not empty", stdlib.CoalesceListFunc},
		{"compact", "", "a list of texts without the empty and null ones", stdlib.CompactFunc},
		{"concat", "", "lists one after the other", stdlib.ConcatFunc},
		{"contains", "", "whether a list or set holds a value", stdlib.ContainsFunc},
		{"distinct", "", "a list without repeats", stdlib.DistinctFunc},
		{"element", "", "the element at an index, which wraps around", stdlib.ElementFunc},
		{"flatten", "", "lists within lists made one list", stdlib.FlattenFunc},
		{"index", "", "the index of the first equal element", indexFunction()},
		{"keys", "", "the keys of a map, sorted", stdlib.KeysFunc},
		{"length", "", "the number of elements, or of characters of a text", lengthFunction()},
		{"lookup", "", "the value of a key, or a default", lookupFunction()},
		{"matchkeys", "", "the values whose keys, at the same index of a second list, are in a third", matchKeysFunction()},
		{"merge", "", "maps made one; later ones win", mergeFunction()},
		{"one", "", "the only element of a list of one, null of an empty one", oneFunction()},
		{"range", "", "numbers from a start to a limit in steps, at most 1024", rangeFunction()},
		{"reverse", "", "a list backwards", stdlib.ReverseListFunc},
		{"setintersection", "", "what is in all sets", setFunction(stdlib.SetIntersectionFunc)},
		{"setproduct", "", "all combinations of elements of the sets", stdlib.SetProductFunc},
		{"setsubtract", "", "what is in the first set, and not in the second", setFunction(stdlib.SetSubtractFunc)},
		{"setunion", "", "what is in any of the sets", setFunction(stdlib.SetUnionFunc)},
		{"slice", "", "elements from a start index up to an end index", stdlib.SliceFunc},
		{"sort", "", "texts in order of their characters", stdlib.SortFunc},
		{"sum", "", "the sum of numbers", sumFunction()},
		{"transpose", "", "a map of lists of texts turned around", transposeFunction()},
		{"values", "", "the values of a map, in the order of its keys", stdlib.ValuesFunc},
		{"zipmap", "", "a map made of a list of keys and a list of values", zipmapFunction()},
	})
}

func typeFunctions() []Function {
	return withGroup("types", []Function{
		{"can", "", "whether an expression has a value", canFunction()},
		{"issensitive", "", "whether a value, or a part of it, is never shown", isSensitiveFunction()},
		{"nonsensitive", "", "a value that may be shown", sensitivity(false)},
		{"sensitive", "", "a value that is never shown", sensitivity(true)},
		{"tobool", "", "a value as a bool", stdlib.MakeToFunc(cty.Bool)},
		{"tolist", "", "a value as a list", convertElements(cty.List(cty.DynamicPseudoType))},
		{"tomap", "", "a value as a map", stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType))},
		{"tonumber", "", "a value as a number", limitNumbers(stdlib.MakeToFunc(cty.Number))},
		{"toset", "", "a value as a set", convertElements(cty.Set(cty.DynamicPseudoType))},
		{"tostring", "", "a value as text", stdlib.MakeToFunc(cty.String)},
		{"try", "", "the first expression that has a value", tryFunction()},
	})
}

// anyFunction makes a function of one value of any type.
func anyFunction(param string, result func(cty.Type) (cty.Type, error), f func(cty.Value, cty.Type) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: param, Type: cty.DynamicPseudoType}},
		Type:   func(args []cty.Value) (cty.Type, error) { return result(args[0].Type()) },
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.UnknownVal(t), nil
			}
			return f(args[0], t)
		},
	})
}

func constantType(t cty.Type) func(cty.Type) (cty.Type, error) {
	return func(cty.Type) (cty.Type, error) { return t, nil }
}

func isSequence(t cty.Type) bool { return t.IsListType() || t.IsTupleType() || t.IsSetType() }

func boolFold(all bool) function.Function {
	return anyFunction("list", constantType(cty.Bool), func(v cty.Value, _ cty.Type) (cty.Value, error) {
		if !isSequence(v.Type()) {
			return cty.UnknownVal(cty.Bool), errors.New("a list of bools is required")
		}
		for _, e := range v.Elements() {
			b, err := convert.Convert(e, cty.Bool)
			if err != nil {
				return cty.UnknownVal(cty.Bool), err
			}
			if (!b.IsNull() && b.True()) != all {
				return cty.BoolVal(!all), nil
			}
		}
		return cty.BoolVal(all), nil
	})
}

// coalesceFunction is Terraform's, which passes over empty texts.
func coalesceFunction() function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "vals", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
		Type: func(args []cty.Value) (cty.Type, error) {
			types := make([]cty.Type, len(args))
			for i, a := range args {
				types[i] = a.Type()
			}
			t, _ := convert.UnifyUnsafe(types)
			if t == cty.NilType {
				return t, errors.New("all arguments must have one type")
			}
			return t, nil
		},
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			for _, a := range args {
				v, err := convertTo(a, t)
				switch {
				case err != nil:
					return cty.UnknownVal(t), err
				case !v.IsKnown():
					return cty.UnknownVal(t), nil
				case v.IsNull() || t == cty.String && v.AsString() == "":
					continue
				}
				return v, nil
			}
			return cty.UnknownVal(t), errors.New("all arguments are null or empty")
		},
	})
}

func indexFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Type: function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
				return cty.UnknownVal(cty.Number), function.NewArgErrorf(0, "a list is required")
			}
			if !args[0].IsWhollyKnown() || !args[1].IsWhollyKnown() {
				return cty.UnknownVal(cty.Number), nil
			}
			for i, e := range args[0].Elements() {
				if equal, err := stdlib.Equal(e, args[1]); err == nil && equal.IsKnown() && equal.True() {
					return i, nil
				}
			}
			return cty.UnknownVal(cty.Number), errors.New("the value is not in the list")
		},
	})
}

func lengthFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			switch t := args[0].Type(); {
			case t == cty.String:
				return stdlib.Strlen(args[0])
			case t.IsObjectType():
				return cty.NumberIntVal(int64(len(t.AttributeTypes()))), nil
			case isSequence(t) || t.IsMapType():
				return args[0].Length(), nil
			}
			return cty.UnknownVal(cty.Number), errors.New("a collection or a text is required")
		},
	})
}

// lookupFunction is stdlib's with a default that may be left out.
func lookupFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "map", Type: cty.DynamicPseudoType}, {Name: "key", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if t := args[0].Type(); !t.IsMapType() && !t.IsObjectType() {
				return cty.DynamicVal, &diag.HintError{Message: "a map or an object is required",
					Hint: "lookup(MAP, KEY) looks into a map; the text of a file of the site is read(PATH)"}
			}
			if v, ok := args[0].AsValueMap()[args[1].AsString()]; ok {
				return v, nil
			}
			if len(args) == 3 {
				return args[2], nil
			}
			return cty.DynamicVal, fmt.Errorf("there is no key %q, and no default is given", args[1].AsString())
		},
	})
}

func oneFunction() function.Function {
	return anyFunction("list", constantType(cty.DynamicPseudoType), func(v cty.Value, _ cty.Type) (cty.Value, error) {
		if !isSequence(v.Type()) {
			return cty.DynamicVal, errors.New("a list or a set is required")
		}
		switch v.LengthInt() {
		case 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		case 1:
			return v.AsValueSlice()[0], nil
		}
		return cty.DynamicVal, errors.New("there is more than one element")
	})
}

func sensitivity(mark bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType,
			AllowNull: true, AllowUnknown: true, AllowMarked: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if mark {
				return args[0].Mark(Sensitive), nil
			}
			v, marks := args[0].UnmarkDeep()
			delete(marks, Sensitive)
			delete(marks, SecretFound) // what is withheld stays so
			return v.WithMarks(marks), nil
		},
	})
}

func sumFunction() function.Function {
	return anyFunction("list", constantType(cty.Number), func(v cty.Value, _ cty.Type) (cty.Value, error) {
		if !isSequence(v.Type()) {
			return cty.UnknownVal(cty.Number), errors.New("a list of numbers is required")
		}
		sum := cty.Zero
		for _, e := range v.Elements() {
			n, err := convert.Convert(e, cty.Number)
			if err != nil || n.IsNull() {
				return cty.UnknownVal(cty.Number), errors.New("an element is no number")
			}
			sum = sum.Add(n)
		}
		return sum, nil
	})
}

func transposeFunction() function.Function {
	result := cty.Map(cty.List(cty.String))
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "values", Type: result}},
		Type:   function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.UnknownVal(result), nil
			}
			out := map[string][]cty.Value{}
			for key, list := range args[0].Elements() {
				if list.IsNull() {
					return cty.UnknownVal(result), fmt.Errorf("the list of %q is null", key.AsString())
				}
				for _, e := range list.Elements() {
					if e.IsNull() {
						return cty.UnknownVal(result), fmt.Errorf("the list of %q holds null", key.AsString())
					}
					out[e.AsString()] = append(out[e.AsString()], key)
				}
			}
			if len(out) == 0 {
				return cty.MapValEmpty(cty.List(cty.String)), nil
			}
			lists := map[string]cty.Value{}
			for key, list := range out {
				lists[key] = cty.ListVal(list)
			}
			return cty.MapVal(lists), nil
		},
	})
}

// isSensitiveFunction looks at the marks at every depth.
func isSensitiveFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowMarked: true, AllowNull: true, AllowUnknown: true, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			_, sensitive := Split(args[0])
			if !sensitive && !args[0].IsWhollyKnown() {
				return cty.UnknownVal(cty.Bool), nil
			}
			return cty.BoolVal(sensitive), nil
		},
	})
}

// matchKeysFunction is Terraform's matchkeys.
func matchKeysFunction() function.Function {
	list := cty.List(cty.DynamicPseudoType)
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "values", Type: list}, {Name: "keys", Type: list}, {Name: "searchset", Type: list}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			values, keys := args[0].AsValueSlice(), args[1].AsValueSlice()
			if len(values) != len(keys) {
				return cty.UnknownVal(t), errors.New("it takes as many keys as values")
			}
			wanted := args[2].AsValueSlice()
			var found []cty.Value
			for i, key := range keys {
				for _, w := range wanted {
					same, err := stdlib.Equal(key, w)
					switch {
					case err != nil:
						return cty.UnknownVal(t), err
					case !same.IsKnown():
						return cty.UnknownVal(t), nil
					}
					if same.True() {
						found = append(found, values[i])
						break
					}
				}
			}
			if found == nil {
				return cty.ListValEmpty(t.ElementType()), nil
			}
			return cty.ListVal(found), nil
		},
	})
}

// rangeFunction is Terraform's, with a hint for those who want more.
func rangeFunction() function.Function {
	f := stdlib.RangeFunc
	param := f.VarParam()
	return function.New(&function.Spec{
		Description: f.Description(),
		VarParam:    param,
		Type:        func(args []cty.Value) (cty.Type, error) { return f.ReturnTypeForValues(args) },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if v, ok := shortRange(args); ok {
				return v, nil
			}
			v, err := f.Call(args)
			if err != nil && strings.HasPrefix(err.Error(), "more than 1024") {
				return v, &diag.HintError{Message: "a range has at most 1024 numbers",
					Hint: "for more, write one within another: flatten([for a in range(100) : [for b in range(100) : a * 100 + b]])"}
			}
			return v, err
		},
	})
}

// shortRange makes the most common ranges, from 0 up to a whole number, without adding and
// comparing large floats.
func shortRange(args []cty.Value) (list cty.Value, ok bool) {
	if len(args) != 1 || !args[0].IsKnown() || args[0].IsNull() {
		return list, false
	}
	n, accuracy := args[0].AsBigFloat().Int64()
	if accuracy != big.Exact || n < 1 || n > 1024 {
		return list, false
	}
	numbers := make([]cty.Value, n)
	for i := range numbers {
		numbers[i] = cty.NumberIntVal(int64(i))
	}
	return cty.ListVal(numbers), true
}

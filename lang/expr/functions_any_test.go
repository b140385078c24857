package expr

import (
	"errors"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// anyValues are of each type, and null, unknown or sensitive in whole or in part.
func anyValues() []cty.Value {
	text, null := cty.StringVal, cty.NullVal
	object := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": v}) }
	return []cty.Value{
		text("a"), text("").Mark(Sensitive), text("10.0.0.0/8"), text("%s%d%v%#v"), text(`{"a":[null]}`), cty.NumberIntVal(2), cty.NumberIntVal(-1).Mark(Sensitive),
		cty.MustParseNumberVal("1.5"), cty.Zero, cty.NumberIntVal(1 << 40), cty.NumberFloatVal(1e300), cty.True,
		null(cty.DynamicPseudoType), null(cty.String), null(cty.List(cty.String)).Mark(Sensitive), null(cty.Map(cty.String)), null(cty.EmptyObject),
		cty.DynamicVal, cty.UnknownVal(cty.String).Mark(Sensitive), cty.UnknownVal(cty.Number), cty.UnknownVal(cty.List(cty.String)), cty.UnknownVal(cty.Map(cty.String)), cty.UnknownVal(cty.Set(cty.String)),
		cty.EmptyTupleVal, cty.TupleVal([]cty.Value{text("a"), null(cty.DynamicPseudoType)}), cty.TupleVal([]cty.Value{text("a").Mark(Sensitive), cty.UnknownVal(cty.String)}),
		cty.TupleVal([]cty.Value{cty.TupleVal([]cty.Value{text("k"), cty.NumberIntVal(1)}), null(cty.List(cty.String))}),
		cty.ListValEmpty(cty.String), cty.ListVal([]cty.Value{text("a"), null(cty.String)}), cty.ListVal([]cty.Value{cty.UnknownVal(cty.Number)}), cty.ListVal([]cty.Value{null(cty.List(cty.String))}),
		cty.SetValEmpty(cty.String), cty.SetVal([]cty.Value{text("a"), null(cty.String)}), cty.SetVal([]cty.Value{text("x").Mark(Sensitive)}), cty.SetVal([]cty.Value{cty.UnknownVal(cty.String)}),
		cty.EmptyObjectVal, object(text("b").Mark(Sensitive)), object(null(cty.DynamicPseudoType)), object(cty.DynamicVal),
		cty.MapVal(map[string]cty.Value{"a": null(cty.String), "b": text("x")}), cty.MapVal(map[string]cty.Value{"a": cty.ListVal([]cty.Value{null(cty.String)}), "b": null(cty.List(cty.String))}),
	}
}

// eachCall calls f with all lists of so many values, each as it is.
func eachCall(values []cty.Value, n int, f func([]cty.Value)) {
	args := make([]cty.Value, n)
	var from func(int)
	from = func(i int) {
		if i == n {
			f(args)
			return
		}
		for _, args[i] = range values {
			from(i + 1)
		}
	}
	from(0)
}

// Every function and every operator has a value for any arguments, or an error of its own.
func TestFunctionsTakeAnyValue(t *testing.T) {
	files := NewFiles(fstest.MapFS{"a": {Data: []byte("${a}")}})
	files.UseVault(NewVault(Target{Secrets: func(string) (string, error) { return "x", nil }}))
	values := anyValues()
	for _, f := range files.Functions(".") {
		if f.Name == "try" || f.Name == "can" { // they take expressions
			continue
		}
		least := len(f.Impl.Params())
		most := least
		if f.Impl.VarParam() != nil {
			most = max(3, least+1)
		}
		for n := least; n <= most; n++ {
			some := values
			if n > 2 {
				some = fewer(values, n)
			}
			eachCall(some, n, func(args []cty.Value) { callAny(t, f.Name, f.Impl, args) })
		}
	}
	for op, impl := range operators() {
		eachCall(values, op.operands, func(args []cty.Value) { callAny(t, op.sign, impl.Impl, args) })
	}
}

// fewer takes as many of the values as can be combined n times within a second or so.
func fewer(values []cty.Value, n int) (some []cty.Value) {
	step := 3
	if n > 3 {
		step = 6
	}
	for i := 0; i < len(values); i += step {
		some = append(some, values[i])
	}
	return some
}

// unexplained is what only the program's own parts say.
var unexplained = regexp.MustCompile(`panic|goroutine|cty\.|\.go:`)

// callAny calls a function with the values as they are, and as an expression would convert them.
func callAny(t *testing.T, name string, f function.Function, args []cty.Value) {
	params, rest := f.Params(), f.VarParam()
	converted := make([]cty.Value, len(args))
	for i, a := range args {
		wanted := cty.DynamicPseudoType
		if i < len(params) {
			wanted = params[i].Type
		} else if rest != nil {
			wanted = rest.Type
		}
		converted[i] = a
		if c, err := convert.Convert(a, wanted); err == nil {
			converted[i] = c
		}
	}
	for _, list := range [][]cty.Value{args, converted} {
		v, err := f.Call(list)
		if err == nil {
			if plain, _ := Split(v); plain.IsWhollyKnown() {
				_, err = Plain(plain)
			}
		}
		_, fault := errors.AsType[function.PanicError](err)
		if fault || err != nil && (err.Error() == "" || unexplained.MatchString(err.Error())) {
			t.Fatalf("%s%#v: %v", name, list, err)
		}
	}
}

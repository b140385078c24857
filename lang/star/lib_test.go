package star_test

import (
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/star"
)

// A function of a script sees plain values, gives back the mark, and takes
// nothing that is known only later.
func TestFunctions(t *testing.T) {
	files := fstest.MapFS{"lib.star": {Data: []byte("def twice(s, n = 2):\n    return s * n\n\ndef _own():\n    pass\n\ndef bad(s):\n    return s + 1\n")},
		"decl.star": {Data: []byte("thing('x')\n")}}
	scripts, _ := star.Parse(nil, star.Options{Registry: registry(), Site: files})
	functions, problems := scripts.Functions(t.Context(), "lib.star", world{})
	if len(problems) > 0 || len(functions) != 2 {
		t.Fatal(functions, problems)
	}
	v, err := functions["twice"].Call([]cty.Value{cty.StringVal("ab")})
	if err != nil || v.AsString() != "abab" {
		t.Error(v, err)
	}
	v, err = functions["twice"].Call([]cty.Value{cty.StringVal("ab").Mark(expr.Sensitive), cty.NumberIntVal(3)})
	if err != nil || !v.HasMark(expr.Sensitive) {
		t.Fatal(v, err)
	}
	if plain, _ := v.Unmark(); plain.AsString() != "ababab" {
		t.Error(plain)
	}
	if _, err = functions["bad"].Call([]cty.Value{cty.StringVal("hunter2")}); err == nil ||
		err.Error() != "lib.star:8:14: + cannot join text and a value of type int" {
		t.Error(err)
	}
	if _, err = functions["bad"].Call([]cty.Value{cty.StringVal("hunter2").Mark(expr.Sensitive)}); err == nil ||
		err.Error() != "the function fails; the reason may show a sensitive value, and is hidden" {
		t.Error(err)
	}
	if _, problems := scripts.Functions(t.Context(), "decl.star", world{}); len(problems) != 1 || problems[0].Range.Start.Line != 1 {
		t.Error(problems)
	}
	for _, name := range []string{"none.star", "../lib.star", "/lib.star", "lib.txt", ""} {
		if _, problems := scripts.Functions(t.Context(), name, world{}); len(problems) != 1 || problems[0].Hint == "" {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

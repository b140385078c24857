package expr

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// What does not fit is named in order, however often it is asked.
func TestMismatchIsTheSame(t *testing.T) {
	wrong := map[string]cty.Value{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		wrong[name] = cty.EmptyObjectVal
	}
	object := cty.ObjectVal(wrong)
	text := func(names ...string) map[string]cty.Type {
		types := map[string]cty.Type{}
		for _, name := range names {
			types[name] = cty.String
		}
		return types
	}
	for _, c := range []struct {
		from cty.Value
		to   cty.Type
		want string
	}{
		{object, cty.Map(cty.String), `element "a": string required, but have object`},
		{object, cty.Object(text("b", "c", "d")), `attribute "b": string required, but have object`},
		{object, cty.Object(text("b", "x", "y")), `attributes "x" and "y" are required`},
		{cty.TupleVal([]cty.Value{cty.EmptyObjectVal, object}), cty.List(cty.Map(cty.String)), `element 1: element "a": string required, but have object`},
		{cty.MapVal(map[string]cty.Value{"k": object}), cty.Map(cty.Map(cty.String)), `incorrect map element type: element "a": string required, but have object`},
		{cty.SetVal([]cty.Value{object}), cty.List(cty.Map(cty.String)), `incorrect list element type: element "a": string required, but have object`},
		{cty.ListVal([]cty.Value{cty.MapVal(map[string]cty.Value{"k": cty.True})}), cty.List(cty.Object(text("x", "y", "k"))), `map has no element for required attribute "x"`},
		{cty.ObjectVal(map[string]cty.Value{"in": cty.MapVal(map[string]cty.Value{"k": cty.True})}), cty.Object(map[string]cty.Type{"in": cty.Object(text("x", "y"))}),
			`map has no element for required attribute "x"`},
		{cty.StringVal("a"), cty.Number, "a number is required"},
	} {
		for range 30 {
			if _, err := convertTo(c.from, c.to); err == nil || err.Error() != c.want {
				t.Fatalf("%#v: %v, want %s", c.from, err, c.want)
			}
		}
	}
}

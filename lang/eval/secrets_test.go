package eval_test

import (
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/eval"
)

func TestSecrets(t *testing.T) {
	secret := func(v cty.Value) cty.Value { return v.Mark(eval.Sensitive) }
	got := eval.Secrets(map[string]cty.Value{
		"var.open":     cty.StringVal("open"),
		"var.password": secret(cty.StringVal("hunter2")),
		"var.pin":      secret(cty.NumberIntVal(4711)),
		"var.on":       secret(cty.True),
		"var.none":     secret(cty.NullVal(cty.String)),
		"var.unknown":  secret(cty.UnknownVal(cty.String)),
		"local.mixed": cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal("ada"),
			"keys": cty.TupleVal([]cty.Value{cty.StringVal("public"), secret(cty.StringVal("private"))}),
		}),
		"local.all": secret(cty.MapVal(map[string]cty.Value{"a": cty.StringVal("hunter2"), "b": cty.StringVal("b")})),
	})
	want := []string{"4711", "b", "hunter2", "private"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package expr_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

func TestSecrets(t *testing.T) {
	secret := func(v cty.Value) cty.Value { return v.Mark(expr.Sensitive) }
	vault := expr.NewVault(expr.Target{})
	vault.Take(map[string]cty.Value{
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
		"var.all": secret(cty.MapVal(map[string]cty.Value{"shop": cty.StringVal("hunter2"), "blog": cty.StringVal("blog")})),
		// What is computed of names shows no value.
		"local.names": secret(cty.TupleVal([]cty.Value{cty.StringVal("shop"), cty.StringVal("blog")})),
	})
	want := []string{"4711", "blog", "hunter2", "private"}
	if got := vault.Texts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What was seen as sensitive is in no message, by whatever way it came there.
func TestHideInFindings(t *testing.T) {
	vault := expr.NewVault(expr.Target{})
	vault.Take(map[string]cty.Value{"var.a": cty.TupleVal([]cty.Value{cty.StringVal("hunter2"), cty.StringVal("hunter22"), cty.StringVal("q7")}).Mark(expr.Sensitive)})
	got := vault.Hide(diag.List{{Summary: "no hunter22", Detail: `"q7" is not q7x`, Hint: "try hunter2", Related: []diag.Related{{Message: "hunter2"}}}})
	want := diag.Diagnostic{Summary: "no (sensitive)", Detail: "(sensitive) is not q7x", Hint: "try (sensitive)", Related: []diag.Related{{Message: "(sensitive)"}}}
	if !reflect.DeepEqual(got, diag.List{want}) {
		t.Errorf("got %+v", got)
	}
}

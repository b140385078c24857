package expr_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/expr"
)

// The example of each function has the value that the reference says.
func TestExamplesOfFunctions(t *testing.T) {
	site := fstest.MapFS{}
	for name, text := range expr.ExampleFiles() {
		site[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	table := expr.NewFiles(site).FunctionMap(".")
	table["secret"] = function.New(&function.Spec{Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type: function.StaticReturnType(cty.String), Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return cty.StringVal("hunter2").Mark(expr.Sensitive), nil
		}})
	value := func(text string) (string, bool) {
		x, diags := hclsyntax.ParseExpression([]byte(text), "example", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", text, diags)
		}
		v, diags := x.Value(&hcl.EvalContext{Functions: table})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", text, diags)
		}
		v, sensitive := expr.Split(v)
		plain, err := expr.Plain(v)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		data, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), sensitive
	}
	docs := expr.FunctionDocs()
	for _, doc := range docs {
		if doc.Example.Expression == "" {
			t.Errorf("%s has no example", doc.Name)
			continue
		}
		if doc.Name == "hosts" { // it needs a site with hosts, see lang's tests
			continue
		}
		got, sensitive := value(doc.Example.Expression)
		if doc.Example.Value == "(sensitive)" || sensitive {
			if doc.Example.Value != "(sensitive)" || !sensitive {
				t.Errorf("%s: sensitive is %v, and the example says %s", doc.Example.Expression, sensitive, doc.Example.Value)
			}
			continue
		}
		if want, _ := value(doc.Example.Value); got != want {
			t.Errorf("%s = %s, and the example says %s", doc.Example.Expression, got, want)
		}
	}
}

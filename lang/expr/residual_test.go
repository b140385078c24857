package expr_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// values are what expressions in these tests may name; any of them may be known
// only on the host.
func values() map[string]cty.Value {
	return map[string]cty.Value{
		"text":   cty.StringVal("one\ntwo\n"),
		"word":   cty.StringVal("b"),
		"number": cty.NumberIntVal(3),
		"half":   cty.MustParseNumberVal("2.5"),
		"flag":   cty.True,
		"list":   cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b"), cty.StringVal("c")}),
		"table":  cty.MapVal(map[string]cty.Value{"a": cty.StringVal("x"), "b": cty.StringVal("y")}),
		"object": cty.ObjectVal(map[string]cty.Value{"n": cty.NumberIntVal(7), "s": cty.StringVal("in"), "l": cty.TupleVal([]cty.Value{cty.True, cty.StringVal("z")})}),
		"none":   cty.NullVal(cty.String),
		"json":   cty.StringVal(`{"a":[1,2,{"b":"deep"}],"n":1.5}`),
		"hidden": cty.StringVal("secret").Mark(expr.Sensitive),
	}
}

func templates() *expr.Files {
	return expr.NewFiles(fstest.MapFS{
		"plain.tmpl":    {Data: []byte("w=${word} %{ if flag }yes%{ else }no%{ endif }\n")},
		"loop.tmpl":     {Data: []byte("%{ for x in list ~}\n${upper(x)}-${word}\n%{ endfor ~}\n")},
		"outer.tmpl":    {Data: []byte("<${template(\"inner/in.tmpl\", { w = word, n = number })}>")},
		"inner/in.tmpl": {Data: []byte("${w}${n + 1}")},
		"wrap.tmpl":     {Data: []byte("${number}")},
	})
}

func parse(t interface{ Fatalf(string, ...any) }, text string) hclsyntax.Expression {
	x, diags := hclsyntax.ParseExpression([]byte(text), "test.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", text, diags)
	}
	expr.NewArithmetic().ReplaceAll(x)
	return x
}

// later evaluates an expression as a compiler and a host together do: the names
// in hidden are known only on the host, and the expression travels as JSON.
func later(text string, late map[string]bool, t interface{ Fatalf(string, ...any) }) (v cty.Value, tree string, err error) {
	all := values()
	ctx := &hcl.EvalContext{Variables: maps.Clone(all), Functions: templates().FunctionMap(".")}
	for name := range late {
		ref, err := states.Expr{Kind: states.ExprRef, Name: name, Ref: states.Ref{Address: "file.a"}}.New()
		if err != nil {
			t.Fatalf("%v", err)
		}
		plain, _ := expr.Split(all[name])
		ctx.Variables[name] = expr.DeferredValue(ref, plain.Type())
	}
	x := parse(t, text)
	if _, diags := x.Value(ctx); diags.HasErrors() {
		return cty.NilVal, "", diags
	}
	made, diags := expr.Residual(x, ctx)
	if diags.HasErrors() {
		return cty.NilVal, "", diags
	}
	data, err := json.Marshal(made)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var read states.Expr
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	again, err := json.Marshal(&read)
	if err != nil || string(again) != string(data) {
		t.Fatalf("read and written again:\n%s\n%s %v", data, again, err)
	}
	v, list := expr.Evaluate(&read, expr.Evaluation{Result: func(ref *states.Expr) (cty.Value, error) { return all[ref.Name], nil }})
	if list.HasErrors() {
		return cty.NilVal, string(data), list
	}
	return v, string(data), nil
}

func TestResidual(t *testing.T) {
	for _, c := range []struct{ text, late, tree string }{
		{`1 + 2`, "", `{"value":3}`},
		{`"${word}-x"`, "word", `{"template":[{"ref":"file.a","attribute":"word"},{"value":"-x"}]}`},
		{`"${number}${upper("a")}${word}"`, "word", `{"template":[{"value":"3A"},{"ref":"file.a","attribute":"word"}]}`},
		{`upper(word)`, "word", `{"call":"upper","args":[{"ref":"file.a","attribute":"word"}]}`},
		{`flag ? word : "x"`, "flag", `{"if":[{"ref":"file.a","attribute":"flag"},{"value":"b"},{"value":"x"}]}`},
		{`[for v in list : upper(v) if v != word]`, "list", `{"for":[{"ref":"file.a","attribute":"list"},null,{"call":"upper","args":[{"local":"v0"}]},{"operator":"!=","args":[{"local":"v0"},{"value":"b"}]}],"name":"0"}`},
		{`[for v in list : "${v}${word}"]`, "word", `{"tuple":[{"template":[{"value":"a"},{"ref":"file.a","attribute":"word"}]},{"template":[{"value":"b"},{"ref":"file.a","attribute":"word"}]},{"template":[{"value":"c"},{"ref":"file.a","attribute":"word"}]}]}`},
		{`{ for k, v in table : k => word }.a`, "word", `{"ref":"file.a","attribute":"word"}`},
		{`object.l[*]`, "object", `{"splat":[{"get":"l","of":{"ref":"file.a","attribute":"object"}},{"item":0}],"item":0}`},
		{`try(jsondecode(text).x, "none")`, "text", `{"call":"try","args":[{"get":"x","of":{"call":"jsondecode","args":[{"ref":"file.a","attribute":"text"}]}},{"value":"none"}]}`},
		{`-number % 2`, "number", `{"operator":"%","args":[{"operator":"-","args":[{"ref":"file.a","attribute":"number"}]},{"value":2}]}`},
		{`toset([word, "a"])`, "word", `{"call":"toset","args":[{"tuple":[{"ref":"file.a","attribute":"word"},{"value":"a"}]}]}`},
		{`[word, toset(["b", "a"])]`, "word", `{"tuple":[{"ref":"file.a","attribute":"word"},{"value":["a","b"],"type":["set","string"]}]}`},
		{`"${hidden}${word}"`, "word", `{"template":[{"value":"secret","sensitive":true},{"ref":"file.a","attribute":"word"}]}`},
		{`template("plain.tmpl", { word = word, flag = false })`, "word", `{"template":[{"value":"w="},{"ref":"file.a","attribute":"word"},{"value":" no\n"}]}`},
	} {
		late := map[string]bool{}
		if c.late != "" {
			late[c.late] = true
		}
		v, tree, err := later(c.text, late, t)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if tree != c.tree {
			t.Errorf("%s\n got %s\nwant %s", c.text, tree, c.tree)
		}
		same(t, c.text, v)
	}
}

// same compares with a direct evaluation.
func same(t interface{ Fatalf(string, ...any) }, text string, got cty.Value) {
	ctx := &hcl.EvalContext{Variables: values(), Functions: templates().FunctionMap(".")}
	want, diags := parse(t, text).Value(ctx)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", text, diags)
	}
	want, wantSensitive := expr.Split(want)
	got, gotSensitive := expr.Split(got)
	a, err1 := expr.Plain(want)
	b, err2 := expr.Plain(got)
	if err1 != nil || err2 != nil || !reflect.DeepEqual(a, b) {
		t.Fatalf("%s: got %#v %v, want %#v %v", text, b, err2, a, err1)
	}
	// template() takes the marks of all its variables, used or not; its text
	// taken in, those of the used ones.
	if wantSensitive && !gotSensitive && !strings.Contains(text, "template(") {
		t.Fatalf("%s: the mark is lost", text)
	}
}

// draw writes a random expression.
func draw(t *rapid.T, depth int, names []string) string {
	if depth == 0 {
		leaf := append([]string{`"x"`, `1`, `0`, `true`, `null`, `""`, `[]`, `{}`, `0.1`}, names...)
		return rapid.SampledFrom(leaf).Draw(t, "leaf")
	}
	sub := func() string { return draw(t, depth-1, names) }
	switch rapid.IntRange(0, 15).Draw(t, "kind") {
	case 0:
		return fmt.Sprintf(`"%s${%s}b${%s}"`, rapid.SampledFrom([]string{"", "a", "$${"}).Draw(t, "text"), sub(), sub())
	case 1:
		return fmt.Sprintf(`"%%{ for x in %s }${x}%%{ endfor }%%{ if %s }t%%{ endif }"`, sub(), sub())
	case 2:
		return fmt.Sprintf("(%s %s %s)", sub(), rapid.SampledFrom([]string{"+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||"}).Draw(t, "sign"), sub())
	case 3:
		return fmt.Sprintf("(%s ? %s : %s)", sub(), sub(), sub())
	case 4:
		return fmt.Sprintf("[%s, %s]", sub(), sub())
	case 5:
		return fmt.Sprintf("{ a = %s, (%s) = %s }", sub(), sub(), sub())
	case 6, 7:
		inner := append(slices.Clone(names), "k", "v")
		group := rapid.SampledFrom([]string{"", "..."}).Draw(t, "group")
		body := draw(t, depth-1, inner)
		cond := rapid.SampledFrom([]string{"", " if " + draw(t, depth-1, inner)}).Draw(t, "condition")
		if rapid.Bool().Draw(t, "list") {
			return fmt.Sprintf("[for k, v in %s : %s%s]", sub(), body, cond)
		}
		return fmt.Sprintf("{ for k, v in %s : %s => %s%s%s }", sub(), draw(t, depth-1, inner), body, group, cond)
	case 8:
		return fmt.Sprintf("%s[%s]", sub(), sub())
	case 9:
		return fmt.Sprintf("%s.%s", sub(), rapid.SampledFrom([]string{"a", "n", "s", "l"}).Draw(t, "attribute"))
	case 10:
		return fmt.Sprintf("%s[*]%s", sub(), rapid.SampledFrom([]string{"", ".a", ".l[*]"}).Draw(t, "behind"))
	case 11:
		return fmt.Sprintf("try(%s, %s)", sub(), sub())
	case 12:
		return fmt.Sprintf("%s(%s)", rapid.SampledFrom([]string{"-", "!", "can", "upper", "length", "jsonencode", "jsondecode", "toset", "tolist", "tostring", "tonumber", "keys", "values", "sort", "flatten", "distinct", "merge", "sensitive", "nonsensitive", "reverse", "alltrue", "sum", "compact", "yamlencode", "base64encode", "trimspace", "max"}).Draw(t, "function"), sub())
	case 13:
		return fmt.Sprintf("%s(%s, %s)", rapid.SampledFrom([]string{"join", "split", "lookup", "contains", "concat", "merge", "format", "coalesce", "element", "zipmap", "setunion", "formatlist", "chunklist", "setproduct", "startswith"}).Draw(t, "function"), sub(), sub())
	case 14:
		return fmt.Sprintf("%s(%s...)", rapid.SampledFrom([]string{"max", "concat", "merge", "format", "coalesce"}).Draw(t, "function"), sub())
	}
	vars := fmt.Sprintf("{ word = %s, number = %s, flag = %s, list = %s }", sub(), sub(), sub(), sub())
	if rapid.IntRange(0, 4).Draw(t, "whole") == 0 {
		vars = sub()
	}
	return fmt.Sprintf("template(%q, %s)", rapid.SampledFrom([]string{"plain.tmpl", "loop.tmpl", "outer.tmpl", "wrap.tmpl"}).Draw(t, "template"), vars)
}

// What a compiler leaves and a host completes is what one alone would compute,
// whichever values are late.
func TestResidualThenEvaluate(t *testing.T) {
	compared, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		names := slices.Sorted(maps.Keys(values()))
		text := draw(t, rapid.IntRange(1, 3).Draw(t, "depth"), names)
		late := map[string]bool{}
		for _, name := range names {
			if strings.Contains(text, name) && rapid.Bool().Draw(t, name) {
				late[name] = true
			}
		}
		ctx := &hcl.EvalContext{Variables: values(), Functions: templates().FunctionMap(".")}
		direct, diags := parse(t, text).Value(ctx)
		got, tree, err := later(text, late, t)
		if diags.HasErrors() {
			failed++ // the library also refuses what no turn of a loop would do
			return
		}
		if !direct.IsWhollyKnown() {
			return // try() of nothing
		}
		if plain, _ := expr.Split(direct); true {
			if _, err := expr.Plain(plain); err != nil {
				return
			}
		}
		// Where a failure is without effect, as in a branch that is not taken,
		// three things are stricter than the library: the type of a null counts,
		// a template must be right before anything is late, and an operand of
		// || that fails may have its type all the same.
		if err != nil && (late["none"] || strings.Contains(text, "template(") || strings.ContainsAny(text, "|&")) {
			return
		}
		if err != nil {
			t.Fatalf("%s with %v: it fails on the host only: %v\n%s", text, late, err, tree)
		}
		same(t, text, got)
		if len(late) > 0 {
			compared++
		}
	})
	t.Logf("%d expressions compared, %d failed", compared, failed)
}

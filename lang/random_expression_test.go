package lang_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

// expressionNames declare what random expressions compute with: values of each type,
// sensitive in whole or in part, and null.
const expressionNames = `
variable "plain" {
  default = { text = "a", list = ["b", "c"], number = 3, null = null, yes = true }
}
variable "none" {
  default = null
}
variable "text" {
  type    = string
  default = null
}
variable "set" {
  type    = set(string)
  default = ["x", "y"]
}
variable "lists" {
  type    = map(list(string))
  default = { a = ["x", null], b = null }
}
variable "secret" {
  sensitive = true
  default   = "hunter22"
}
variable "pin" {
  sensitive = true
  default   = 47110815
}
variable "yes" {
  sensitive = true
  default   = true
}
variable "box" {
  default = { user = "ada", password = sensitive("hunter22"), list = [sensitive("hunter22")], none = sensitive(null) }
}
variable "names" {
  type    = map(string)
  default = sensitive({ a = "hunter22", b = null })
}
command "run" {
  argv = ["run"]
}
`

// expressionLeaves are what expressions hold beside values, as both languages write it.
var expressionLeaves = []string{"var.plain", "var.none", "var.text", "var.set", "var.lists", "var.secret", "var.pin", "var.yes", "var.box",
	"var.names", `secret("db")`, `secret("none")`, "fact.cpus"}

// expressionResults are known on the host alone.
var expressionResults = []string{"stdout", "exit_code", "stderr"}

// operatorFunctions are the operators, and what stands in their place in Starlark.
var operatorFunctions = map[string]string{"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "+": "add", "-": "sub",
	"*": "mul", "/": "div", "%": "mod", "&&": "and_", "||": "or_", "!": "not_"}

// modelExpression is an expression in both languages. What Starlark has no form for is
// written there as something near it.
type modelExpression struct{ hcl, star string }

// drawExpression draws one over all functions and operators.
func drawExpression(t *rapid.T, depth int) modelExpression {
	draw := func(label string) modelExpression { return drawExpression(t, depth-1) }
	kind := rapid.SampledFrom([]string{"value", "leaf", "leaf", "result", "call", "call", "call", "call", "operator", "operator", "negative", "if", "index", "get", "list", "object",
		"for", "keys", "splat", "template"}).Draw(t, "kind")
	if depth == 0 && !slices.Contains([]string{"value", "leaf", "result"}, kind) {
		kind = "leaf"
	}
	switch kind {
	case "value":
		v := modelValue(t, 1)
		return modelExpression{hclDialect.write(v), starDialect.write(v)}
	case "result":
		name := rapid.SampledFrom(expressionResults).Draw(t, "result")
		return modelExpression{"command.run." + name, `ref("command.run").` + name}
	case "call":
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(functionArguments))).Draw(t, "function")
		var args [2][]string
		for range functionArguments[name] + rapid.SampledFrom([]int{0, 0, 0, 1, -1}).Draw(t, "more or fewer") {
			x := draw("argument")
			args[0], args[1] = append(args[0], x.hcl), append(args[1], x.star)
		}
		star := name
		if name == "try" || name == "print" {
			star += "_"
		}
		return modelExpression{name + "(" + strings.Join(args[0], ", ") + ")", star + "(" + strings.Join(args[1], ", ") + ")"}
	case "operator":
		sign := rapid.SampledFrom(slices.Sorted(maps.Keys(operatorFunctions))).Draw(t, "operator")
		a, b := draw("left"), draw("right")
		if sign == "!" {
			return modelExpression{"!(" + a.hcl + ")", "not_(" + a.star + ")"}
		}
		return modelExpression{"((" + a.hcl + ") " + sign + " (" + b.hcl + "))", operatorFunctions[sign] + "(" + a.star + ", " + b.star + ")"}
	case "negative":
		a := draw("operand")
		return modelExpression{"(-(" + a.hcl + "))", "sub(0, " + a.star + ")"}
	case "if":
		a, b, c := draw("condition"), draw("then"), draw("else")
		return modelExpression{"((" + a.hcl + ") ? (" + b.hcl + ") : (" + c.hcl + "))", "if_(" + a.star + ", " + b.star + ", " + c.star + ")"}
	case "index":
		a, b := draw("collection"), draw("key")
		return modelExpression{"(" + a.hcl + ")[" + b.hcl + "]", "if_(True, " + a.star + ", None)[" + b.star + "]"}
	case "get":
		a, name := draw("object"), rapid.SampledFrom([]string{"text", "list", "password", "a", "none"}).Draw(t, "name")
		return modelExpression{"(" + a.hcl + ")." + name, "if_(True, " + a.star + ", None)." + name}
	case "list":
		a, b := draw("first"), draw("second")
		return modelExpression{"[" + a.hcl + ", " + b.hcl + "]", "[" + a.star + ", " + b.star + "]"}
	case "object":
		a, b := draw("value"), draw("key")
		return modelExpression{"{ a = " + a.hcl + ", (" + b.hcl + ") = 1 }", `{"a": ` + a.star + `, "b": ` + b.star + "}"}
	case "for":
		a, b, c := draw("over"), draw("value"), draw("condition")
		return modelExpression{"[for k, v in " + a.hcl + " : [k, v, " + b.hcl + "] if (" + c.hcl + ")]", "[[v, " + b.star + "] for v in " + a.star + "]"}
	case "keys":
		a, b := draw("over"), draw("key")
		return modelExpression{"{ for k, v in " + a.hcl + " : (" + b.hcl + ") => v... }", "{v: " + b.star + " for v in " + a.star + "}"}
	case "splat":
		a := draw("over")
		return modelExpression{"(" + a.hcl + ")[*].a", "[v.a for v in " + a.star + "]"}
	case "template":
		a, b := draw("text"), draw("condition")
		return modelExpression{`"<${` + a.hcl + `}%{ if ` + b.hcl + ` }x%{ endif }>"`, `format("<%s%v>", ` + a.star + ", " + b.star + ")"}
	}
	name := rapid.SampledFrom(expressionLeaves).Draw(t, "leaf")
	return modelExpression{name, name}
}

var (
	// functionArguments are the functions, and how many arguments each takes at least.
	functionArguments = func() map[string]int {
		all := map[string]int{"hosts": 1}
		for _, f := range expr.NewFiles(nil).Functions(".") {
			all[f.Name] = len(f.Impl.Params())
			if f.Impl.VarParam() != nil {
				all[f.Name]++
			}
		}
		return all
	}()
	hclDialect  = dialect{yes: "true", no: "false", null: "null", pair: " = ", escape: hclText}
	starDialect = dialect{yes: "True", no: "False", null: "None", pair: ": ", escape: starText}
	// fault is what a message says of a fault of the program.
	fault = regexp.MustCompile(`(?i)panic|goroutine|\.go:\d|0x[0-9a-f]{6}|cty\.|bug in tenet|runtime error`)
)

// TestRandomExpressions evaluates expressions over all functions and operators in both
// languages, as far as it can be done without the host and then on it. Whatever they
// compute with, they have a value or an error that explains itself.
func TestRandomExpressions(t *testing.T) {
	registry, host := modules.Standard(), &fstest.MapFile{Data: []byte(expressionNames)}
	rapid.Check(t, func(rt *rapid.T) {
		x := drawExpression(rt, 3)
		target := lang.Target{Host: "web1", Facts: facts, SecretsHidden: rapid.Bool().Draw(rt, "hidden"), Secrets: secrets("db=hunter22")}
		for name, text := range map[string]string{
			"site.hcl":  "command \"c\" {\n  argv = [\"c\"]\n  env = { V = jsonencode(" + x.hcl + ") }\n}\noutput \"o\" {\n  value = " + x.hcl + "\n}\n",
			"site.star": "value = " + x.star + "\ncommand(\"c\", argv = [\"c\"], env = {\"V\": jsonencode(value)})\noutput(\"o\", value)\n",
		} {
			site, list := lang.Load(fstest.MapFS{"names.hcl": host, name: {Data: []byte(text)}}, lang.Options{Registry: registry})
			declared, more := site.Evaluate(context.Background(), target)
			list = append(list, more...)
			if !list.HasErrors() {
				compiled, more := graph.Compile(declared, graph.Options{Registry: registry})
				if list = append(list, more...); !more.HasErrors() {
					list = append(list, evaluated(rt, compiled.Run)...)
				}
			}
			for _, d := range list {
				if fault.MatchString(d.Error()) {
					rt.Fatalf("%s\n%s", text, d.Error())
				}
				if strings.Contains(d.Error(), "hunter22") {
					rt.Fatalf("an error shows a secret:\n%s\n%s", text, d.Error())
				}
			}
		}
	})
}

// evaluated evaluates what is left of the expressions, with random results.
func evaluated(t *rapid.T, run *states.StateRun) (list diag.List) {
	get := func(*states.Expr) (cty.Value, error) {
		v, err := expr.Value(modelValue(t, 2))
		switch rapid.IntRange(0, 4).Draw(t, "as") {
		case 0:
			return cty.DynamicVal, fmt.Errorf("it was not run")
		case 1:
			return v.Mark(expr.Sensitive), err
		case 2:
			return cty.UnknownVal(v.Type()), err
		case 3:
			return v.Mark(expr.SecretFound), err
		}
		return v, err
	}
	for i := range run.Invocations {
		for _, part := range run.Invocations[i].Parts {
			for _, x := range part.Results {
				v, wrong := expr.Evaluate(x, expr.Evaluation{Result: get})
				list = append(list, wrong...)
				if plain, _ := expr.Split(v); !wrong.HasErrors() && plain.IsWhollyKnown() {
					if _, err := expr.Plain(plain); err != nil {
						list.Add(diag.Diagnostic{Summary: err.Error()})
					}
				}
			}
		}
	}
	return list
}

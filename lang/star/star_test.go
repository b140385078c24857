package star_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/star"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

type thing struct {
	Name string  `state:"name,key" doc:"Name."`
	Text *string `state:"text" doc:"Text."`
}

func registry() *states.Registry {
	return states.NewRegistry(states.Define(states.Type[thing]{Name: "thing", Doc: "A thing.", NoAbsent: "it is an act",
		Act: func(_ context.Context, _ host.Host, want thing) (bool, thing, error) { return true, want, nil }}))
}

// world is one in which variables have their defaults, and no fact is known.
type world struct{}

func (world) Data(*syntax.Block) (cty.Value, diag.List) { return cty.DynamicVal, nil }
func (world) Variable(b *syntax.Block) (cty.Value, diag.List) {
	v, _ := b.Body.Attribute("default").Expr.Value(nil)
	return v, nil
}
func (world) Value(kind, name string) (cty.Value, error) { return cty.DynamicVal, nil }
func (world) Functions(string) map[string]function.Function {
	return expr.NewFiles(fstest.MapFS{}).FunctionMap(".")
}

func ExampleParse() {
	scripts, problems := star.Parse([]star.Source{{Name: "site.star", Data: []byte(`
text = variable("text", default = "hello")
for i in range(2):
    thing("t%d" % i, text = upper(text))
`)}}, star.Options{Registry: registry(), Site: fstest.MapFS{}})
	if len(problems) > 0 {
		fmt.Println(problems.Err())
		return
	}
	declared, problems := scripts.Run(context.Background(), world{})
	for _, file := range declared {
		for _, b := range file.Body.Blocks {
			v, _ := b.Body.Attribute("text").Expr.Value(nil)
			fmt.Println(file.Name, b.Type, b.Labels[0], v.AsString())
		}
	}
	fmt.Println(len(problems), "problems")
	// Output:
	// site.star thing t0 HELLO
	// site.star thing t1 HELLO
	// 0 problems
}

// What nests is refused before the parser runs, which recurses.
func TestNesting(t *testing.T) {
	const many = 100_000
	for name, src := range map[string]string{
		"brackets":     "x = " + strings.Repeat("[", many) + strings.Repeat("]", many),
		"open":         "x = " + strings.Repeat("(", many),
		"not":          "x = " + strings.Repeat("not ", many) + "1",
		"minus":        "x = " + strings.Repeat("-", many) + "1",
		"lambda":       "x = " + strings.Repeat("lambda: ", many) + "1",
		"if":           "x = " + strings.Repeat("1 if 1 else ", many) + "1",
		"sum":          "x = 1" + strings.Repeat(" + 1", many),
		"calls":        "x = f" + strings.Repeat("()", many),
		"dots":         "x = f" + strings.Repeat(".a", many),
		"and":          "x = 1" + strings.Repeat(" and 1", many),
		"comparisons":  "x = 1" + strings.Repeat(" in 1", many),
		"for":          "x = [1 " + strings.Repeat("for y in z ", many) + "]",
		"indentation":  nested(300),
		"lambda list":  "x = " + strings.Repeat("lambda a, b: ", many) + "1",
		"elif":         "if 1:\n  pass\n" + strings.Repeat("elif 1:\n  pass\n", many),
		"strings":      strings.Repeat("x = [\"(\", '''\n[''', r\"\\\", \n", 300),
		"continuation": "x = " + strings.Repeat("not \\\n", many) + "1",
	} {
		_, problems := star.Parse([]star.Source{{Name: "site.star", Data: []byte(src)}}, star.Options{Registry: registry(), Site: fstest.MapFS{}})
		if len(problems) != 1 || problems[0].Hint == "" || problems[0].Range.Start.Line == 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if s := problems[0].Summary; !strings.Contains(s, "nests deeper") && !strings.Contains(s, "operators") && !strings.Contains(s, "branches") {
			t.Errorf("%s: %s", name, s)
		}
	}
}

func nested(n int) string {
	var b strings.Builder
	b.WriteString("def f():\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "if 1:\n")
	}
	b.WriteString(strings.Repeat(" ", n+1) + "pass\n")
	return b.String()
}

// What does not nest is not refused, however long it is.
func TestNoNesting(t *testing.T) {
	for name, src := range map[string]string{
		"list":       "def f(x): return [x]\nx = [" + strings.Repeat("-1, not 1, (1 if 1 else 2), f(1)[0],\n", 5000) + "]\n",
		"statements": strings.Repeat("x = -1 if not 1 else -2\n", 5000),
		"strings":    "x = " + strings.Repeat("\"((((((\" + '[[' + \\\n", 500) + "'''{{{{\n'''\n",
		"comments":   strings.Repeat("# ((((( [[[[\n", 5000),
		"minus":      "x = 1" + strings.Repeat(" - 1", 5000),
		"dict":       "x = {" + strings.Repeat("'a': {'b': [1]},", 1) + strings.Join(keys(3000), ",") + "}",
		"lambdas":    "x = [" + strings.Repeat("lambda a, b: a, ", 5000) + "]\n",
		"elif":       "def f(x):\n  if x:\n    pass\n" + strings.Repeat("  elif x:\n    pass\n", 5000),
		"ifs":        strings.Repeat("if 1:\n  x = 1\nelif 2:\n  x = 2\nelse:\n  x = 3\n", 1000),
	} {
		_, problems := star.Parse([]star.Source{{Name: "site.star", Data: []byte(src)}}, star.Options{Registry: registry(), Site: fstest.MapFS{}})
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems[0])
		}
	}
}

func keys(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("'k%d': {'b': [-1]}", i))
	}
	return list
}

// A run that is stopped says nothing: who stopped it does. One script may be
// run by several goroutines.
func TestRunTogetherAndStopped(t *testing.T) {
	scripts, problems := star.Parse([]star.Source{{Name: "a.star", Data: []byte("for x in range(1000000):\n    for y in range(1000000):\n        pass\n")},
		{Name: "b.star", Data: []byte("thing('x')\n")}}, star.Options{Registry: registry(), Site: fstest.MapFS{}, MaxSteps: 1 << 40})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	done := make(chan diag.List)
	for range 4 {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50_000_000)
			defer cancel()
			_, problems := scripts.Run(ctx, world{})
			done <- problems
		}()
	}
	for range 4 {
		if problems := <-done; len(problems) > 0 {
			t.Error(problems)
		}
	}
}

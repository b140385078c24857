package expr_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

func ExampleEvaluate() {
	var x states.Expr
	text := `{"template": [{"value": "listening on "}, {"call": "trimspace", "args": [{"ref": "command.port", "attribute": "stdout"}]}]}`
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		fmt.Println(err)
		return
	}
	v, problems := expr.Evaluate(&x, expr.Evaluation{
		Result: func(ref *states.Expr) (cty.Value, error) { return cty.StringVal("8080\n"), nil },
	})
	fmt.Println(v.AsString(), len(problems), "problems")
	// Output: listening on 8080 0 problems
}

// What is no expression is refused when it is read.
func TestReadExpression(t *testing.T) {
	deep := strings.Repeat(`{"join":`, 300) + `{"value":1}` + strings.Repeat(`}`, 300)
	wide := `{"tuple":[` + strings.Repeat(`{"value":"0123456789012345678901234567890"},`, 40000) + `{"value":1}]}`
	for text, want := range map[string]string{
		`1`:                                    "is a JSON object",
		`{}`:                                   "is no expression",
		`{"value":1,"more":2}`:                 `has no "more"`,
		`{"if":[{"value":true}]}`:              "has 1 operands",
		`{"if":[{"value":true},null,null]}`:    "is null",
		`{"operator":"+","args":[]}`:           "has 0 operands",
		`{"ref":"a","attribute":1}`:            `"attribute" is a json.Number`,
		`{"ref":"a","attribute":"b","from":1}`: `"from" is a json.Number`,
		`{"call":"f","args":{}}`:               `"args" is a map`,
		`{"item":-1}`:                          "wrong number",
		deep:                                   "deeper than 250",
		wide:                                   "larger than 1024 KiB",
	} {
		var x states.Expr
		err := json.Unmarshal([]byte(text), &x)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

// What is wrong with an expression that could be read is an error, never a
// panic, and takes neither time nor memory.
func TestEvaluateWrong(t *testing.T) {
	big := fmt.Sprintf(`{"value":%q}`, strings.Repeat("x", 100_000))
	many := `{"tuple":[` + strings.Repeat(`{"value":1},`, 999) + `{"value":1}]}`
	loop := `{"value":1}`
	for i := range 8 {
		loop = fmt.Sprintf(`{"for":[%s,null,%s,null],"name":"%d"}`, many, loop, i)
	}
	doubled := big
	for i := range 40 {
		doubled = fmt.Sprintf(`{"for":[{"tuple":[%s]},null,{"template":[{"local":"v%d"},{"local":"v%d"}]},null],"name":"%d"}`, doubled, i, i, i)
		doubled = fmt.Sprintf(`{"index":[%s,{"value":0}]}`, doubled)
	}
	for text, want := range map[string]string{
		`{"local":"v0"}`:                                                    "v0",
		`{"item":0}`:                                                        "outside of its splat",
		`{"result":true}`:                                                   "only after the part's own act",
		`{"ref":"a","attribute":"b"}`:                                       "not known here",
		`{"operator":"?","args":[{"value":1}]}`:                             "no operator",
		`{"call":"read","args":[{"value":"/etc"}]}`:                         "there is no function named",
		`{"call":"secret","args":[{"value":"a"}]}`:                          "there is no function named",
		`{"call":"max","args":[],"expand":true}`:                            "expands an argument",
		`{"object":[{"value":"a"}]}`:                                        "has no value",
		`{"value":1,"type":"strong"}`:                                       "is no type",
		`{"convert":{"value":"a"},"type":"number"}`:                         "number is required",
		`{"join":{"value":null}}`:                                           "no tuple",
		`{"for":[{"value":[]},null,null,null]}`:                             "is null|no number",
		`{"value":"\ufffe\u0301e\u0301"}`:                                   "normal form",
		`{"call":"format","args":[{"value":"%999999999s"},{"value":"a"}]}`:  "too large",
		`{"call":"indent","args":[{"value":999999999},{"value":"a\nb"}]}`:   "too large",
		`{"call":"replace","args":[` + big + `,{"value":"x"},` + big + `]}`: "too large",
		`{"call":"pow","args":[{"value":9},{"value":999999999}]}`:           "too large",
		`{"call":"setproduct","args":[` + strings.TrimSuffix(strings.Repeat(many+",", 9), ",") + `]}`: "too large",
		`{"call":"yamldecode","args":[{"value":"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]"}]}`: "too large",
		loop:    "too much time or memory",
		doubled: "too much time or memory",
	} {
		var x states.Expr
		err := json.Unmarshal([]byte(text), &x)
		if err == nil {
			_, list := expr.Evaluate(&x, expr.Evaluation{})
			if err = list; !list.HasErrors() {
				err = nil
			}
		}
		found := false
		for _, w := range strings.Split(want, "|") {
			found = found || err != nil && strings.Contains(err.Error(), w)
		}
		if !found {
			t.Errorf("%.80s: got %v, want %q", text, err, want)
		}
	}
}

// FuzzEvaluate reads and evaluates any bytes.
func FuzzEvaluate(f *testing.F) {
	if data, err := os.ReadFile("../../testdata/cli/results.txtar"); err == nil {
		f.Add(data)
	}
	for _, seed := range []string{
		`{"value":[1,"a",null,true,{"b":2}],"sensitive":true}`,
		`{"value":["a"],"type":["set","string"]}`,
		`{"template":[{"value":"a"},{"ref":"command.x","attribute":"stdout"},{"operator":"-","args":[{"value":1}]}]}`,
		`{"if":[{"operator":"==","args":[{"result":true},{"value":1}]},{"value":"a"},{"value":2}]}`,
		`{"for":[{"ref":"a","attribute":"list"},{"local":"k0"},{"call":"upper","args":[{"local":"v0"}]},{"operator":"!=","args":[{"local":"v0"},{"value":"b"}]}],"name":"0","group":true}`,
		`{"splat":[{"ref":"a","attribute":"list"},{"get":"x","of":{"item":0}}],"item":0}`,
		`{"index":[{"object":[{"value":"a"},{"tuple":[{"value":1}]}]},{"value":"a"}]}`,
		`{"join":{"tuple":[{"value":"a"},{"value":1}]}}`,
		`{"convert":{"call":"try","args":[{"call":"jsondecode","args":[{"ref":"a","attribute":"text"}]},{"value":null}]},"type":["map","string"]}`,
		`{"call":"format","args":[{"value":"%5d %s"},{"value":3},{"ref":"a","attribute":"text"}]}`,
		`{"call":"concat","args":[{"tuple":[{"value":[1]},{"value":["a"]}]}],"expand":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var x states.Expr
		if json.Unmarshal(data, &x) != nil {
			return
		}
		written, err := json.Marshal(&x)
		if err != nil {
			t.Fatal(err)
		}
		var again states.Expr
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		begun := time.Now()
		all := values()
		for _, known := range []bool{true, false} {
			v, list := expr.Evaluate(&again, expr.Evaluation{OwnResult: all["object"], Result: func(ref *states.Expr) (cty.Value, error) {
				v, ok := all[ref.Name]
				switch {
				case !ok:
					return cty.DynamicVal, fmt.Errorf("there is none")
				case !known:
					return cty.UnknownVal(v.Type()), nil
				}
				return v, nil
			}})
			if list.HasErrors() {
				continue
			}
			if plain, _ := expr.Split(v); plain.IsWhollyKnown() {
				_, _ = expr.Plain(plain) // a reference cannot be in it, but numbers may be too large
			}
		}
		if took := time.Since(begun); took > time.Minute {
			t.Fatalf("it took %s: %s", took, written)
		}
	})
}

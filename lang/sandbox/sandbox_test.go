package sandbox_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/sandbox"
)

func dialect() syntax.FileOptions {
	return syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
}

// run compiles and executes a source.
func run(ctx context.Context, src string, l sandbox.Limits) (starlark.StringDict, error) {
	p, list := sandbox.Compile("test.star", []byte(src), sandbox.Options{Dialect: dialect()})
	if list.HasErrors() {
		return nil, list.Err()
	}
	thread, stop := sandbox.NewThread(ctx, "test", l)
	defer stop()
	globals, err := p.Run(thread)
	if err = sandbox.Cause(ctx, thread, err); err != nil {
		return globals, p.Diagnose(err).Err()
	}
	return globals, nil
}

// bombs are scripts that would take for ever, or all memory, by what they do.
func bombs() map[string]string {
	deep := func(open, end string, n int) string {
		return "x = " + strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
	}
	return map[string]string{
		"loop":              "for i in range(1000000):\n  for j in range(1000000): pass",
		"repeat a text":     `x = "a" * 1000000000`,
		"repeat backwards":  `x = 1000000000 * "a"`,
		"repeat a list":     `x = [0] * 1000000000`,
		"repeat a tuple":    `x = (0,) * 1000000000`,
		"repeat bytes":      `x = b"a" * 1000000000`,
		"huge repeat":       `x = "a" * (1 << 80)`,
		"in place":          "x = 'a'\nx *= 1000000000",
		"double a text":     "x = 'a'\nfor i in range(60): x = x + x",
		"double in place":   "x = 'a'\nfor i in range(60): x += x",
		"double a list":     "x = [1]\nfor i in range(60): x += x",
		"extend":            "x = [1]\nfor i in range(60): x.extend(x)",
		"element in place":  "x = ['a']\nfor i in range(60): x[0] += x[0]",
		"computed element":  "x = ['a']\nfor i in range(60): x[int('0')] += x[0]",
		"keep":              "x = []\nfor i in range(10000): x.append('a' * 10000000)",
		"keep slices":       "x = []\ny = [0] * 1000000\nfor i in range(10000): x.append(y[1:])",
		"keep arguments":    "x = []\ny = [0] * 1000000\ndef f(*a): x.append(a)\nfor i in range(10000): f(*y)",
		"keep copies":       "x = []\ny = 'a' * 10000000\nfor i in range(10000): x.append(y.upper())",
		"number":            "x = 3\nfor i in range(60): x = x * x",
		"number in place":   "x = 3\nfor i in range(60): x *= x",
		"shift":             "x = 3\nfor i in range(1000000): x = x << 500",
		"parse a number":    `x = int("9" * 10000000)`,
		"list of a range":   "x = list(range(1000000000))",
		"search a range":    "x = all(range(1, 1000000000000))",
		"largest":           "x = max(range(1000000000000))",
		"replace":           `x = ("a" * 1000000).replace("a", "b" * 1000000)`,
		"replace nothing":   `x = ("a" * 1000000).replace("", "b" * 1000000)`,
		"join":              `x = ("a" * 1000000).join(["b"] * 1000000)`,
		"join codepoints":   `x = ("a" * 1000000).join(("b" * 1000000).codepoints())`,
		"join references":   `x = "".join(["b" * 1000000] * 1000000)`,
		"format":            `x = ("{0}" * 1000000).format("b" * 1000000)`,
		"percent":           `x = ("%(a)s" * 1000000) % {"a": "b" * 1000000}`,
		"getattr":           `x = getattr("a" * 1000000, "join")(["b"] * 1000000)`,
		"elements":          `x = list(("a" * 10000000).elems())`,
		"byte elements":     `x = list((b"a" * 10000000).elems())`,
		"split":             "x = []\nfor i in range(1000): x.append(('a ' * 500000).split(' '))",
		"show a lattice":    "x = [1]\nfor i in range(60): x = [x, x]\ny = str(x)",
		"fail a lattice":    "x = [1]\nfor i in range(60): x = [x, x]\nfail(x)",
		"percent a lattice": "x = [1]\nfor i in range(60): x = [x, x]\ny = '%s' % [x]",
		"format a lattice":  "x = [1]\nfor i in range(60): x = [x, x]\ny = '{}'.format(x)",
		"hash a lattice":    "x = (1,)\nfor i in range(60): x = (x, x)\ny = {x: 1}",
		"hash arguments":    "def f(*a): return a\nx = (1,)\nfor i in range(60): x = f(x, x)\ny = {x: 1}",
		"hash in a lambda":  "f = lambda *a: a\nx = (1,)\nfor i in range(60): x = f(x, x)\ny = {x: 1}",
		"hash pairs":        "x = (1,)\nfor i in range(60): x = zip([x], [x])[0]\ny = {x: 1}",
		"hash items":        "x = (1,)\nfor i in range(60): x = {1: (x, x)}.items()[0]\ny = {x: 1}",
		"hash deep":         "x = (1,)\nfor i in range(100000): x = (x,)\ny = {x: 1}",
		"show deep":         "x = [1]\nfor i in range(100000): x = [x]\ny = str(x)",
		"compare":           "a = 'a' * 10000000\nx = [a + 'b'] * 1000000\ny = [a + 'c'] * 1000000\nz = x == y",
		"search":            "a = 'a' * 10000000\nx = [a + 'b'] * 1000000\nz = (a + 'c') in x",
		"index":             "a = 'a' * 10000000\nx = [a + 'b'] * 1000000\nz = x.index(a + 'c')",
		"recursion":         "def f(): f()\nf()",
		"two recurse":       "def f(g): g(f)\ndef g(f): f(g)\nf(g)",
		"Y":                 "f = lambda g: g(g)\nf(f)",
		"parentheses":       deep("(", ")", 100_000),
		"lists":             deep("[", "]", 100_000),
		"dicts":             deep("{1:", "}", 100_000),
		"calls":             deep("int(", ")", 100_000),
		"not":               deep("not ", "", 100_000),
		"minus":             deep("-", "", 100_000),
		"minus apart":       deep("- ", "", 100_000),
		"lambda":            deep("lambda: ", "", 100_000),
		"lambda list":       deep("lambda a, b: ", "", 100_000),
		"conditions":        deep("1 if 1 else ", "", 100_000),
		"sum":               deep("1 + ", "", 1_000_000),
		"attributes":        "x = a" + strings.Repeat(".a", 1_000_000),
		"calls of calls":    "x = a" + strings.Repeat("()", 1_000_000),
		"indexes":           "x = a" + strings.Repeat("[0]", 1_000_000),
		"indentation":       indented(2000),
		"elif":              "if 0: pass\n" + strings.Repeat("elif 0: pass\n", 50_000) + "x = fail()",
		"large source":      strings.Repeat("x = 1\n", 1_000_000),
	}
}

// Whatever it does, Starlark ends soon, within memory, and with a reason.
func TestBombs(t *testing.T) {
	for name, src := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := run(t.Context(), src, sandbox.Limits{Memory: 64 << 20})
			if err == nil {
				t.Fatal("it is let through")
			}
			runtime.ReadMemStats(&after)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if grown := after.Sys - before.Sys; grown > 1<<30 {
				t.Errorf("it took %d MiB", grown>>20)
			}
			if text := err.Error(); strings.Contains(text, "\x00") || len(text) > 4000 {
				t.Errorf("the message: %.200q", text)
			}
			if !strings.Contains(err.Error(), "test.star:") {
				t.Errorf("no place: %.200s", err)
			}
		})
	}
}

func indented(n int) string {
	var b strings.Builder
	b.WriteString("x = fail()\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if 1:\n")
	}
	b.WriteString(strings.Repeat(" ", n) + "pass\n")
	return b.String()
}

// The checks change nothing of what a program means.
func TestSameMeaning(t *testing.T) {
	const src = `
def f(a, b = 1 + 1, *c, **d):
    return [a, b, c, sorted(d.items())]

x = {"k": [1, 2]}
x["k"] += [3]
x["k"][0 + 1] += 5
x["k"] *= 2
n = 3
n *= 4
n -= 1
n <<= 2
n |= 1
n %= 40
s = "a"
s += "b"
alias = x["k"]
alias += [9]

out = [
    1 + 2, "a" + "b", [1] + [2], (1,) + (2,), 3 * "ab", "%s-%d" % ("x", 7), "%s" % "y", 7 % 4, 6 & 3, 6 | 3, 6 ^ 3, 1 << 4,
    1 == 1.0, "a" < "b", [1, 2] < [1, 3], 2 in [1, 2], "x" not in "abc", {"a": 1} | {"b": 2}, 1 in {1: 2},
    "-".join(["a", "b"]), "{}/{a}".format(1, a = 2), "a,b".split(","), "aXa".replace("X", "-"), "aB".upper(), "abc"[1:], [1, 2, 3][::2],
    f(*[1], **{"b": 3, "z": 4}), f(1, 2, 3, 4), (lambda *a: a)(1, 2), list(range(3)), sorted([3, 1, 2], reverse = True),
    getattr("a", "upper")(), getattr("a", "none", 5), str([1, (2,)]), repr("a"), int("12"), max(1, 2), min([3, 2]), zip([1], [2]),
    [a + b for a, b in [(1, 2)] if a * b == 2], {k: v for k, v in {"q": 1}.items()}, 1 if 2 > 1 else 3, not 1 == 2, -3 + 1,
    x, n, s, list("ab".elems()), dict(a = 1), list(enumerate(["e"])), set([1, 1]), any([0, 1]), all([]), 5 // 2, 5 / 2, 1 << 70,
]
`
	globals, err := run(t.Context(), src, sandbox.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	o := dialect()
	plain, err := starlark.ExecFileOptions(&o, &starlark.Thread{}, "test.star", src, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out", "x", "alias"} {
		if is, want := globals[name].String(), plain[name].String(); is != want {
			t.Errorf("%s is\n%s\nnot\n%s", name, is, want)
		}
	}
}

// A mistake is told at its place, with the calls that led there.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x = 1\ny = x + \"a\"", "test.star:2:7: unknown binary op: int + string"},
		{"def f(a):\n    return a.upper(1)\nf('é')", "test.star:2:19: upper: got 1 arguments, want 0"},
		{"x = [1][7]", "test.star:1:8: list index 7 out of range"},
		{"é = 'é'; x = yy", "test.star:1:14: undefined: yy"},
		{"x = true", "test.star:1:5: undefined: true (write True)"},
		{"import os", "there is no import"},
		{"x = (1", "test.star:1:7: got end of file"},
		{"x = 'a'\nx.uper()", "test.star:2:2: string has no .uper field or method (did you mean .upper?)"},
		{"def f(a): pass\nf(b = 1)", "test.star:1:1: function f got an unexpected keyword argument \"b\""},
		{"x = {}\nx[str(1)] *= 2", "test.star:2:11: this cannot be done in place"},
		{"load('a', 'b')", "nothing can be loaded here"},
		{"while True: pass", "use for with a range"},
	} {
		_, err := run(t.Context(), c.src, sandbox.Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant\n%s", c.src, err, c.want)
		}
	}
	p, _ := sandbox.Compile("a.star", []byte("def f():\n  fail('no')\ndef g():\n  f()\ng()"), sandbox.Options{})
	thread, stop := sandbox.NewThread(t.Context(), "", sandbox.Limits{})
	defer stop()
	_, err := p.Run(thread)
	list := p.Diagnose(err)
	if len(list) != 1 || len(list[0].Related) != 2 || list[0].Range.Start.Line != 2 || list[0].Related[1].Range.Start.Line != 5 {
		t.Errorf("the calls: %+v", list)
	}
}

func TestCancel(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	p, list := sandbox.Compile("a.star", []byte("for i in range(1000000):\n  for j in range(1000000): pass"), sandbox.Options{Dialect: dialect()})
	if list != nil {
		t.Fatal(list)
	}
	thread, stop := sandbox.NewThread(ctx, "", sandbox.Limits{Steps: 1 << 60})
	defer stop()
	_, err := p.Run(thread)
	if err = sandbox.Cause(ctx, thread, err); !errors.Is(err, why) {
		t.Errorf("it ended with %v", err)
	}
}

func TestLimits(t *testing.T) {
	var limit *diag.HintError
	p, _ := sandbox.Compile("a.star", []byte("x = [i for i in range(10000)]\n"), sandbox.Options{})
	thread, stop := sandbox.NewThread(t.Context(), "", sandbox.Limits{Steps: 1000})
	defer stop()
	_, err := p.Run(thread)
	if err = sandbox.Cause(t.Context(), thread, err); !errors.As(err, &limit) || !strings.Contains(err.Error(), "after 1000 steps") {
		t.Errorf("steps: %v", err)
	}
	if _, err := run(t.Context(), "x = 'a' * 5000000", sandbox.Limits{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "made 1 MiB") {
		t.Errorf("memory: %v", err)
	}
}

// No source makes it panic or hang.
func FuzzRun(f *testing.F) {
	for _, s := range []string{
		"x = 1 + 2", "def f(*a, **k): return a\nx = f(1, *[2], **{'a': 3})", "[a.b for a, (b, c) in {}.items() if not a]",
		"x = [1]\nx[0] += 1\nx[f(1)] *= 2", "lambda *a: (a, -1)", "load('a', b = 'c')", "if 1:\n  pass\nelif 2: pass\nelse: x = 'a' * 3",
		"x = \"\"\"a\\\"\"\"\"\n", "x = r'\\'", "a = b = c", "x = ((((", "x = 'é'[0:1:2] % {}", "for x in range(10): x <<= 2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, err := run(t.Context(), src, sandbox.Limits{Steps: 100_000, Memory: 1 << 26})
		if err != nil && strings.Contains(err.Error(), "\x00") && !strings.Contains(src, "\x00") {
			t.Errorf("%q", err.Error())
		}
	})
}

package lang_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// What is declared, what is wrong, and what is secret is the same, and in the same order,
// whether declarations are evaluated one by one or on several processors.
func TestEvaluationOnProcessors(t *testing.T) {
	rapidtest.For(t, "10") // .ci/run tries more
	registry := modules.Standard()
	files := fstest.MapFS{"names.hcl": {Data: []byte(expressionNames)}, "text": {Data: []byte("text\n")},
		"template":       {Data: []byte("${x} %{ for i in range(3) }${i * 2 + 1}, %{ endfor }\n")},
		"broken":         {Data: []byte("${x.y.z}\n")},
		"inner/main.hcl": {Data: []byte("variable \"n\" {\n  type = string\n}\nfile \"f\" {\n  path = \"/inner/${var.n}\"\n  content = \"x\"\n}\noutput \"path\" {\n  value = \"/inner/${var.n}\"\n}\n")}}
	rapid.Check(t, func(rt *rapid.T) {
		site := fstest.MapFS{}
		for name, file := range files {
			site[name] = file
		}
		site["site.hcl"] = &fstest.MapFile{Data: []byte(manyDeclarations(rt))}
		target := lang.Target{Host: "web1", Facts: facts, SecretsHidden: rapid.Bool().Draw(rt, "hidden"), Secrets: secrets("db=hunter22")}
		evaluate := func(processors int) string {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			loaded, _ := lang.Load(site, lang.Options{Registry: registry})
			return outcomeOf(rt, loaded, target)
		}
		alone, together := evaluate(1), evaluate(4)
		if alone != together {
			rt.Fatalf("%s\none by one:\n%s\ntogether:\n%s", site["site.hcl"].Data, alone, together)
		}
	})
}

// manyDeclarations are enough for several goroutines, some of them wrong.
func manyDeclarations(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("host \"web1\" {}\n")
	for i := range rapid.IntRange(60, 160).Draw(t, "declarations") {
		switch x := drawExpression(t, 2).hcl; rapid.IntRange(0, 14).Draw(t, "kind") {
		case 0:
			fmt.Fprintf(&b, "file \"/f%d\" {\n  source = %q\n}\n", i, rapid.SampledFrom([]string{"text", "template", "missing", "../out"}).Draw(t, "source"))
		case 1:
			fmt.Fprintf(&b, "file \"/f%d\" {\n  content = template(%q, { x = %s })\n}\n", i, rapid.SampledFrom([]string{"template", "broken", "missing"}).Draw(t, "template"), x)
		case 2:
			fmt.Fprintf(&b, "command \"c%d\" {\n  for_each = range(%d)\n  argv = [\"c\", each.key]\n}\n", i, i)
		case 3:
			fmt.Fprintf(&b, "command \"c%d\" {\n  for_each = [for n in range(%d) : \"k${n}\"]\n  argv = [\"c\", each.key, jsonencode(%s)]\n}\n", i, i%40, x)
		case 4:
			fmt.Fprintf(&b, "file \"/f%d\" {\n  content = secret(%q)\n}\n", i, rapid.SampledFrom([]string{"db", "none"}).Draw(t, "secret"))
		case 5:
			fmt.Fprintf(&b, "file \"~/f%d\" {\n  content = \"${fact.os.family} ${fact.nonsense}\"\n  mode = \"%d\"\n}\n", i, i)
		case 6:
			fmt.Fprintf(&b, "command \"c%d\" {\n  argv = [\"c\"]\n  when = %s\n}\n", i, x)
		case 7:
			fmt.Fprintf(&b, "command \"c%d\" {\n  argv = [\"c\", command.c%d.stdout]\n  requires = [file[\"/f%d\"]]\n}\n", i, i/2, i/3)
		case 8:
			fmt.Fprintf(&b, "state \"s%d\" {\n  command \"c\" {\n    argv = [jsonencode(%s)]\n  }\n}\n", i, x)
		case 9:
			fmt.Fprintf(&b, "component \"k%d\" {\n  source = \"./inner\"\n  vars = { n = \"n%d\" }\n}\nfile \"/k%[1]d\" {\n  content = component.k%[1]d.path\n}\n", i, i)
		case 10:
			fmt.Fprintf(&b, "file \"/f%d\" {\n  content = %s\n  ensure = \"absent\"\n}\n", i, x)
		default:
			fmt.Fprintf(&b, "command \"c%d\" {\n  argv = [\"c\"]\n  env = { V = jsonencode(%s) }\n}\n", i, x)
		}
	}
	return b.String()
}

// Components that are right give their outputs to whatever is evaluated beside them.
func TestComponentsOnProcessors(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "component \"k%d\" {\n  source = \"./inner\"\n  vars = { n = \"n%d\" }\n}\n", i, i)
		for j := range 3 {
			fmt.Fprintf(&b, "file \"/k%d.%d\" {\n  content = component.k%d.path\n}\n", i, j, (i*7+j)%200)
		}
	}
	site := fstest.MapFS{"site.hcl": {Data: []byte(b.String())},
		"inner/main.hcl": {Data: []byte("variable \"n\" {\n  type = string\n}\nfile \"f\" {\n  path = \"/inner/${var.n}\"\n}\noutput \"path\" {\n  value = \"/inner/${var.n}\"\n}\n")}}
	evaluate := func(processors int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		loaded, diags := lang.Load(site, lang.Options{Registry: modules.Standard()})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		declared, diags := loaded.Evaluate(t.Context(), lang.Target{Host: "web1", Facts: facts})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		text, err := json.Marshal(declared)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	alone := evaluate(1)
	if !strings.Contains(alone, `"/inner/n199"`) {
		t.Errorf("the outputs are not there: %.300s", alone)
	}
	if together := evaluate(4); together != alone {
		t.Error("it is not the same on four processors")
	}
}

package lang_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// What gives the same for every host is evaluated for the first: one host more costs a
// few steps a part, however many hosts its expressions go over.
func TestFixedExpressionsCostOnce(t *testing.T) {
	for _, content := range []string{`join(",", hosts("*")[*].name)`, `"%{ for h in hosts("*") }${h.name}\n%{ endfor }"`, `"${length(local.peers)} hosts"`,
		`"${host.name} ${length(hosts("*"))}"`, `"${host.name} ${join(",", hosts("*")[*].name)}"`,
		`"${host.name} ${join(",", [for h in hosts("*") : "${h.exports.weight}"])}"`} {
		few, many := fixedWork(t, 10, content), fixedWork(t, 510, content)
		if grown := many - few; grown > 20*500 { // a local is looked through once a host
			t.Errorf("with 500 hosts more, a host's evaluation of %s allocates %.0f times more (%.0f, %.0f)", content, grown, few, many)
		}
	}
}

// Locals that name others twice have more ways through them than anybody can go.
func TestChainOfLocals(t *testing.T) {
	var text strings.Builder
	text.WriteString("host \"web\" {}\nlocals {\n  l0 = 1\n")
	for i := range 60 {
		fmt.Fprintf(&text, "  l%d = min(local.l%d, local.l%[2]d)\n", i+1, i)
	}
	text.WriteString("}\nfile \"/a\" {\n  content = \"${local.l60}\"\n}\n")
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(text.String())}}, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list.Error())
	}
	if d, list := site.Evaluate(t.Context(), lang.Target{Host: "web"}); len(list) > 0 || len(d.List) != 1 {
		t.Fatal(list.Error())
	}
}

// A value that differs from host to host is never taken from another one: a site that has
// been evaluated for others gives what a site does that has not, value by value, with the
// same diagnostics and the same secrets.
func TestKeptValuesAreThoseOfTheHost(t *testing.T) {
	rapidtest.For(t, "25") // .ci/run tries more
	registry := modules.Standard()
	rapid.Check(t, func(rt *rapid.T) {
		first, second, third := drawExpression(rt, 3).hcl, drawExpression(rt, 3).hcl, drawExpression(rt, 2).hcl
		around := rapid.SampledFrom([]string{"%s", "[%s, local.first]", "[for x in local.all : [x, %s]]", `[hosts("*")[*].name, %s]`,
			`try([%s, local.first], length(hosts("web*")))`, "[%s, host.name]", "[%s, host.labels]", "{ for h in hosts(\"*\") : h.name => %s }", "[%s, var.own]", "[%s, self]"}).Draw(rt, "around")
		text := "host \"web1\" {\n  vars = { own = 1 }\n  labels = { a = \"b\" }\n}\nhost \"web2\" {\n  vars = { own = 2 }\n}\nvariable \"own\" {\n}\n" +
			"locals {\n  first = " + first + "\n  all = [local.first, hosts(\"*\")[*].name]\n}\n" +
			"command \"c\" {\n  argv = [\"c\"]\n  env = { V = jsonencode(" + fmt.Sprintf(around, second) + ") }\n}\n" +
			"state \"s\" {\n  for_each = [\"x\", \"y\"]\n  command \"d\" {\n    argv = [\"d\"]\n    env = { V = jsonencode([" + third + ", each.key, " + fmt.Sprintf(around, third) + "]) }\n  }\n}\n" +
			"output \"o\" {\n  value = " + second + "\n}\n"
		load := func() *lang.Site {
			site, _ := lang.Load(fstest.MapFS{"names.hcl": {Data: []byte(expressionNames)}, "site.hcl": {Data: []byte(text)}}, lang.Options{Registry: registry})
			return site
		}
		shared := load()
		for range 4 {
			target := lang.Target{Host: rapid.SampledFrom([]string{"web1", "web2"}).Draw(rt, "host"), Facts: facts,
				SecretsHidden: rapid.Bool().Draw(rt, "hidden"), Secrets: secrets("db=hunter22")}
			got, want := outcomeOf(rt, shared, target), outcomeOf(rt, load(), target)
			if got != want {
				rt.Fatalf("%s\nfor %s the site that was used gives\n%s\nand a fresh one\n%s", text, target.Host, got, want)
			}
		}
	})
}

// outcomeOf is all that a site gives for a target, as text.
func outcomeOf(t *rapid.T, site *lang.Site, target lang.Target) string {
	declared, list := site.Evaluate(context.Background(), target)
	data, err := json.Marshal([]any{declared, list})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

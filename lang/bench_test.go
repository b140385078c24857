package lang_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

// manyBlocks is a site with n file blocks.
func manyBlocks(n int) string {
	var b strings.Builder
	b.WriteString("variable \"name\" {\n  default = \"x\"\n}\nreload \"a\" {}\n")
	for i := range n {
		fmt.Fprintf(&b, "file \"/srv/%d\" {\n  content = \"${var.name} %d\\n\"\n  mode = \"0640\"\n  notify = [reload.a]\n}\n", i, i)
	}
	return b.String()
}

// manyInstances is a site with one file of n instances.
func manyInstances(n int) string {
	return fmt.Sprintf("state \"s\" {\n  file \"f\" {\n    for_each = [for i in setproduct(range(100), range(%d)) : \"/srv/${i[0]}/${i[1]}\"]\n"+
		"    content = \"${each.key}\\n\"\n    mode = \"0640\"\n  }\n}\n", n/100)
}

func benchmarkSite(b *testing.B, text string, declarations int) {
	b.Helper()
	site := fstest.MapFS{"site.hcl": {Data: []byte(text)}}
	b.ReportAllocs()
	for b.Loop() {
		s, list := lang.Load(site, lang.Options{Registry: registry()})
		d, more := s.Evaluate(context.Background(), lang.Target{Host: "h"})
		if len(list)+len(more) > 0 {
			b.Fatal(list, more)
		}
		if len(d.List) != declarations {
			b.Fatalf("%d declarations", len(d.List))
		}
	}
}

func BenchmarkBlocks10000(b *testing.B)    { benchmarkSite(b, manyBlocks(10_000), 10_001) }
func BenchmarkBlocks100000(b *testing.B)   { benchmarkSite(b, manyBlocks(100_000), 100_001) }
func BenchmarkInstances10000(b *testing.B) { benchmarkSite(b, manyInstances(10_000), 1) }

// manyCalls is a script that makes n files in a loop.
func manyCalls(n int) string {
	return fmt.Sprintf(`name = variable("name", default = "x")
a = reload("a")
for i in range(%d):
    file("/srv/%%d" %% i, content = "%%s %%d\n" %% (name, i), mode = "0640", notify = [a])
`, n)
}

func benchmarkScript(b *testing.B, n int) {
	b.Helper()
	site := fstest.MapFS{"site.star": {Data: []byte(manyCalls(n))}}
	b.ReportAllocs()
	for b.Loop() {
		s, list := lang.Load(site, lang.Options{Registry: registry()})
		d, more := s.Evaluate(context.Background(), lang.Target{Host: "h"})
		if len(list)+len(more) > 0 {
			b.Fatal(list, more)
		}
		if len(d.List) != n+1 {
			b.Fatalf("%d declarations", len(d.List))
		}
	}
}

func BenchmarkScript10000(b *testing.B)  { benchmarkScript(b, 10_000) }
func BenchmarkScript100000(b *testing.B) { benchmarkScript(b, 100_000) }

package lang_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

// work counts what one host's evaluation of a site allocates in which 100 parts ask for
// n hosts.
func work(t *testing.T, n int) float64 { return fixedWork(t, n, `hosts("*")[3].name`) }

// fixedWork counts what one host's evaluation of a site of n hosts allocates, where an
// expression is the content of 100 files and another host was evaluated before.
func fixedWork(t *testing.T, n int, content string) float64 {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "host \"web%d\" {}\n", i)
	}
	if strings.Contains(content, "exports.") {
		text.WriteString("variable \"weight\" {\n  export = true\n  default = 1\n}\n")
	}
	if strings.Contains(content, "local.") {
		text.WriteString("locals {\n  peers = [for h in hosts(\"*\") : h.name]\n}\n")
	}
	for i := range 100 {
		fmt.Fprintf(&text, "file \"/etc/%d\" {\n  content = %s\n}\n", i, content)
	}
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(text.String())}}, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list.Error())
	}
	return testing.AllocsPerRun(3, func() {
		d, list := site.Evaluate(context.Background(), lang.Target{Host: "web7"})
		if len(list) > 0 || len(d.List) != 100 {
			t.Fatal(list.Error())
		}
	})
}

// What hosts(PATTERN) costs a host does not grow with the number of hosts, so that of all
// hosts does not grow with its square.
func TestHostsCostOnce(t *testing.T) {
	few, many := work(t, 10), work(t, 510)
	if grown := many - few; grown > 5*500 {
		t.Errorf("with 500 hosts more, a host's evaluation allocates %.0f times more (%.0f, %.0f)", grown, few, many)
	}
}

// A script that asks for the same hosts again gets them without their being made again.
func TestHostsCostAScriptOnce(t *testing.T) {
	work := func(n, uses int) float64 {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "host \"web%d\" {}\n", i)
		}
		site, list := lang.Load(fstest.MapFS{"hosts.hcl": {Data: []byte(text.String())},
			"site.star": {Data: []byte("[file(\"/etc/%d\" % i, content = hosts(\"*\")[3].name) for i in range(" + fmt.Sprint(uses) + ")]\n")}}, lang.Options{Registry: registry()})
		if len(list) > 0 {
			t.Fatal(list.Error())
		}
		return testing.AllocsPerRun(3, func() {
			if d, list := site.Evaluate(context.Background(), lang.Target{Host: "web7"}); len(list) > 0 || len(d.List) != uses {
				t.Fatal(list.Error())
			}
		})
	}
	few, many := work(10, 101)-work(10, 1), work(510, 101)-work(510, 1)
	if grown := many - few; grown > 5*500 {
		t.Errorf("with 500 hosts more, 100 uses allocate %.0f times more (%.0f, %.0f)", grown, few, many)
	}
}

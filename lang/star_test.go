package lang_test

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

// What declares hosts must not come after what looks at one, without facts; for
// a host all is known.
func TestHostsOfScripts(t *testing.T) {
	load := func(src string) *lang.Site {
		site, list := lang.Load(fstest.MapFS{"site.star": {Data: []byte(src)}}, lang.Options{Registry: registry()})
		if len(list) > 0 {
			t.Fatal(list)
		}
		return site
	}
	site := load("host('a')\nif fact.cpus > 1:\n    host('b')\nfile('/x', content = 1 + 'x')\n")
	hosts, _, list := site.Hosts(t.Context(), lang.Target{})
	if len(hosts) != 1 || len(list) != 1 || !strings.HasPrefix(list[0].Error(), "site.star:3:5: host() comes after what depends on the host itself") {
		t.Error(hosts, list)
	}
	site = load("host('a')\nhost('b', vars = {'v': 1})\nv = variable('v', default = 0)\nfile('/x', content = str(fact.cpus + v))\n")
	hosts, _, list = site.Hosts(t.Context(), lang.Target{})
	if len(hosts) != 2 || len(list) > 0 {
		t.Error(hosts, list)
	}
	for host, want := range map[string]string{"a": "2", "b": "3"} {
		d, list := site.Evaluate(t.Context(), lang.Target{Host: host, Facts: facts})
		if len(list) > 0 || len(d.List) != 1 || d.List[0].Parts[0].Values["content"] != want {
			t.Error(host, d, list)
		}
	}
	// To go over hosts is such a look, too, and what is not there is told by its name.
	site = load("host('a')\nfor h in hosts('*'):\n    file('/' + h.name, content = '')\nrollout(batch = 1)\n")
	_, _, list = site.Hosts(t.Context(), lang.Target{})
	if len(list) != 1 || !strings.HasPrefix(list[0].Error(), "site.star:4:1: rollout() comes after what depends on the host itself") ||
		len(list[0].Related) != 1 || list[0].Related[0].Message != "the value of hosts() is not known yet, and cannot be used as something to go over here" {
		t.Error(list)
	}
	site = load("host('a')\nx = command('x', argv = ['true'])\nfor line in x.stdout:\n    print('p', message = line)\n")
	_, list = site.Evaluate(t.Context(), lang.Target{Host: "a"})
	if len(list) != 1 || !strings.Contains(list[0].Error(), "is not known yet, and cannot be used as something to go over here") {
		t.Error(list)
	}
	// What a script does wrong apart from hosts is said for a host, and once.
	site = load("host('a')\nx = [][1]\n")
	if _, _, list := site.Hosts(t.Context(), lang.Target{}); len(list) > 0 {
		t.Error(list)
	}
	_, list = site.Evaluate(t.Context(), lang.Target{Host: "a"})
	one(t, list, "site.star:2:7: index 1 out of range")
}

// TestParallelScripts evaluates one site in several goroutines; the race
// detector watches.
func TestParallelScripts(t *testing.T) {
	site, list := lang.Load(fstest.MapFS{
		"site.star":    {Data: []byte("load('./lib/l.star', 'f')\nhost('h')\ncomponent('c', source = './c')\nstate('s', f)\nrun('r', ref('state.s'), params = {'n': 2})\n")},
		"site.hcl":     {Data: []byte("functions \"l\" {\n  source = \"lib/l.star\"\n}\nfile \"/g\" {\n  content = l::g(\"x\")\n}\n")},
		"lib/l.star":   {Data: []byte("def f(n = 1):\n    return [file('x', path = '/x%d' % n, content = '')]\n\ndef g(x):\n    return x\n")},
		"c/main.star":  {Data: []byte("file('/c', content = variable('v', default = 'v'))\n")},
		"c/other.hcl":  {Data: []byte("component \"d\" {\n  source = \"../d\"\n}\n")},
		"d/main.star":  {Data: []byte("output('o', 1)\nfile('/d', content = '')\n")},
		"d/values.hcl": {Data: []byte("locals {\n  x = 1\n}\n")},
	}, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	want, list := site.Evaluate(t.Context(), lang.Target{Host: "h"})
	if len(list) > 0 || len(want.List) < 6 {
		t.Fatal(want, list)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			got, _ := site.Evaluate(t.Context(), lang.Target{Host: "h"})
			if !reflect.DeepEqual(got, want) {
				t.Error("the declarations differ")
			}
		})
	}
	group.Wait()
}

// A script that is stopped gives no declarations, and says why.
func TestScriptsStop(t *testing.T) {
	site, _ := lang.Load(fstest.MapFS{"site.star": {Data: []byte("for x in range(1000000):\n    for y in range(1000000):\n        pass\n")}},
		lang.Options{Registry: registry(), MaxSteps: 1 << 50})
	ctx, cancel := context.WithTimeout(t.Context(), 50_000_000)
	defer cancel()
	d, list := site.Evaluate(ctx, lang.Target{Host: "h"})
	if d != nil {
		t.Error(d)
	}
	if len(list) != 1 || list[0].Summary != "evaluation was stopped: context deadline exceeded" {
		t.Error(list)
	}
}

package runtime_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// paths are few, so that parts meet on them.
func paths() []string {
	return []string{"/a", "/b", "/d", "/d/e", "/d/e/f", "/d/g", "/l", "/l/g"}
}

// drawPart is one part over the paths.
func drawPart(t *rapid.T, registry *states.Registry, name string, before []states.Ref) states.PartDeclaration {
	p := states.PartDeclaration{
		Type: rapid.SampledFrom([]string{"file", "file", "directory", "symlink", "line"}).Draw(t, "type"),
	}
	if !rapid.Bool().Draw(t, "wild") { // tame: each path has its own type
		p.Type = rapid.SampledFrom([]string{"file", "directory", "line"}).Draw(t, "tame type")
	}
	places := map[string][]string{
		"file": {"/a", "/d/g", "/d/e/f"}, "directory": {"/d", "/d/e"}, "symlink": {"/l"}, "line": {"/b"},
	}[p.Type]
	if rapid.IntRange(0, 4).Draw(t, "anywhere") == 0 {
		places = paths()
	}
	values := map[string]any{"path": rapid.SampledFrom(places).Draw(t, "path")}
	if rapid.IntRange(0, 5).Draw(t, "absent") == 0 {
		p.Options.Ensure = states.Absent
	}
	text := rapid.SampledFrom([]string{"", "one\n", "two\n", "one\ntwo"})
	switch p.Type {
	case "file":
		if rapid.Bool().Draw(t, "managed") {
			values["content"] = text.Draw(t, "content")
		}
		if rapid.Bool().Draw(t, "moded") {
			values["mode"] = rapid.SampledFrom([]string{"0600", "0644"}).Draw(t, "mode")
		}
		if rapid.Bool().Draw(t, "replaces") {
			values["replace"] = true
		}
	case "directory":
		if rapid.Bool().Draw(t, "moded") {
			values["mode"] = rapid.SampledFrom([]string{"0700", "0755"}).Draw(t, "mode")
		}
	case "symlink":
		values["target"] = rapid.SampledFrom([]string{"/a", "/d", "nowhere"}).Draw(t, "target")
	case "line":
		values["line"] = rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "line")
		values["create"] = true
	}
	m := registry.ModuleOf(p.Type)
	for name, v := range values {
		canonical, err := m.Attribute(name).Normalize(v)
		if err != nil {
			panic(err)
		}
		values[name] = canonical
	}
	p.Values, p.Key, p.Paths = values, m.Key(values), m.Paths(values)
	drawResults(t, &p, before)
	p.Base = p.Type + "." + name
	p.Address = p.Base
	if rapid.IntRange(0, 6).Draw(t, "guarded") == 0 {
		p.Options.Guards = []states.GuardDeclaration{drawGuard(t)}
	}
	return p
}

func drawGuard(t *rapid.T) states.GuardDeclaration {
	g := states.GuardDeclaration{Unless: rapid.Bool().Draw(t, "unless")}
	path := rapid.SampledFrom(paths()).Draw(t, "guarded by")
	if rapid.Bool().Draw(t, "exists") {
		g.Exists = path
	} else {
		g.Missing = path
	}
	return g
}

// drawSite has states with some parts, runs of them with other parts, and
// requirements, notifications and guards among them.
func drawSite(t *rapid.T, registry *states.Registry) *states.Declarations {
	d := &states.Declarations{Host: "host"}
	var before []states.Ref // the parts of declarations before
	count := rapid.IntRange(1, 5).Draw(t, "declarations")
	for i := range count {
		decl := states.Declaration{Address: fmt.Sprintf("state.s%d", i), File: "site.hcl"}
		decl.Range = diag.Range{File: "site.hcl", Start: diag.Pos{Line: i + 1, Column: 1, Byte: i}}
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "is a run") == 0 {
			decl.Kind, decl.Address = states.RunKind, fmt.Sprintf("run.r%d", i)
			decl.State = "state.s0"
		}
		decl.Base = decl.Address
		refs := before
		for k := range rapid.IntRange(1, 3).Draw(t, "parts") {
			part := drawPart(t, registry, fmt.Sprintf("p%d", k), refs)
			decl.Parts = append(decl.Parts, part)
			refs = append(refs[:len(refs):len(refs)], states.Ref{Self: true, Part: part.Address})
			before = append(before, states.Ref{Address: decl.Address, Part: part.Address})
		}
		if rapid.IntRange(0, 6).Draw(t, "guarded") == 0 {
			decl.Options.Guards = []states.GuardDeclaration{drawGuard(t)}
		}
		decl.Parallel = rapid.IntRange(0, 3).Draw(t, "parallel") == 0
		if decl.Kind == states.StateKind && i > 0 {
			decl.Lazy = rapid.IntRange(0, 3).Draw(t, "lazy") == 0
		}
		for _, before := range d.List {
			if before.Kind == states.StateKind && before.Lazy {
				if rapid.Bool().Draw(t, "notifies") {
					decl.Options.Notify = append(decl.Options.Notify, states.Ref{Address: before.Address})
				}
			} else if rapid.IntRange(0, 3).Draw(t, "requires") == 0 {
				decl.Options.Require = append(decl.Options.Require, states.Ref{Address: before.Address})
			}
		}
		d.List = append(d.List, decl)
	}
	return d
}

// drawHost is a machine with something on it.
func drawHost(t *rapid.T) *host.Memory {
	m := host.NewMemory()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "no /d") > 0 {
		must(m.Mkdir("/d", host.Meta{}))
		if rapid.Bool().Draw(t, "has /d/e") {
			must(m.Mkdir("/d/e", host.Meta{}))
		}
	}
	if rapid.Bool().Draw(t, "has /a") {
		must(m.WriteFile(t.Context(), "/a", host.Text("one\n"), host.Meta{}))
	}
	switch rapid.IntRange(0, 2).Draw(t, "/l") {
	case 1:
		must(m.Symlink("/d", "/l", host.Meta{}))
	case 2:
		must(m.Mkdir("/l", host.Meta{}))
	}
	return m
}

// story is what a run says of each part that acted or failed: in a plan what it
// would do, in an apply what it did.
func story(t *rapid.T, how carryOut, run *states.StateRun, o runtime.Options) (map[string]string, *runtime.Result) {
	told := map[string]string{}
	o.Events = func(ev states.Event) {
		if ev.Type != states.EventPart {
			return
		}
		if ev.Certain != nil && !*ev.Certain {
			t.Fatalf("%s is a maybe, though everything here can be foreseen: %s", ev.Address, ev.Reason)
		}
		outcome := ev.Outcome
		if outcome == "" && ev.Action != states.NoChange {
			outcome = states.Changed
		}
		switch outcome {
		case states.Changed:
			changes := slices.Clone(ev.Changes)
			for i := range changes {
				changes[i].Diff = "" // only a plan shows that of a new file
			}
			text, err := json.Marshal(changes)
			if err != nil {
				t.Fatal(err)
			}
			told[ev.Address] = fmt.Sprint(outcome, " ", ev.Action, " ", string(text))
		case states.Failed:
			told[ev.Address] = "failed: " + ev.Error.Message
		case states.Skipped, states.Blocked, states.Idle:
			told[ev.Address] = fmt.Sprint(outcome, " ", ev.Reason)
		}
	}
	result, err := how(t.Context(), run, o)
	if err != nil {
		t.Fatal(err)
	}
	return told, result
}

// What a plan says is what the apply then does, to the last attribute; the plan
// touches nothing; and where no parts contradict each other, a second plan is
// empty.
func TestPlanForetellsApply(t *testing.T) {
	registry := modules.Standard()
	compiled, settled, failed := 0, 0, 0
	rapidtest.For(t, "1000")
	rapid.Check(t, func(t *rapid.T) {
		site := drawSite(t, registry)
		compiledSite, diags := graph.Compile(site, graph.Options{Registry: registry})
		if compiledSite == nil {
			return // a cycle
		}
		compiled++
		run := compiledSite.Run
		h := drawHost(t)
		before := tree(t, h)
		o := runtime.Options{Host: h, Registry: registry}
		planned, _ := story(t, runtime.Plan, run, o)
		if after := tree(t, h); !maps.Equal(before, after) {
			t.Fatalf("the plan changed the host:\n%v\n%v", before, after)
		}
		o.Parallel = 1
		if !throughLinks(site) {
			o.Parallel = 4
		}
		applied, result := story(t, runtime.Apply, run, o)
		if !reflect.DeepEqual(planned, applied) {
			t.Fatalf("planned and applied differ\nplanned %v\napplied %v\nrun %v", pretty(planned), pretty(applied), pretty(run.Invocations))
		}
		if result.Failed {
			failed++
			return
		}
		if len(diags) > 0 || contradictory(site) {
			return
		}
		settled++
		again, _ := story(t, runtime.Plan, run, o)
		for address, what := range again {
			if strings.HasPrefix(what, "changed") || strings.HasPrefix(what, "failed") {
				t.Fatalf("a second plan is not empty: %s %s\nfirst %v\nrun %v", address, what, pretty(applied), pretty(run.Invocations))
			}
		}
	})
	t.Logf("%d sites compiled, %d failed in parts, %d had to be settled", compiled, failed, settled)
	if settled*20 < compiled && !testing.Short() {
		t.Errorf("only %d of %d sites had to be settled: the test shows little", settled, compiled)
	}
}

func pretty(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// throughLinks reports whether the site names paths below /l, which may be a
// link: two names for one file, among which a site has to declare the order.
func throughLinks(d *states.Declarations) bool {
	through := func(guards []states.GuardDeclaration) bool {
		return slices.ContainsFunc(guards, func(g states.GuardDeclaration) bool {
			return strings.HasPrefix(g.Exists+g.Missing, "/l")
		})
	}
	for _, decl := range d.List {
		for _, p := range decl.Parts {
			if p.Type == "symlink" || len(p.Paths) > 0 && strings.HasPrefix(p.Paths[0], "/l") || through(p.Options.Guards) {
				return true
			}
		}
		if through(decl.Options.Guards) {
			return true
		}
	}
	return false
}

// contradictory is a plain rule of its own: two parts on one path that want
// different things, a path below one that is to be absent or no directory, or
// a guard on a path that a part makes or removes.
func contradictory(d *states.Declarations) bool {
	var parts []states.PartDeclaration
	var guards []states.GuardDeclaration
	for _, decl := range d.List {
		guards = append(guards, decl.Options.Guards...)
		for _, p := range decl.Parts {
			if len(p.Paths) == 0 || len(p.Options.Guards) > 0 && p.Options.Guards[0].Results != nil {
				return true // what it is depends on the run
			}
			parts = append(parts, p)
			guards = append(guards, p.Options.Guards...)
		}
	}
	below := func(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
	for i, p := range parts {
		for _, g := range guards {
			if path := g.Exists + g.Missing; below(path, p.Paths[0]) || below(p.Paths[0], path) || strings.HasPrefix(path, "/l") {
				return true
			}
		}
		for k, q := range parts {
			if i == k {
				continue
			}
			if p.Paths[0] == q.Paths[0] {
				same := p.Type == q.Type && p.Options.Ensure == q.Options.Ensure && reflect.DeepEqual(p.Values, q.Values) && p.Results == nil && q.Results == nil
				if !same {
					return true
				}
			} else if below(p.Paths[0], q.Paths[0]) && (q.Type != "directory" || q.Options.Ensure != p.Options.Ensure) {
				return true
			}
		}
	}
	return throughLinks(d)
}

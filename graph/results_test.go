package graph_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// of is an expression for the result of a part: "state.a//file.x".
func of(text, attribute string) *states.Expr {
	return made(states.Expr{Kind: states.ExprRef, Ref: ref(text), Name: attribute, Range: at("ref.hcl", 1)})
}

// ofAll is one for the results of all its instances.
func ofAll(text, attribute string) *states.Expr {
	return made(states.Expr{Kind: states.ExprRef, Ref: ref(text), Name: attribute, Flag: true, Range: at("ref.hcl", 1)})
}

func made(x states.Expr) *states.Expr {
	out, err := x.New()
	if err != nil {
		panic(err)
	}
	return out
}

// late gives a part attributes that depend on results.
func late(p states.PartDeclaration, attribute string, x *states.Expr) states.PartDeclaration {
	p.Results = map[string]*states.Expr{attribute: x}
	delete(p.Values, attribute)
	if attribute == "path" {
		p.Key, p.Paths = "", nil
	}
	return p
}

func when(x *states.Expr) option {
	return func(d *states.Declaration) {
		d.Options.Guards = append(d.Options.Guards, states.GuardDeclaration{Results: map[string]*states.Expr{"when": x}})
	}
}

// results writes the expressions of a part of a run as JSON.
func results(t *testing.T, run *states.StateRun, address string) string {
	t.Helper()
	for _, inv := range run.Invocations {
		for _, p := range inv.Parts {
			if p.Address == address {
				data, err := json.Marshal(p.Results)
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
		}
	}
	t.Fatalf("no part %s", address)
	return ""
}

// A result is a requirement by itself, wherever it stands.
func TestResultsRequire(t *testing.T) {
	s := newSite()
	s.state("user", parts(late(resource("file", "/user", ""), "content", of("state.source//command.source", "name"))))
	s.state("guarded", when(of("state.lazy//command.lazy", "name")))
	s.state("lazy", lazy)
	s.state("source")
	s.block("b", []string{"state.in"}, when(of("state.source//command.source", "name")))
	s.state("in")
	run := s.compile(t).Run
	want(t, sequence(run), "state.lazy state.guarded state.source state.user state.in")
	want(t, edges(t, run, "state.user"), "requires [state.source] after [] by []")
	want(t, edges(t, run, "state.guarded"), "requires [state.lazy] after [] by []")
	want(t, edges(t, run, "state.in"), "requires [state.source] after [] by []")
	want(t, results(t, run, `state.user.file["/user"]`), `{"content":{"ref":"state.source.command.source","attribute":"name"}}`)
}

// Of several invocations, those count that have ended before, in their order.
func TestResultsOfWaves(t *testing.T) {
	s := newSite()
	s.state("first", notify("state.h"))
	s.state("middle", require("state.first"), parts(late(resource("file", "/middle", ""), "content", of("state.h//command.h", "name"))))
	s.state("second", require("state.middle"), notify("state.h"))
	s.state("last", require("state.second"), parts(late(resource("file", "/last", ""), "content", of("state.h//command.h", "name"))))
	s.state("h", lazy)
	s.state("out", leftOut)
	s.state("none", parts(late(resource("file", "/none", ""), "content", of("state.out//command.out", "name"))))
	run := s.compile(t).Run
	want(t, results(t, run, `state.middle.file["/middle"]`), `{"content":{"ref":"state.h.command.h","attribute":"name","from":["state.h#1.command.h"]}}`)
	want(t, results(t, run, `state.last.file["/last"]`),
		`{"content":{"ref":"state.h.command.h","attribute":"name","from":["state.h#1.command.h","state.h#2.command.h"]}}`)
	want(t, results(t, run, `state.none.file["/none"]`), `{"content":{"ref":"state.out.command.out","attribute":"name","from":[]}}`)
}

// A state that runs invoke is meant as its runs; each run's own parts are its
// own.
func TestResultsOfRuns(t *testing.T) {
	s := newSite()
	self := late(resource("file", "/self", ""), "content", of("self//command.s", "name"))
	s.state("s", parts(command("s"), self))
	s.run("a", "state.s")
	s.run("b", "state.s", require("run.a"))
	s.state("user", parts(late(resource("file", "/user", ""), "content", of("state.s//command.s", "name"))))
	run := s.compile(t).Run
	want(t, results(t, run, `run.b.file["/self"]`), `{"content":{"ref":"run.b.command.s","attribute":"name"}}`)
	want(t, results(t, run, `state.user.file["/user"]`),
		`{"content":{"ref":"state.s.command.s","attribute":"name","from":["run.a.command.s","run.b.command.s"]}}`)
}

// Without a key all instances are meant, by their keys.
func TestResultsOfInstances(t *testing.T) {
	s := newSite()
	instance := func(key string) states.PartDeclaration {
		p := command(key)
		p.Base, p.Address = "command.c", states.InstanceAddress("command.c", key)
		return p
	}
	s.state("many", parts(instance("x"), instance("y z")))
	s.state("user", parts(late(resource("file", "/user", ""), "content", ofAll("state.many//command.c", "name"))))
	run := s.compile(t).Run
	want(t, results(t, run, `state.user.file["/user"]`), `{"content":{"object":[{"value":"x"},{"ref":"state.many.command.c[\"x\"]","attribute":"name"},`+
		`{"value":"y z"},{"ref":"state.many.command.c[\"y z\"]","attribute":"name"}]}}`)
}

// A path that only the host knows may be any: declarations keep their order.
func TestLatePathsKeepOrder(t *testing.T) {
	s := newSite()
	s.state("source")
	s.state("before", parts(resource("file", "/before", "")))
	s.state("late", parts(late(resource("file", "/late", ""), "path", of("state.source//command.source", "name"))))
	s.state("behind", parts(resource("file", "/behind", "")))
	s.state("other")
	run := s.compile(t).Run
	want(t, edges(t, run, "state.late"), "requires [state.source] after [state.before] by []")
	want(t, edges(t, run, "state.behind"), "requires [] after [state.late] by []")
	want(t, edges(t, run, "state.other"), "requires [] after [] by []")
}

// A name that only the host knows may be that of any part of its type.
func TestLateKeysKeepOrder(t *testing.T) {
	s := newSite()
	s.state("source", parts(resource("file", "/source", "")))
	s.state("before")
	s.state("late", parts(late(command("late"), "name", of(`state.source//file["/source"]`, "path"))))
	s.state("behind")
	run := s.compile(t).Run
	want(t, edges(t, run, "state.late"), "requires [state.source] after [state.before] by []")
	want(t, edges(t, run, "state.behind"), "requires [] after [state.late] by []")
}

func TestWrongResults(t *testing.T) {
	for name, c := range map[string]struct {
		site func(*site)
		want string
	}{
		"cycle": {func(s *site) {
			s.state("a", parts(late(resource("file", "/a", ""), "content", of("state.b//command.b", "name"))))
			s.state("b", require("state.a"))
		}, "a cycle of requirements: state.a comes after itself: state.a requires state.b, state.b requires state.a"},
		"unknown part": {func(s *site) {
			s.state("a", parts(late(resource("file", "/a", ""), "content", of("state.b//command.c", "name"))))
			s.state("b")
		}, "state.b has no part command.c (did you mean command.b?)"},
		"later part": {func(s *site) {
			s.state("a", parts(late(resource("file", "/a", ""), "content", of("self//command.b", "name")), command("b")))
		}, `file["/a"] requires command.b, which runs after it`},
		"own result": {func(s *site) {
			s.state("a", parts(late(resource("file", "/a", ""), "content", of(`self//file["/a"]`, "content"))))
		}, `file["/a"] uses a result of its own`},
		"top-level part of itself": {func(s *site) {
			s.top(late(resource("file", "/a", ""), "content", of(`file["/a"]`, "content")))
		}, `file["/a"] uses a result of its own`},
		"parallel parts of each other": {func(s *site) {
			s.state("a", inParallel, parts(
				late(resource("file", "/a", ""), "content", of(`self//file["/b"]`, "content")),
				late(resource("file", "/b", ""), "content", of(`self//file["/a"]`, "content"))))
		}, `a cycle of requirements: state.a.file["/a"] comes after itself`},
		"guard of the whole": {func(s *site) {
			s.state("a", when(of("self//command.a", "name")))
		}, "state.a is decided before its parts run, and uses a result of one"},
		"block": {func(s *site) {
			s.state("a", parts(late(resource("file", "/a", ""), "content", of("block.b", "content"))))
			s.block("b", []string{"state.c"})
			s.state("c")
		}, "block.b has no results"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite()
			c.site(s)
			if got := s.diagnostics().Error(); !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Secrets in expressions are masked, and the revision does not depend on them.
func TestResultsAreMasked(t *testing.T) {
	compile := func(secret string) *graph.Result {
		s := newSite()
		s.state("source")
		text := made(states.Expr{Kind: states.ExprTemplate, Args: []*states.Expr{
			of("state.source//command.source", "name"),
			made(states.Expr{Kind: states.ExprLiteral, Value: secret, Sensitive: true}),
			made(states.Expr{Kind: states.ExprLiteral, Value: "shown"})}})
		part := late(resource("file", "/a", ""), "content", text)
		part.Sensitive = []string{"content"}
		s.state("a", parts(part))
		return s.compile(t)
	}
	one, two := compile("hunter22"), compile("another")
	if one.Run.Revision != two.Run.Revision {
		t.Error("the revision depends on a secret")
	}
	var b bytes.Buffer
	if err := graph.JSON(&b, one.Run); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "hunter22") || !strings.Contains(text, "shown") || !strings.Contains(text, graph.Hidden) {
		t.Errorf("not masked: %s", text)
	}
}

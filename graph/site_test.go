package graph_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// thing is a resource with a path, or an act without.
type thing struct {
	Path    string  `state:"path,key,path" doc:"A path."`
	Content *string `state:"content" doc:"Its content."`
	Secret  *string `state:"secret,sensitive" doc:"A secret."`
	Creates *string `state:"creates,path" doc:"A path that it makes."`
}

type act struct {
	Name    string  `state:"name,key" doc:"A name."`
	Creates *string `state:"creates,path" doc:"A path that it makes."`
	Dir     *string `state:"dir,within" doc:"Where it works."`
}

// registry has the modules file and directory (resources), command (an act)
// and reload (an act that is lazy at top level).
func registry() *states.Registry {
	resource := func(name string) *states.Module {
		return states.Define(states.Type[thing]{
			Name: name, Doc: "A thing.",
			Read:   func(context.Context, host.Host, thing) (*thing, error) { return nil, nil },
			Write:  func(context.Context, host.Host, *thing, thing) error { return nil },
			Remove: func(context.Context, host.Host, thing) error { return nil },
		})
	}
	do := func(name string, handler bool) *states.Module {
		return states.Define(states.Type[act]{
			Name: name, Doc: "An act.", NoAbsent: "It acts.", Handler: handler,
			Act: func(context.Context, host.Host, act) (bool, act, error) { return true, act{}, nil },
		})
	}
	return states.NewRegistry(resource("file"), resource("directory"), do("command", false), do("reload", true))
}

// site builds declarations in tests.
type site struct {
	states.Declarations
	registry *states.Registry
}

func newSite() *site {
	return &site{Declarations: states.Declarations{Host: "host"}, registry: registry()}
}

// option changes a declaration; part, a part.
type option func(*states.Declaration)

func (s *site) add(d states.Declaration, options ...option) {
	line := len(s.List) + 1
	d.Base = cmp.Or(d.Base, d.Address)
	d.File = cmp.Or(d.File, "site.hcl")
	d.Range = at(d.File, line)
	for _, o := range options {
		o(&d)
	}
	for i := range d.Parts {
		d.Parts[i].Range = at(d.File, line)
	}
	s.List = append(s.List, d)
}

func at(file string, line int) diag.Range {
	return diag.Range{File: file, Start: diag.Pos{Line: line, Column: 1, Byte: line * 100}}
}

// state declares a state with one command of its own, unless it gets parts.
func (s *site) state(name string, options ...option) {
	s.add(states.Declaration{Kind: states.StateKind, Address: "state." + name}, append(options, func(d *states.Declaration) {
		if d.Parts == nil {
			d.Parts = []states.PartDeclaration{command(name)}
		}
	})...)
}

func (s *site) run(name, of string, options ...option) {
	var parts []states.PartDeclaration
	for _, d := range s.List {
		if d.Address == of {
			parts = append(parts, d.Parts...)
		}
	}
	s.add(states.Declaration{Kind: states.RunKind, Address: "run." + name, State: of, Parts: parts}, options...)
}

func (s *site) block(name string, members []string, options ...option) {
	s.add(states.Declaration{Kind: states.BlockKind, Address: "block." + name, Members: refs(members...)}, options...)
}

// top declares a part at top level.
func (s *site) top(p states.PartDeclaration, options ...option) {
	s.add(states.Declaration{Kind: states.StateKind, Address: p.Address, TopLevel: true, Parts: []states.PartDeclaration{p}}, options...)
}

func command(name string) states.PartDeclaration {
	return states.PartDeclaration{
		Address: states.LabelAddress("command", name), Base: states.LabelAddress("command", name), Type: "command",
		Key: name, Values: map[string]any{"name": name},
	}
}

func resource(kind, path, content string) states.PartDeclaration {
	p := states.PartDeclaration{
		Address: states.LabelAddress(kind, path), Base: states.LabelAddress(kind, path), Type: kind,
		Key: path, Values: map[string]any{"path": path}, Paths: []string{path},
	}
	if content != "" {
		p.Values["content"] = content
	}
	return p
}

// ref reads "state.a" and, for a part, "state.a/file.x"; "self/file.x" is a
// part of the same invocation.
func ref(text string) states.Ref {
	address, part, _ := strings.Cut(text, "//")
	if address == "self" {
		return states.Ref{Self: true, Part: part, Range: at("ref.hcl", 1)}
	}
	return states.Ref{Address: address, Part: part, Range: at("ref.hcl", 1)}
}

func refs(texts ...string) []states.Ref {
	var out []states.Ref
	for _, t := range texts {
		out = append(out, ref(t))
	}
	return out
}

func require(texts ...string) option {
	return func(d *states.Declaration) { d.Options.Require = append(d.Options.Require, refs(texts...)...) }
}

func follows(texts ...string) option {
	return func(d *states.Declaration) { d.Options.Follows = append(d.Options.Follows, refs(texts...)...) }
}

func component(d *states.Declaration) { d.Component = true }

func notify(texts ...string) option {
	return func(d *states.Declaration) { d.Options.Notify = append(d.Options.Notify, refs(texts...)...) }
}

func notifyFailure(texts ...string) option {
	return func(d *states.Declaration) {
		d.Options.NotifyFailure = append(d.Options.NotifyFailure, refs(texts...)...)
	}
}

func listen(texts ...string) option {
	return func(d *states.Declaration) { d.Options.Listen = append(d.Options.Listen, refs(texts...)...) }
}

func lazy(d *states.Declaration)       { d.Lazy = true }
func deferred(d *states.Declaration)   { d.Defer = true }
func leftOut(d *states.Declaration)    { d.Options.LeftOut = true }
func absent(d *states.Declaration)     { d.Options.Ensure = states.Absent }
func ordered(d *states.Declaration)    { d.Ordered = true }
func inParallel(d *states.Declaration) { d.Parallel = true }

func confirm(d *states.Declaration) {
	d.Options.Confirm = &states.Confirm{Timeout: time.Minute, Command: []string{"check"}}
}

func parts(list ...states.PartDeclaration) option {
	return func(d *states.Declaration) { d.Parts = list }
}

func tags(list ...string) option {
	return func(d *states.Declaration) { d.Options.Tags = list }
}

func rescue(texts ...string) option {
	return func(d *states.Declaration) { d.Rescue = refs(texts...) }
}

func always(texts ...string) option {
	return func(d *states.Declaration) { d.Always = refs(texts...) }
}

func unless(path string) option {
	return func(d *states.Declaration) {
		d.Options.Guards = append(d.Options.Guards, states.GuardDeclaration{Unless: true, Exists: path})
	}
}

// compile plans the site, without errors.
func (s *site) compile(t testing.TB) *graph.Result {
	t.Helper()
	r, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
	if err := diags.Err(); err != nil {
		t.Fatalf("compile: %v", err)
	}
	return r
}

// warnings plans the site and gives the summaries of its warnings.
func (s *site) diagnostics() diag.List {
	_, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
	return diags
}

// sequence lists the addresses of a run in order.
func sequence(run *states.StateRun) string {
	var out []string
	for _, i := range run.Invocations {
		out = append(out, i.Address)
	}
	return strings.Join(out, " ")
}

// edges lists an invocation's predecessors.
func edges(t testing.TB, run *states.StateRun, address string) string {
	t.Helper()
	for _, i := range run.Invocations {
		if i.Address == address {
			var by []string
			for _, n := range i.NotifiedBy {
				by = append(by, n.Address+":"+n.On)
			}
			return fmt.Sprintf("requires %v after %v by %v", i.Requires, i.After, by)
		}
	}
	t.Fatalf("no invocation %s in %s", address, sequence(run))
	return ""
}

func want(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

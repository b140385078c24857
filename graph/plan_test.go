package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

func TestHandlerChain(t *testing.T) {
	s := newSite()
	s.state("reload", lazy)
	s.state("build", lazy, notify("state.reload"))
	s.state("a", notify("state.build"))
	s.state("b", require("state.a"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.a state.build state.reload state.b")
	want(t, edges(t, run, "state.b"), "requires [state.a state.build state.reload] after [] by []")
}

func TestHandlerRequiresItsNotifier(t *testing.T) {
	s := newSite()
	s.state("package", notify("state.reload"))
	s.state("conf", notify("state.reload"))
	s.state("reload", lazy, require("state.package"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.package state.conf state.reload")
}

func TestRequestedHandler(t *testing.T) {
	s := newSite()
	s.state("h", lazy)
	s.state("a", require("state.h"))
	s.state("b", require("state.h"))
	s.state("idle", lazy)
	run := s.compile(t).Run
	want(t, sequence(run), "state.h state.a state.b")
	if i := run.Invocations[0]; !i.Always || i.Handler {
		t.Errorf("a required handler always runs: %+v", i)
	}
	if len(run.Handlers) != 1 || run.Handlers[0].Address != "state.idle" || len(run.Handlers[0].Parts) != 1 {
		t.Errorf("handlers %+v", run.Handlers)
	}
}

func TestNotifiedDefaultIsAWave(t *testing.T) {
	s := newSite()
	s.state("a", notify("state.b"))
	s.state("b")
	run := s.compile(t).Run
	want(t, sequence(run), "state.a state.b")
	if i := run.Invocations[1]; !i.Always || i.Handler || len(i.NotifiedBy) != 1 {
		t.Errorf("%+v", i)
	}
}

func TestTopLevelHandler(t *testing.T) {
	s := newSite()
	reload := command("nginx")
	reload.Type, reload.Address, reload.Base = "reload", "reload.nginx", "reload.nginx"
	s.top(resource("file", "/a", "x"), notify("reload.nginx"))
	s.top(reload)
	s.state("b", require(`file["/a"]`), notify("reload.nginx"))
	run := s.compile(t).Run
	want(t, sequence(run), `file["/a"] reload.nginx#1 state.b reload.nginx#2`)
	want(t, run.Invocations[3].Parts[0].Address, "reload.nginx#2")
}

func TestLeftOutPassesOn(t *testing.T) {
	s := newSite()
	s.state("a", notify("state.h"))
	s.state("b", leftOut, require("state.a"))
	s.state("c", require("state.b"))
	s.state("h", lazy)
	run := s.compile(t).Run
	want(t, sequence(run), "state.a state.h state.c")
	want(t, edges(t, run, "state.c"), "requires [state.a state.h] after [] by []")
}

func TestEmptyLoops(t *testing.T) {
	s := newSite()
	s.state("a", notify("state.h"), require("state.h"))
	s.state("b", listen("state.a//file.x"))
	s.state("out", leftOut, func(d *states.Declaration) { d.Parts = []states.PartDeclaration{} })
	s.state("c", listen("state.out//file.x"))
	s.Empty = []string{"state.h", "state.a.file.x"}
	want(t, sequence(s.compile(t).Run), "state.a")
}

func TestFailure(t *testing.T) {
	s := newSite()
	s.state("a", notify("state.h"), notifyFailure("state.h", "state.alarm"))
	s.state("h", lazy)
	s.state("alarm")
	run := s.compile(t).Run
	want(t, edges(t, run, "state.h"), "requires [] after [] by [state.a:change state.a:failure]")
	want(t, edges(t, run, "state.alarm"), "requires [] after [] by [state.a:failure]")
	if !run.Invocations[1].Handler || !run.Invocations[2].Handler {
		t.Error("being named in notify_failure makes lazy")
	}
}

func TestListenToPart(t *testing.T) {
	s := newSite()
	s.state("a", parts(resource("file", "/x", ""), resource("file", "/y", "")))
	s.run("r", "state.a")
	s.state("h", listen(`state.a//file["/y"]`))
	want(t, edges(t, s.compile(t).Run, "state.h"), `requires [] after [] by [run.r.file["/y"]:change]`)
}

func TestBlock(t *testing.T) {
	s := newSite()
	s.state("z")
	s.state("undo")
	s.state("clean")
	s.state("a", notify("state.h"))
	s.state("b")
	s.state("h", lazy)
	s.block("all", []string{"state.a", "state.b"}, ordered, require("state.z"), rescue("state.undo"), always("state.clean"), unless("/done"))
	s.state("after", require("block.all"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.z state.a state.h state.b state.undo state.clean state.after")
	want(t, edges(t, run, "state.a"), "requires [state.z] after [] by []")
	want(t, edges(t, run, "state.b"), "requires [state.z state.a state.h] after [] by []")
	want(t, edges(t, run, "state.undo"), "requires [state.z] after [state.a state.b] by []")
	want(t, edges(t, run, "state.clean"), "requires [state.z] after [state.a state.b state.undo] by []")
	want(t, edges(t, run, "state.after"), "requires [state.h block.all] after [] by []")
	want(t, fmt.Sprint(run.Blocks), "[{block.all [state.z] [] [state.a state.b] [state.undo] [state.clean] false false <nil>}]")
	undo, clean := run.Invocations[4], run.Invocations[5]
	if undo.Rescues != "block.all" || clean.Finishes != "block.all" || undo.Guards[0].Scope != "block.all" {
		t.Errorf("%+v %+v", undo, clean)
	}
}

func TestNestedBlocks(t *testing.T) {
	s := newSite()
	s.state("z")
	s.state("a")
	s.state("undo")
	s.block("inner", []string{"state.a"}, notify("state.h"))
	s.block("outer", []string{"block.inner"}, require("state.z"), tags("blue"), rescue("state.undo"))
	s.block("second", nil, rescue("state.undo"))
	s.state("h", lazy)
	s.state("after", require("block.outer"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.z state.a state.undo#1 state.undo#2 state.h state.after")
	want(t, edges(t, run, "state.h"), "requires [] after [] by [block.inner:change]")
	want(t, edges(t, run, "state.after"), "requires [block.outer state.h] after [] by []")
	for _, i := range run.Invocations {
		if blue := i.State == "state.a" || i.Rescues == "block.outer"; blue != (len(i.Options.Tags) == 1) {
			t.Errorf("%s for %q has tags %v", i.Address, i.Rescues, i.Options.Tags)
		}
	}
}

func TestAbsentIsReversed(t *testing.T) {
	s := newSite()
	s.state("base", absent, parts(resource("directory", "/a", "")))
	s.state("app", absent, require("state.base"), parts(resource("file", "/b", "")))
	s.state("kept", require("state.app"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.app state.base state.kept")
	want(t, edges(t, run, "state.base"), "requires [state.app] after [] by []")
	want(t, edges(t, run, "state.app"), "requires [] after [] by []")
	want(t, edges(t, run, "state.kept"), "requires [state.app] after [] by []")
}

func TestAbsentBlockIsReversed(t *testing.T) {
	s := newSite()
	s.state("one", parts(resource("file", "/1", "")))
	s.state("two", parts(resource("file", "/2", "")))
	s.block("both", []string{"state.one", "state.two"}, ordered, absent)
	s.state("app", absent, require("block.both"), parts(resource("file", "/3", "")))
	want(t, sequence(s.compile(t).Run), "state.app state.two state.one")
}

func TestAbsentStaysInACycle(t *testing.T) {
	s := newSite()
	s.state("a", absent, parts(resource("file", "/a", "")))
	s.state("between", require("state.a"))
	s.state("b", absent, require("state.a", "state.between"), parts(resource("file", "/b", "")))
	want(t, sequence(s.compile(t).Run), "state.a state.between state.b")
	if diags := s.diagnostics(); len(diags) != 1 || !strings.Contains(diags[0].Summary, "state.a is removed before state.b") {
		t.Errorf("got %v", diags)
	}
}

func TestAbsentPartsInAState(t *testing.T) {
	dir, file := resource("directory", "/d", ""), resource("file", "/d/f", "")
	s := newSite()
	s.state("inherited", absent, parts(dir, file))
	run := s.compile(t).Run
	want(t, run.Invocations[0].Parts[0].Key, "/d/f")
	file.Options.Ensure = states.Absent
	s = newSite()
	s.state("own", absent, parts(file, dir))
	want(t, s.compile(t).Run.Invocations[0].Parts[0].Key, "/d/f")
}

func TestOptions(t *testing.T) {
	p := resource("file", "/f", "x")
	p.Options.Timeout = time.Second
	s := newSite()
	s.state("a", parts(p, resource("file", "/g", "")), func(d *states.Declaration) {
		d.Options.Timeout, d.Options.Become, d.Options.Tags = time.Minute, "web", []string{"t"}
	})
	s.run("r", "state.a", func(d *states.Declaration) { d.Options.Become, d.Options.Tags = "app", []string{"s"} })
	i := s.compile(t).Run.Invocations[0]
	want(t, fmt.Sprint(i.Parts[0].Options.Timeout, i.Parts[1].Options.Timeout, i.Options.Tags, i.Parts[0].Options.Become), "1s 1m0s [s t]app")
}

func TestParallelParts(t *testing.T) {
	first, second := command("first"), command("second")
	first.Options.Require = refs("self//command.second")
	s := newSite()
	s.state("a", inParallel, parts(first, second))
	i := s.compile(t).Run.Invocations[0]
	want(t, fmt.Sprint(i.Parallel, i.Parts[0].Requires), "true [state.a.command.second]")
}

func TestIDs(t *testing.T) {
	s := newSite()
	s.state("h", lazy)
	s.state("a", notify("state.h"))
	alone := s.compile(t).Run.Invocations[1].Parts[0].ID
	s.state("b", require("state.a"), notify("state.h"))
	run := s.compile(t).Run
	if got := run.Invocations[1].Parts[0].ID; got != alone {
		t.Error("a second wave renames the first")
	}
	if run.Invocations[3].Parts[0].ID == alone {
		t.Error("two waves share an id")
	}
	s.Host = "other"
	if s.compile(t).Run.Invocations[1].Parts[0].ID == alone {
		t.Error("two hosts share an id")
	}
}

func TestRevisionHidesSecrets(t *testing.T) {
	revision := func(secret, content string) string {
		p := resource("file", "/f", content)
		p.Values["secret"] = secret
		s := newSite()
		s.state("a", parts(p))
		run := s.compile(t).Run
		want(t, fmt.Sprint(run.Invocations[0].Parts[0].Sensitive), "[secret]")
		var b strings.Builder
		if err := graph.JSON(&b, run); err != nil || strings.Contains(b.String(), secret) || !strings.Contains(b.String(), graph.Hidden) {
			t.Errorf("%v: %s", err, b.String())
		}
		want(t, fmt.Sprint(run.Invocations[0].Parts[0].Values["secret"]), secret)
		return run.Revision
	}
	if revision("hunter2", "x") != revision("tr0ub4dor", "x") {
		t.Error("a secret shows in the revision")
	}
	if revision("hunter2", "x") == revision("hunter2", "y") {
		t.Error("content does not show in the revision")
	}
}

// What a component makes is taken away without its acts; a handler of nothing
// but acts is left out with them.
func TestAbsentComponent(t *testing.T) {
	s := newSite()
	mixed := parts(resource("file", "/a", "a"), command("act"))
	s.state("a", mixed, notify("state.h"))
	s.state("h", lazy)
	s.state("after", require("block.c"))
	s.block("c", []string{"state.a", "state.h"}, absent, func(d *states.Declaration) { d.Component = true })
	run := s.compile(t).Run
	want(t, sequence(run), "state.a state.after")
	if n := len(run.Invocations[0].Parts); n != 1 {
		t.Errorf("%d parts", n)
	}
	if len(s.List[0].Parts) != 2 || s.List[0].Parts[1].Options.LeftOut {
		t.Error("the declarations were changed")
	}
}

// What is to be retained stays where it inherits that it shall be absent, and so
// does what cannot be absent in a component.
func TestRetain(t *testing.T) {
	kept := resource("file", "/kept", "a")
	kept.Options.Retain = states.RetainAll
	own := resource("file", "/own", "a")
	own.Options.Retain, own.Options.Ensure = states.RetainAll, states.Absent
	s := newSite()
	s.state("a", parts(kept, resource("file", "/a", "a"), own), absent)
	s.state("b", parts(kept))
	s.block("c", []string{"state.b"}, absent, func(d *states.Declaration) { d.Component = true })
	s.state("d", parts(kept))
	run := s.compile(t).Run
	want(t, sequence(run), "state.a state.d")
	for i, keys := range []string{"/a /own", "/kept"} {
		var got []string
		for _, part := range run.Invocations[i].Parts {
			got = append(got, part.Key)
		}
		want(t, strings.Join(got, " "), keys)
	}
}

// What a component requires may notify a handler in it: that comes after what the component
// sets up, and not before, where there is nothing that it could be for.
func TestHandlerInWhatRequiresItsNotifier(t *testing.T) {
	s := newSite()
	s.state("ca", notify("state.reload"))
	s.state("package")
	s.state("conf", require("state.package"), notify("state.reload"))
	s.state("service", require("state.conf"))
	s.state("extra", require("state.service"))
	s.state("reload", lazy)
	s.block("web", []string{"state.package", "state.conf", "state.service", "state.extra", "state.reload"}, require("state.ca"), component)
	s.state("test", require("block.web"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.ca state.package state.conf state.reload#1 state.service state.extra state.reload#2 state.test")
	want(t, edges(t, run, "state.package"), "requires [state.ca] after [] by []")
	want(t, edges(t, run, "state.reload#2"), "requires [state.ca] after [state.package state.conf state.service state.extra] by [state.ca:change]")
}

// A member of the component that asks for the notifier itself waits for the handler.
func TestHandlerThatAMemberWaitsFor(t *testing.T) {
	s := newSite()
	s.state("ca", notify("state.reload"))
	s.state("package")
	s.state("check", require("state.package", "state.ca"))
	s.state("reload", lazy)
	s.block("web", []string{"state.package", "state.check", "state.reload"}, require("state.ca"), component)
	want(t, sequence(s.compile(t).Run), "state.ca state.package state.reload state.check")
}

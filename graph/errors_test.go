package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

func TestMistakes(t *testing.T) {
	needsRun := func(d *states.Declaration) { d.NeedsRun, d.Parts = true, []states.PartDeclaration{} }
	for name, c := range map[string]struct {
		site func(*site)
		want string // in the diagnostic
	}{
		"cycle of requirements": {func(s *site) {
			s.state("a", require("state.c"))
			s.state("b", require("state.a"))
			s.state("c", lazy, require("state.b"))
		}, "a cycle of requirements: state.a comes after itself: state.a requires state.c, state.c requires state.b, state.b requires state.a."},
		"requires itself": {func(s *site) { s.state("a", require("state.a")) }, "state.a requires state.a"},
		"cycle among idle handlers": {func(s *site) {
			s.state("a", lazy, require("state.b"))
			s.state("b", lazy, require("state.a"))
		}, "state.a requires state.b, state.b requires state.a"},
		"cycle through a run": {func(s *site) {
			s.state("a", require("state.b"))
			s.state("b")
			s.run("r", "state.b", require("state.a"))
		}, "state.a requires run.r, run.r requires state.a"},
		"cycle through a block": {func(s *site) {
			s.state("a", require("block.b"))
			s.block("b", []string{"state.a"})
		}, "state.a requires block.b, block.b holds state.a"},
		"cycle of notifications": {func(s *site) {
			s.state("a", lazy, notify("state.b"))
			s.state("b", lazy, notify("state.a"))
		}, "a cycle of notifications: state.a comes after itself: state.a notifies state.b, state.b notifies state.a"},
		"cycle through a deferred handler": {func(s *site) {
			s.state("first", notify("state.d1"))
			s.state("d1", deferred, require("state.d2"), notify("state.h"))
			s.state("h", lazy, notify("state.d2"))
			s.state("d2", deferred)
		}, "a cycle of requirements and notifications"},
		"unknown": {func(s *site) { s.state("alpha", require("state.alhpa")) }, "state.alhpa is not declared (did you mean state.alpha?)"},
		"unknown part": {func(s *site) {
			s.state("a", parts(resource("file", "a", "")))
			s.state("b", listen("state.a//file.b"))
		}, `state.a has no part file.b (did you mean file.a?)`},
		"deferred required": {func(s *site) {
			s.state("a", require("state.d"))
			s.state("d", deferred)
		}, "state.a requires state.d, which is deferred"},
		"no run": {func(s *site) {
			s.state("a", require("state.p"))
			s.state("p", needsRun)
		}, "state.p is invoked by no run"},
		"param notified": {func(s *site) {
			s.state("a", notify("state.p"))
			s.state("p", needsRun)
		}, "state.p cannot be notified: It has a param without a default"},
		"run notified": {func(s *site) {
			s.state("a", notify("run.r"))
			s.state("p")
			s.run("r", "state.p")
		}, "run.r cannot be notified: Only a state can be a handler"},
		"part notified": {func(s *site) {
			s.state("p")
			s.state("a", notify("state.p//command.p"))
		}, "a part inside a state is no handler"},
		"two lists": {func(s *site) {
			s.state("p")
			s.run("r", "state.p")
			s.block("a", nil, rescue("run.r"))
			s.block("b", nil, always("run.r"))
		}, "run.r stands in two lists: of block.a and of block.b"},
		"block in itself": {func(s *site) {
			s.block("a", []string{"block.b"})
			s.block("b", []string{"block.a"})
		}, "a cycle of blocks: block.a holds itself"},
		"declared twice": {func(s *site) { s.state("a"); s.state("a") }, "state.a is declared twice"},
		"unknown module": {func(s *site) {
			p := command("x")
			p.Type = "comand"
			s.state("a", parts(p))
		}, `unknown module "comand" (did you mean command?)`},
		"later part": {func(s *site) {
			first := command("first")
			first.Options.Require = refs("self//command.second")
			s.state("a", parts(first, command("second")))
		}, "command.first requires command.second, which runs after it"},
		"absent act": {func(s *site) {
			s.state("a")
			s.block("b", []string{"state.a"}, absent)
		}, "a command cannot be absent: It acts."},
		"parts in a cycle": {func(s *site) {
			first, second := command("first"), command("second")
			first.Options.Require, second.Options.Require = refs("self//command.second"), refs("self//command.first")
			s.state("a", inParallel, parts(first, second))
		}, "state.a.command.first requires state.a.command.second, state.a.command.second requires state.a.command.first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite()
			c.site(s)
			diags := s.diagnostics()
			if !strings.Contains(diags.Error(), c.want) {
				t.Errorf("got %v\nwant %s", diags, c.want)
			}
			for _, d := range diags {
				if d.Range.IsZero() {
					t.Errorf("no place: %v", d)
				}
			}
		})
	}
}

func TestCycleNamesEachPlace(t *testing.T) {
	s := newSite()
	s.state("a", require("state.b"))
	s.state("b", require("state.a"))
	s.List[0].Options.Require[0].Range = at("a.hcl", 3)
	s.List[1].Options.Require[0].Range = at("b.hcl", 7)
	diags := s.diagnostics()
	if len(diags) != 1 {
		t.Fatalf("got %v", diags)
	}
	var places []string
	for _, r := range diags[0].Related {
		places = append(places, r.Range.String()+" "+r.Message)
	}
	want(t, strings.Join(places, ", "), "a.hcl:3:1 state.a requires state.b, b.hcl:7:1 state.b requires state.a")
}

// TestAllMistakes checks that mistakes are collected.
func TestAllMistakes(t *testing.T) {
	s := newSite()
	s.state("a", require("state.x"), notify("state.y"))
	s.state("b", require("state.z"))
	s.block("c", []string{"state.w"})
	s.run("d", "state.v")
	s.state("e", parts(states.PartDeclaration{Address: "none.e", Type: "none", Range: at("x", 1)}))
	if diags := s.diagnostics(); len(diags) != 6 {
		t.Errorf("got %v", diags)
	}
}

func TestWaitGivesWay(t *testing.T) {
	s := newSite()
	s.state("n", notify("state.h"))
	s.state("d", require("state.n"))
	s.state("h", lazy, require("state.d"))
	want(t, sequence(s.compile(t).Run), "state.n state.d state.h")
	diags := s.diagnostics()
	if len(diags) != 1 || diags[0].Severity != diag.Warning || diags[0].Summary != "state.d cannot wait for state.h, which state.n may notify" {
		t.Errorf("got %v", diags)
	}
}

func TestContradictions(t *testing.T) {
	a, b := resource("file", "/f", "a"), resource("file", "/f", "b")
	gone := resource("file", "/f", "")
	gone.Options.Ensure = states.Absent
	guarded := resource("file", "/f", "b")
	guarded.Options.Guards = []states.GuardDeclaration{{Exists: "/x"}}
	out := resource("file", "/f", "b")
	out.Options.LeftOut = true
	for name, c := range map[string]struct {
		second states.PartDeclaration
		warned bool
	}{
		"content": {b, true}, "absent": {gone, true}, "same": {a, false}, "guard": {guarded, false}, "left out": {out, false},
		"only one gives it": {resource("file", "/f", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite()
			s.state("a", parts(a))
			s.state("b", parts(c.second))
			diags := s.diagnostics()
			if slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
				return d.Summary == `state.a.file["/f"] and state.b.file["/f"] contradict each other`
			}) != c.warned {
				t.Errorf("got %v", diags)
			}
		})
	}
}

// Of a cycle through thousands of states the first and the last few are named.
func TestLongCycleIsToldInShort(t *testing.T) {
	const n = 3000
	s := newSite()
	for i := range n {
		s.state(fmt.Sprintf("s%d", i), require(fmt.Sprintf("state.s%d", (i+1)%n)))
	}
	text := s.diagnostics().Error()
	for _, want := range []string{"state.s0 requires state.s1", "state.s2999 requires state.s0", "… 2990 more …"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not named in %.500s", want, text)
		}
	}
	if len(text) > 4096 {
		t.Errorf("it takes %d bytes", len(text))
	}
}

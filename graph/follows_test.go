package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// release declares a release, the link that leads to it and a handler of both, with
// further options.
func release(handler ...option) *site {
	s := newSite()
	s.state("release", notify("state.restart"))
	s.state("current", require("state.release"), notify("state.restart"))
	s.state("restart", append(handler, lazy)...)
	return s
}

func invocation(t *testing.T, run *states.StateRun, address string) states.Invocation {
	t.Helper()
	for _, i := range run.Invocations {
		if i.Address == address {
			return i
		}
	}
	t.Fatalf("no invocation %s in %s", address, sequence(run))
	return states.Invocation{}
}

func TestFollowsMakesOneWaveOfTwo(t *testing.T) {
	s := release()
	run := s.compile(t).Run
	want(t, sequence(run), "state.release state.restart#1 state.current state.restart#2")
	if next := invocation(t, run, "state.restart#1").Next; next == nil || *next != (states.Between{Address: "state.current", Requires: "state.release"}) {
		t.Errorf("between the waves: %+v", next)
	}
	if last := invocation(t, run, "state.restart#2"); last.Next != nil || last.Joined != nil {
		t.Errorf("the last wave: %+v", last)
	}
	s = release(follows("state.current"))
	run = s.compile(t).Run
	want(t, sequence(run), "state.release state.current state.restart")
	if diags := s.diagnostics(); len(diags) > 0 {
		t.Errorf("it is warned of: %v", diags)
	}
	if joined := invocation(t, run, "state.restart").Joined; len(joined) != 1 || joined[0] != (states.Follow{Address: "state.restart", Follows: "state.current"}) {
		t.Errorf("joined by %+v", joined)
	}
	s = release(follows("state.release"))
	run = s.compile(t).Run
	want(t, sequence(run), "state.release state.restart#1 state.current state.restart#2")
	if joined := invocation(t, run, "state.restart#2").Joined; joined != nil {
		t.Errorf("joined by %+v", joined)
	}
}

// What follows a handler comes after all its waves but those that come of it.
func TestFollowsAHandler(t *testing.T) {
	s := release()
	s.state("check", follows("state.restart"))
	s.state("log", follows("state.restart"), notify("state.restart"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.release state.restart#1 state.current state.restart#2 state.log state.restart#3 state.check")
	want(t, edges(t, run, "state.check"), "requires [] after [state.restart#1 state.restart#2 state.restart#3] by []")
	want(t, edges(t, run, "state.log"), "requires [] after [state.restart#1 state.restart#2] by []")
}

func TestFollowsInvokesNothing(t *testing.T) {
	s := newSite()
	s.state("idle", lazy)
	s.state("a", follows("state.idle"))
	s.state("b", follows("state.a"))
	r := s.compile(t)
	want(t, sequence(r.Run), "state.a state.b")
	want(t, edges(t, r.Run, "state.b"), "requires [] after [state.a] by []")
	for _, c := range []struct {
		by   graph.Selection
		want string
	}{
		{graph.Selection{Targets: []string{"state.b"}}, "state.b"},
		{graph.Selection{Exclude: []string{"state.a"}}, "state.b"},
		{graph.Selection{Targets: []string{"state.a", "state.b"}}, "state.a state.b"},
	} {
		run, diags := r.Select(c.by)
		if len(diags) > 0 {
			t.Errorf("%+v: %v", c.by, diags)
		}
		want(t, sequence(run), c.want)
	}
}

func TestFollowsThroughWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"follows", "follows", "requires [] after [state.a] by []"},
		{"follows", "requires", "requires [] after [state.a] by []"},
		{"requires", "follows", "requires [] after [state.a] by []"},
		{"requires", "requires", "requires [state.a] after [] by []"},
	} {
		by := map[string]func(...string) option{"follows": follows, "requires": require}
		s := newSite()
		s.state("a")
		s.state("out", leftOut, by[c.second]("state.a"))
		s.state("z", by[c.first]("state.out"))
		want(t, c.first+" "+c.second+": "+edges(t, s.compile(t).Run, "state.z"), c.first+" "+c.second+": "+c.want)
		s = newSite()
		s.state("a")
		s.block("out", nil, by[c.second]("state.a"))
		s.state("z", by[c.first]("block.out"))
		if run := s.compile(t).Run; !check(run, nil).before["state.z"]["state.a"] && !graphOf(run).before["state.z"]["state.a"] {
			t.Errorf("%s, by an empty block that %s: %s", c.first, c.second, outline(run))
		}
	}
}

func TestFollowsReversedAmongAbsents(t *testing.T) {
	s := newSite()
	s.state("a", absent, parts(resource("file", "/a", "")))
	s.state("b", absent, parts(resource("file", "/b", "")), follows("state.a"))
	s.state("c", parts(resource("file", "/c", "")), follows("state.b"))
	run := s.compile(t).Run
	want(t, edges(t, run, "state.a"), "requires [] after [state.b] by []")
	want(t, edges(t, run, "state.b"), "requires [] after [] by []")
	want(t, edges(t, run, "state.c"), "requires [] after [state.b] by []")
}

// What follows as a whole does not follow what it brings about itself.
func TestFollowsAsAWhole(t *testing.T) {
	s := newSite()
	s.state("h", lazy)
	s.state("before", notify("state.h"))
	s.state("a", notify("state.h"))
	s.state("b", notify("state.h"))
	s.block("all", []string{"state.a", "state.b"}, follows("state.h"))
	s.state("after", follows("block.all"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.before state.h#1 state.a state.b state.h#2 state.after")
	want(t, edges(t, run, "state.b"), "requires [] after [state.h#1] by []")
	want(t, edges(t, run, "state.after"), "requires [] after [block.all] by []")
	s = newSite()
	s.state("h", lazy)
	s.state("a", notify("state.h"), follows("state.h"))
	s.state("b", notify("state.h"), follows("state.h"))
	if text := fmt.Sprint(s.diagnostics()); !strings.Contains(text, "a cycle of") || !strings.Contains(text, "state.a follows state.h") {
		t.Errorf("two that each wait for the wave of the other: %s", text)
	}
}

func TestFollowsWithinAState(t *testing.T) {
	x, y := resource("file", "/x", ""), resource("file", "/y", "")
	x.Options.Follows = refs(`self//file["/y"]`)
	s := newSite()
	s.state("a", inParallel, parts(x, y))
	if p := s.compile(t).Run.Invocations[0].Parts[0]; fmt.Sprint(p.After) != `[state.a.file["/y"]]` {
		t.Errorf("it comes after %v", p.After)
	}
	s = newSite()
	s.state("a", parts(x, y))
	if text := fmt.Sprint(s.diagnostics()); !strings.Contains(text, `file["/x"] follows file["/y"], which runs after it`) {
		t.Errorf("a later part in a sequence: %s", text)
	}
	y.Options.Follows = refs(`self//file["/x"]`)
	s = newSite()
	s.state("a", inParallel, parts(x, y))
	if text := fmt.Sprint(s.diagnostics()); !strings.Contains(text, "a cycle of") {
		t.Errorf("two parts that follow each other: %s", text)
	}
}

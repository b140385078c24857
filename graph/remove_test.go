package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// leftOf writes what Remove leaves out, and what it leaves.
func leftOf(run *states.StateRun, addresses ...string) string {
	rest, left := graph.Remove(run, addresses)
	var out, kept []string
	for _, l := range left {
		out = append(out, strings.TrimSuffix(l.Address+": "+l.Why, ": "))
	}
	for _, inv := range rest.Invocations {
		kept = append(kept, inv.Address)
	}
	return strings.Join(out, "; ") + " | " + strings.Join(kept, " ")
}

func TestRemove(t *testing.T) {
	s := newSite()
	s.state("a", parts(resource("file", "/a", "")), notify("state.h"))
	s.state("b", parts(resource("file", "/b", "")), notify("state.h", "state.g"))
	s.state("c", parts(resource("file", "/c", "")), require("state.a"))
	s.state("d", parts(resource("file", "/d", "")), require("state.c"))
	s.state("e", parts(resource("file", "/e", "")), require("block.x"))
	s.state("m", parts(resource("file", "/m", "")))
	s.state("n", parts(resource("file", "/n", "")))
	s.state("h", lazy, parts(command("h")))
	s.state("g", lazy, parts(command("g")))
	s.block("x", []string{"state.m", "state.n"})
	run := s.compile(t).Run
	want(t, leftOf(run), " | state.a state.b state.m state.n state.h state.c state.d state.g state.e")
	want(t, leftOf(run, "state.a"), "state.a; state.c: it requires state.a; state.d: it requires state.c | state.b state.m state.n state.h state.g state.e")
	want(t, leftOf(run, "state.b"), "state.b; state.g: nothing else notifies it | state.a state.m state.n state.h state.c state.d state.e")
	want(t, leftOf(run, "state.m"), "state.m; state.e: it requires block.x | state.a state.b state.n state.h state.c state.d state.g")
	want(t, leftOf(run, "state.m", "state.n"),
		"state.m; state.n; state.e: it requires block.x; block.x: nothing is left of it | state.a state.b state.h state.c state.d state.g")
	run.Blocks[0].Confirm = &states.Confirm{Command: []string{"true"}}
	want(t, leftOf(run, "state.m"),
		"state.m; state.n: it is in block.x; state.e: it requires block.x; block.x: it is confirmed as a whole | state.a state.b state.h state.c state.d state.g")

	rest, _ := graph.Remove(run, []string{"state.b"})
	want(t, leftOutOf(rest), `state.b.file["/b"]=file /b`)
	if len(rest.Handlers) != 1 || rest.Handlers[0].Address != "state.g" || !rest.Handlers[0].LeftOut {
		t.Errorf("the handlers are %+v", rest.Handlers)
	}
	if rest.Revision == run.Revision || len(run.Invocations) != 9 || len(run.LeftOut) != 0 {
		t.Error("the run itself is another one, or the rest has its revision")
	}
}

// What is left notifies handlers that are left out, or waves of them: it owes them
// that.
func TestRemoveAHandler(t *testing.T) {
	s := newSite()
	s.state("a", parts(resource("file", "/a", "")), notify("state.h"))
	s.state("b", parts(resource("file", "/b", "")))
	s.state("h", lazy, parts(command("h")), require("state.b"))
	run := s.compile(t).Run
	rest, _ := graph.Remove(run, []string{"state.b"})
	if h := rest.Handlers; len(h) != 1 || !h[0].LeftOut || len(h[0].NotifiedBy) != 1 || h[0].NotifiedBy[0].Address != "state.a" {
		t.Errorf("the handlers are %+v", h)
	}

	s = newSite() // in waves
	s.state("a", parts(resource("file", "/a", "")), notify("state.h"))
	s.state("b", parts(resource("file", "/b", "")), notify("state.h"), require("state.a"))
	s.state("h", lazy, parts(command("h")))
	run = s.compile(t).Run
	rest, _ = graph.Remove(run, []string{"state.h#2"})
	if h := rest.Handlers; len(h) != 1 || h[0].Address != "state.h" || len(h[0].NotifiedBy) != 1 || h[0].NotifiedBy[0].Address != "state.b" {
		t.Errorf("the handlers are %+v", h)
	}
}

// before gives all that comes before each address, by whatever way.
func before(run *states.StateRun) map[string]map[string]bool {
	direct := map[string][]string{}
	for _, a := range graph.Arrows(run) {
		direct[a.To] = append(direct[a.To], a.From)
	}
	all := map[string]map[string]bool{}
	var of func(a string) map[string]bool
	of = func(a string) map[string]bool {
		if all[a] != nil {
			return all[a]
		}
		all[a] = map[string]bool{}
		for _, b := range direct[a] {
			all[a][b] = true
			for c := range of(b) {
				all[a][c] = true
			}
		}
		return all[a]
	}
	for a := range direct {
		of(a)
	}
	return all
}

// What is left keeps its order, though what stood between is gone, and names
// nothing that is not there.
func TestRemoveKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &states.StateRun{}
		n := rapid.IntRange(1, 12).Draw(t, "invocations")
		name := func(i int) string { return fmt.Sprint("state.s", i) }
		for i := range n {
			inv := states.Invocation{Address: name(i), Parts: []states.Part{}}
			for k := range i {
				switch rapid.IntRange(0, 8).Draw(t, "edge") {
				case 0:
					inv.Requires = append(inv.Requires, name(k))
				case 1, 2:
					inv.After = append(inv.After, name(k))
				case 3:
					inv.Handler = true
					inv.NotifiedBy = append(inv.NotifiedBy, states.Notification{Address: name(k), On: states.OnChange})
				}
			}
			run.Invocations = append(run.Invocations, inv)
		}
		var drop []string
		for range rapid.IntRange(0, 4).Draw(t, "drops") {
			drop = append(drop, name(rapid.IntRange(0, n-1).Draw(t, "drop")))
		}
		was := before(run)
		rest, left := graph.Remove(run, drop)
		is := before(rest)
		there := map[string]bool{}
		for _, inv := range rest.Invocations {
			there[inv.Address] = true
		}
		for _, j := range rest.Joins {
			there[j.Address] = true
		}
		for _, a := range graph.Arrows(rest) {
			if !there[a.From] || !there[a.To] {
				t.Errorf("%s → %s is left, and one of them is not", a.From, a.To)
			}
		}
		if len(rest.Invocations)+len(left) != n {
			t.Errorf("%d left out and %d left of %d", len(left), len(rest.Invocations), n)
		}
		for _, d := range drop {
			if !slices.ContainsFunc(left, func(l graph.Removal) bool { return l.Address == d && l.Why == "" }) {
				t.Errorf("%s is not left out", d)
			}
		}
		for _, inv := range rest.Invocations {
			for b := range was[inv.Address] {
				if there[b] && !is[inv.Address][b] {
					t.Errorf("%s came before %s, and does no more", b, inv.Address)
				}
			}
			for _, r := range inv.Requires {
				if !there[r] {
					t.Errorf("%s requires %s", inv.Address, r)
				}
			}
		}
	})
}

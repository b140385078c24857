package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// shop is a site with requirements, two handlers, a block and a lazy state.
func shop() *site {
	s := newSite()
	s.state("package", notify("state.reload"))
	s.state("conf", require("state.package"), notify("state.reload"), tags("web"))
	s.state("reload", lazy)
	s.state("check", require("state.conf"))
	s.state("data", notify("state.index"))
	s.state("index", lazy, require("state.tool"))
	s.state("tool", lazy)
	s.state("backup", lazy, require("state.mount"), notify("state.index"))
	s.state("mount", lazy)
	s.block("store", []string{"state.data", "state.check"})
	s.state("open", require("block.store"))
	return s
}

func selected(t *testing.T, s *site, by graph.Selection) *states.StateRun {
	t.Helper()
	run, diags := s.compile(t).Select(by)
	if err := diags.Err(); err != nil {
		t.Fatalf("select: %v", err)
	}
	return run
}

func TestSelect(t *testing.T) {
	all := "state.package state.reload#1 state.conf state.reload#2 state.check state.data state.tool state.index state.open"
	want(t, sequence(shop().compile(t).Run), all)
	for _, c := range []struct {
		by       graph.Selection
		want     string
		handlers string
	}{
		{graph.Selection{}, all, "state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.package"}}, "state.package state.reload#1", "state.index state.tool state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.conf.command.conf"}}, "state.package state.reload#1 state.conf state.reload#2", "state.index state.tool state.backup state.mount"},
		{graph.Selection{Tags: []string{"web"}}, "state.package state.reload#1 state.conf state.reload#2", "state.index state.tool state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.data"}}, "state.data state.tool state.index", "state.reload state.backup state.mount"},
		{graph.Selection{Targets: []string{"block.store"}}, "state.package state.reload#1 state.conf state.reload#2 state.check state.data state.tool state.index", "state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.reload#2"}}, "state.reload#2", "state.index state.tool state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.reload"}}, "state.reload#1 state.reload#2", "state.index state.tool state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.backup"}}, "state.tool state.mount state.backup state.index", "state.reload"},
		{graph.Selection{Exclude: []string{"state.reload#1"}}, "state.package state.conf state.reload#2 state.check state.data state.tool state.index state.open", "state.backup state.mount"},
		{graph.Selection{Exclude: []string{"state.reload"}}, "state.package state.conf state.check state.data state.tool state.index state.open", "state.reload state.backup state.mount"},
		{graph.Selection{Exclude: []string{"state.conf"}}, "state.package state.reload#1 state.data state.tool state.index", "state.backup state.mount"},
		{graph.Selection{Exclude: []string{"block.store"}}, "state.package state.reload#1 state.conf state.reload#2 state.tool", "state.index state.backup state.mount"},
		{graph.Selection{Targets: []string{"state.conf"}, Exclude: []string{"state.package"}}, "", "state.reload state.index state.tool state.backup state.mount"},
	} {
		t.Run(fmt.Sprint(c.by), func(t *testing.T) {
			run := selected(t, shop(), c.by)
			want(t, sequence(run), c.want)
			var idle []string
			for _, h := range run.Handlers {
				idle = append(idle, h.Address)
			}
			want(t, strings.Join(idle, " "), c.handlers)
			wellFormed(t, run)
		})
	}
}

// wellFormed checks that a run names only what is in it, before it is used.
func wellFormed(t *testing.T, run *states.StateRun) {
	t.Helper()
	known := map[string]bool{}
	for _, b := range run.Blocks {
		known[b.Address] = true
	}
	for _, j := range run.Joins {
		known[j.Address] = true
	}
	for _, i := range run.Invocations {
		known[i.Address] = true
	}
	seen := map[string]bool{}
	for _, i := range run.Invocations {
		for _, a := range append(append([]string{}, i.Requires...), i.After...) {
			if !known[a] || strings.HasPrefix(a, "state.") && !seen[a] {
				t.Errorf("%s names %s", i.Address, a)
			}
		}
		for _, n := range i.NotifiedBy {
			if !known[n.Address] {
				t.Errorf("%s is notified by %s", i.Address, n.Address)
			}
		}
		seen[i.Address] = true
	}
	for _, b := range run.Blocks {
		for _, m := range b.Members {
			if !known[m] {
				t.Errorf("%s has member %s", b.Address, m)
			}
		}
	}
}

func TestSelectExcludedHandlerIsOwed(t *testing.T) {
	run := selected(t, shop(), graph.Selection{Exclude: []string{"state.reload"}})
	want(t, fmt.Sprint(run.Handlers[0].Address, run.Handlers[0].NotifiedBy), "state.reload[{state.package change } {state.conf change }]")
	run = selected(t, shop(), graph.Selection{Exclude: []string{"state.reload#1"}})
	want(t, edges(t, run, "state.reload#2"), "requires [] after [] by [state.package:change state.conf:change]")
}

func TestSelectedHandlerRuns(t *testing.T) {
	run := selected(t, shop(), graph.Selection{Targets: []string{"state.reload"}})
	if !run.Invocations[0].Always || run.Invocations[0].Handler || run.Invocations[1].Always || !run.Invocations[1].Handler {
		t.Errorf("%+v", run.Invocations)
	}
	run = selected(t, shop(), graph.Selection{Targets: []string{"state.backup"}})
	if i := run.Invocations[2]; !i.Always || i.Handler {
		t.Errorf("%+v", i)
	}
}

func TestSelectKeepsOrder(t *testing.T) {
	s := newSite()
	for _, name := range []string{"a", "b", "c"} {
		s.state(name, parts(resource("file", "/x", "")))
	}
	run := selected(t, s, graph.Selection{Exclude: []string{"state.b"}})
	want(t, edges(t, run, "state.c"), "requires [] after [state.a] by []")
}

func TestSelectDiagnostics(t *testing.T) {
	s := shop()
	s.state("never", leftOut)
	r := s.compile(t)
	_, diags := r.Select(graph.Selection{Targets: []string{"state.confg", "state.dta"}})
	want(t, diags.Error(), "nothing has the address state.confg (did you mean state.conf?)\nnothing has the address state.dta (did you mean state.data?)")
	_, diags = shop().compile(t).Select(graph.Selection{Tags: []string{"web", "wob", "x"}})
	want(t, diags.Error(), "nothing has the tag \"wob\" (did you mean web?)\nnothing has the tag \"x\" (the tags are web)")
	_, diags = r.Select(graph.Selection{Exclude: []string{"state.conf"}})
	var left []string
	for _, d := range diags {
		left = append(left, d.Summary)
	}
	want(t, strings.Join(left, "\n"), "state.check is left out, since it requires what is excluded\nstate.open is left out, since it requires what is excluded")
	_, diags = r.Select(graph.Selection{Targets: []string{"state.never"}})
	want(t, fmt.Sprint(len(diags), diags[0].Severity, diags[0].Summary), "1warningstate.never is left out by its when")
}

func TestWhy(t *testing.T) {
	r := shop().compile(t)
	for _, c := range []struct{ address, want string }{
		{"state.conf", `state.conf
  declared     site.hcl:2:1
  runs         always
  requires     state.package
               state.reload#1
  required by  state.check
  notifies     state.reload#2
`},
		{"state.reload", `state.reload
  declared     site.hcl:3:1
  invocations  state.reload#1
               state.reload#2
  runs         when one of those that notify it asks for it, or when it is owed from an earlier run
  required by  state.conf
               state.check
  notified by  state.package on change
               state.conf on change
  notifies     
`},
		{"state.tool", `state.tool
  declared     site.hcl:7:1
  runs         always: it is required
  required by  state.index
`},
		{"state.backup", `state.backup
  declared     site.hcl:8:1
  runs         nothing notifies or requires it now; it runs when it is a target, or owed from an earlier run
`},
		{"state.data", `state.data
  declared     site.hcl:5:1
  runs         always
  notifies     state.index
  in block     block.store
`},
	} {
		e, err := graph.Why(r, c.address)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := e.Text(&b); err != nil {
			t.Fatal(err)
		}
		want(t, b.String(), strings.Replace(c.want, "  notifies     \n", "", 1))
	}
	if _, err := graph.Why(r, "state.cnf"); err == nil || err.Error() != "nothing has the address state.cnf (did you mean state.conf?)" {
		t.Errorf("got %v", err)
	}
}

package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// leftOutOf lists what a run says is declared and not in it.
func leftOutOf(run *states.StateRun) string {
	var out []string
	for _, r := range run.LeftOut {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%s %s", r.Address, r.Type, r.Key)))
	}
	return strings.Join(out, ", ")
}

func TestLeftOutByWhen(t *testing.T) {
	s := newSite()
	never := resource("file", "/never", "")
	never.Options.LeftOut = true
	s.state("some", parts(resource("file", "/some", ""), never, command("x")))
	s.state("gone", leftOut, parts(resource("file", "/gone", ""), command("y")))
	s.state("unseen", leftOut, func(d *states.Declaration) { d.Parts = []states.PartDeclaration{} })
	s.state("needs", func(d *states.Declaration) { d.NeedsRun, d.Parts = true, []states.PartDeclaration{} })
	s.state("idle", lazy, parts(resource("file", "/idle", "")))
	s.state("ran", parts(resource("file", "/default", "")))
	s.run("ran", "state.ran")
	s.add(states.Declaration{Kind: states.BlockKind, Address: "component.shop", Component: true}, leftOut)
	s.block("off", []string{"state.idle"}, leftOut)
	want(t, leftOutOf(s.compile(t).Run),
		`component.shop=, state.gone.file["/gone"]=file /gone, state.idle.file["/idle"]=file /idle, state.needs=, `+
			`state.some.file["/never"]=file /never, state.unseen=`)
}

func TestLeftOutBySelection(t *testing.T) {
	build := func() *site {
		s := newSite()
		s.state("a", parts(resource("file", "/a", "")), notify("state.h"))
		s.state("b", parts(resource("file", "/b", ""), command("b")))
		s.state("h", lazy, parts(resource("file", "/h", "")))
		return s
	}
	want(t, leftOutOf(build().compile(t).Run), "")
	want(t, leftOutOf(selected(t, build(), graph.Selection{Targets: []string{"state.a"}})), `state.b.command.b=command b, state.b.file["/b"]=file /b`)
	want(t, leftOutOf(selected(t, build(), graph.Selection{Exclude: []string{"state.a"}})), `state.a.file["/a"]=file /a`)
	// What is not selected among the handlers stands there.
	want(t, leftOutOf(selected(t, build(), graph.Selection{Targets: []string{"state.b"}})), `state.a.file["/a"]=file /a`)
}

func TestIdleHandlerNotifies(t *testing.T) {
	s := newSite()
	s.state("one", lazy, parts(resource("file", "/x", ""), command("y")), notify("state.two"), func(d *states.Declaration) {
		d.Parts[1].Options.NotifyFailure = refs("state.three")
	})
	s.state("two", lazy)
	s.state("three", lazy)
	run := s.compile(t).Run
	want(t, fmt.Sprint(run.Handlers[0].Address, run.Handlers[0].Notifies),
		"state.one[{state.two change } {state.three failure state.one.command.y}]")
	want(t, fmt.Sprint(run.Handlers[1].Notifies, run.Handlers[2].Notifies), "[] []")
}

func TestHandlersLeftOutBySelection(t *testing.T) {
	for _, c := range []struct {
		by   graph.Selection
		want string // the handlers that are left out; all others are only idle
	}{
		{graph.Selection{}, ""},
		{graph.Selection{Targets: []string{"state.package"}}, "state.index state.tool state.backup state.mount"},
		{graph.Selection{Tags: []string{"web"}}, "state.index state.tool state.backup state.mount"},
		{graph.Selection{Exclude: []string{"state.reload"}}, "state.reload"},
		{graph.Selection{Exclude: []string{"state.conf"}}, ""},
		// Its notifier is left out, it is not.
		{graph.Selection{Exclude: []string{"state.data"}}, ""},
		{graph.Selection{Exclude: []string{"state.tool"}}, "state.index state.tool"},
		{graph.Selection{Exclude: []string{"state.backup"}}, "state.backup"},
		{graph.Selection{Exclude: []string{"state.mount"}}, "state.backup state.mount"},
	} {
		t.Run(fmt.Sprint(c.by), func(t *testing.T) {
			var out []string
			for _, h := range selected(t, shop(), c.by).Handlers {
				if h.LeftOut {
					out = append(out, h.Address)
				}
			}
			want(t, strings.Join(out, " "), c.want)
		})
	}
	s := shop()
	s.block("all", []string{"state.backup"})
	run := selected(t, s, graph.Selection{Exclude: []string{"block.all"}})
	for _, h := range run.Handlers {
		if h.LeftOut != (h.Address == "state.backup") {
			t.Errorf("%s: left out is %t", h.Address, h.LeftOut)
		}
	}
	s = shop()
	s.List[7].Options.Tags = []string{"web"} // backup: its own tag selects it, though nothing calls it
	for _, h := range selected(t, s, graph.Selection{Tags: []string{"web"}}).Handlers {
		if h.LeftOut == (h.Address == "state.backup") {
			t.Errorf("%s: left out is %t", h.Address, h.LeftOut)
		}
	}
}

package graph_test

import (
	"fmt"
	"os"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// Two states notify one handler, and the second requires the first: so the
// handler runs twice.
func ExampleCompile() {
	notify := states.Options{Notify: []states.Ref{{Address: "state.reload"}}}
	second := notify
	second.Require = []states.Ref{{Address: "state.one"}}
	site := &states.Declarations{Host: "web1", List: []states.Declaration{
		{Address: "state.one", Options: notify},
		{Address: "state.two", Options: second},
		{Address: "state.reload", Lazy: true},
	}}
	result, diags := graph.Compile(site, graph.Options{Registry: states.NewRegistry()})
	if err := diags.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, invocation := range result.Run.Invocations {
		fmt.Println(invocation.Address, invocation.Requires)
	}
	// Output:
	// state.one []
	// state.reload#1 []
	// state.two [state.one state.reload#1]
	// state.reload#2 []
}

func ExampleText() {
	s := newSite()
	s.state("conf", notify("state.reload"))
	s.state("reload", lazy)
	s.state("check", require("state.conf"))
	result, _ := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
	if err := graph.Text(os.Stdout, result.Run); err != nil {
		fmt.Println(err)
	}
	// Output:
	// state.check
	// ├── state.conf
	// │   └─▶ state.reload
	// └── state.reload
}

func ExampleResult_Select() {
	s := newSite()
	s.state("conf", notify("state.reload"))
	s.state("reload", lazy)
	s.state("other")
	result, _ := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
	run, _ := result.Select(graph.Selection{Targets: []string{"state.conf"}})
	for _, invocation := range run.Invocations {
		fmt.Println(invocation.Address)
	}
	// Output:
	// state.conf
	// state.reload
}

func ExampleWhy() {
	s := newSite()
	s.state("conf", notify("state.reload"))
	s.state("reload", lazy)
	result, _ := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
	explanation, err := graph.Why(result, "state.reload")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := explanation.Text(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// state.reload
	//   declared     site.hcl:2:1
	//   runs         when one of those that notify it asks for it, or when it is owed from an earlier run
	//   notified by  state.conf on change
}

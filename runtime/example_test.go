package runtime_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Tenet within another program: load a site, compile it, apply it. Here the
// host is a Memory; host.NewLocal is the machine itself.
func ExampleApply() {
	ctx := context.Background()
	files := fstest.MapFS{"site.hcl": {Data: []byte(`
		file "/motd" {
		  content = "Managed by tenet.\n"
		}
	`)}}
	registry := modules.Standard()
	machine := host.NewMemory()

	site, mistakes := lang.Load(files, lang.Options{Registry: registry})
	if mistakes.HasErrors() {
		panic(mistakes)
	}
	declared, mistakes := site.Evaluate(ctx, lang.Target{Host: "example"})
	if mistakes.HasErrors() {
		panic(mistakes)
	}
	compiled, mistakes := graph.Compile(declared, graph.Options{Registry: registry})
	if mistakes.HasErrors() {
		panic(mistakes)
	}
	result, err := runtime.Apply(ctx, compiled.Run, runtime.Options{
		Host: machine, Registry: registry, Site: files, Sources: compiled.Sources,
		Events: func(ev states.Event) {
			if ev.Type == states.EventPart {
				fmt.Println(ev.Address, ev.Outcome)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("ready:", result.Report.Ready)
	// Output:
	// file["/motd"] changed
	// ready: true
}

// A plan is the same on a shadow of the host, which stays as it is.
func ExamplePlan() {
	registry := modules.Standard()
	machine := host.NewMemory()
	run := &states.StateRun{Format: states.Format, Host: "example", Invocations: []states.Invocation{{
		Address: "directory.srv", State: "directory.srv",
		Parts: []states.Part{{
			Address: "directory.srv", Type: "directory", Key: "/srv", Ensure: states.Present,
			Values: map[string]any{"path": "/srv", "mode": "0750"},
		}},
	}}}
	_, err := runtime.Plan(context.Background(), run, runtime.Options{
		Host: machine, Registry: registry,
		Events: func(ev states.Event) {
			if ev.Type == states.EventPart {
				fmt.Println(ev.Address, ev.Action, ev.Changes[0].Attribute, ev.Changes[0].To)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	_, err = machine.Lstat("/srv")
	fmt.Println(err)
	// Output:
	// directory.srv create mode 0750
	// lstat /srv: no such file or directory
}

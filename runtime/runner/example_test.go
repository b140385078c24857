package runner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// This machine is asked to apply a job, and tells what it does. One behind a connection
// is asked in the same way: see the remote package.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var m machine.Machine = &runner.Runner{
		Host: h, StateDir: filepath.Join(dir, "state"), Registry: modules.Standard(), Caller: machine.Caller{User: "alice"},
	}
	motd := filepath.Join(dir, "motd")
	job := &machine.Job{Origin: "/site", Run: &states.StateRun{
		Format: states.Format, Host: "web1", Site: "hello", Invocations: []states.Invocation{{
			Address: "file.motd", Parts: []states.Part{{
				Address: "file.motd", ID: "motd", Type: "file", Key: motd, Ensure: states.Present,
				Values: map[string]any{"path": motd, "content": "Welcome\n"},
			}},
		}},
	}}
	result, err := m.Apply(context.Background(), job, machine.Observer{Event: func(ev states.Event) {
		fmt.Println(strings.TrimSpace(fmt.Sprint(ev.Seq, " ", ev.Type, " ", ev.Address, " ", ev.Outcome)))
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed:", result.Counts.Changed)
	// Output:
	// 1 run
	// 2 begin file.motd
	// 3 part file.motd changed
	// 4 summary
	// changed: 1
}

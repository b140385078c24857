package remote_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// A machine tells what it knows of itself, and is brought into a state that depends on that.
// This one is a tree of files behind a pipe; with ssh.Client.Dial it is a real one.
func Example() {
	root, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		log.Fatal(err)
	}
	there := &runner.Runner{Host: h, Root: root, StateDir: filepath.Join(root, "state"), Registry: modules.Standard()}
	m := &remote.Machine{Name: "web1", Dial: runner.Local(there), Registry: modules.Standard(), Caller: machine.Caller{User: "alice"}}
	defer m.Close()

	ctx := context.Background()
	facts, err := m.Facts(ctx, []string{"os"})
	if err != nil {
		log.Fatal(err)
	}
	system, err := facts.Fact("os")
	if err != nil {
		log.Fatal(err)
	}
	job := &machine.Job{Origin: "/site", Run: &states.StateRun{
		Format: states.Format, Host: "web1", Site: "hello", Invocations: []states.Invocation{{
			Address: "file.motd", Parts: []states.Part{{
				Address: "file.motd", ID: "motd", Type: "file", Key: "/motd", Ensure: states.Present,
				Values: map[string]any{"path": "/motd", "content": fmt.Sprintf("Welcome to %s\n", system.(map[string]any)["family"])},
			}},
		}},
	}}
	result, err := m.Apply(ctx, job, machine.Observer{Event: func(ev states.Event) {
		if ev.Type == states.EventPart {
			fmt.Println(ev.Address, ev.Outcome)
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "motd"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed:", result.Counts.Changed)
	fmt.Print(string(text))
	// Output:
	// file.motd changed
	// changed: 1
	// Welcome to linux
}

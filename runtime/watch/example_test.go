package watch_test

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/watch"
	"github.com/tenetcm/tenet/states"
)

// A program that looks after a machine, and says what is new.
func ExampleLoop() {
	registry, machine := modules.Standard(), host.NewMemory()
	run := &states.StateRun{Format: states.Format, Host: "example", Invocations: []states.Invocation{{
		Address: "directory.srv", State: "directory.srv",
		Parts: []states.Part{{
			Address: "directory.srv", Type: "directory", Key: "/srv", Ensure: states.Present,
			Values: map[string]any{"path": "/srv", "mode": "0750"},
		}},
	}}}
	var drift watch.Drift
	look := func(ctx context.Context, n int) error {
		_, err := runtime.Plan(ctx, run, runtime.Options{Host: machine, Registry: registry, Events: func(ev states.Event) {
			switch drift.Add(&ev) {
			case watch.Drifted:
				fmt.Println("round", n, ev.Address, ev.Action)
			case watch.Restored:
				fmt.Println("round", n, ev.Address, "is as declared again")
			}
		}})
		drift.End()
		if n == 2 { // somebody mends it by hand
			err = machine.Mkdir("/srv", host.Meta{Mode: new(fs.FileMode(0o750))})
		}
		return err
	}
	err := watch.Loop(context.Background(), watch.Options{
		Interval: time.Millisecond, Jitter: 0.1, Seed: "the machine-id", Rounds: 4,
	}, look)
	if err != nil {
		panic(err)
	}
	// Output:
	// round 1 directory.srv create
	// round 3 directory.srv is as declared again
}

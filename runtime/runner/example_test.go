package runner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// A controller asks a runner to apply a bundle, and hears what it does. Here the runner is
// in the same process; on a host it is started over a connection, and all else is alike.
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
	machine := &runner.Runner{Host: h, StateDir: filepath.Join(dir, "state"), Registry: modules.Standard()}

	c, hello, err := runner.Local(machine)(context.Background(), wire.Opening{Facts: []string{"uid"}, Site: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	motd := filepath.Join(dir, "motd")
	b := &bundle.Bundle{
		Execution: "20260101-120000-abcdef", Origin: "desk:/site", Files: fstest.MapFS{},
		Run: &states.StateRun{Format: states.Format, Host: "web1", Site: "hello", Invocations: []states.Invocation{{
			Address: "file.motd", Parts: []states.Part{{
				Address: "file.motd", ID: "motd", Type: "file", Key: motd, Ensure: states.Present,
				Values: map[string]any{"path": motd, "content": "Welcome\n"},
			}},
		}}},
	}
	if err := c.Send(wire.KindRequest, wire.Request{Op: wire.OpApply, User: "alice", From: "desk"}); err != nil {
		log.Fatal(err)
	}
	if err := b.Send(c, hello.Have, machine.Registry); err != nil {
		log.Fatal(err)
	}
	for {
		f, err := c.Receive()
		if err != nil {
			log.Fatal(err)
		}
		switch f.Kind {
		case wire.KindEvent:
			var ev states.Event
			if err := f.Decode(&ev); err != nil {
				log.Fatal(err)
			}
			fmt.Println(strings.TrimSpace(fmt.Sprint(ev.Seq, " ", ev.Type, " ", ev.Address, " ", ev.Outcome)))
		case wire.KindEnd:
			var end wire.End
			if err := f.Decode(&end); err != nil {
				log.Fatal(err)
			}
			fmt.Println("changed:", end.Result.Counts.Changed)
			return
		}
	}
	// Output:
	// 1 run
	// 2 begin file.motd
	// 3 part file.motd changed
	// 4 summary
	// changed: 1
}

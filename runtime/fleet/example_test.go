package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Three machines are asked whether they are there, two at a time.
func ExampleRun() {
	_, machines := machines(3, nil) // simulated; ssh.Client.Dial reaches real ones
	task := fleet.Task{
		Opening: wire.Opening{Facts: []string{"hostname"}},
		Prepare: func(_ context.Context, m *fleet.Machine, hello *wire.Hello) (*wire.Request, *bundle.Bundle, error) {
			return &wire.Request{Op: wire.OpPing}, nil, nil
		},
	}
	outcomes, err := fleet.Run(context.Background(), machines, task, fleet.Options{Forks: 2})
	if err != nil {
		panic(err)
	}
	for _, o := range outcomes {
		fmt.Println(o.Machine, o.Status)
	}
	// Output:
	// m0 done
	// m1 done
	// m2 done
}

// One machine first, then a tenth of all of them at a time.
func ExampleBatches() {
	r := site.Rollout{Batch: []site.Amount{{N: 1}, {N: 10, Percent: true}}, Pause: time.Minute}
	batches, err := fleet.Batches(&r, 0, strings.Fields("a b c d e f g h i j k l m n o p q r s t"))
	if err != nil {
		panic(err)
	}
	for _, b := range batches[:3] {
		fmt.Println(b.Number, "of", b.Of, b.Machines)
	}
	// Output:
	// 1 of 11 [a]
	// 2 of 11 [b c]
	// 3 of 11 [d e]
}

// A record of what is done, with which it is found again.
func ExampleExecutions() {
	executions := &fleet.Executions{Dir: "/var/lib/tenet/executions"}
	list, err := executions.List()
	if err != nil {
		panic(err)
	}
	for _, r := range list {
		fmt.Println(r.ID, r.Command, len(r.Hosts), "hosts")
	}
}

package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// Three machines are asked whether they are there, two at a time.
func ExampleAsk() {
	_, machines := machines(3, nil) // simulated; remote.Machine with ssh.Client.Dial is a real one
	answers, err := fleet.Ask(context.Background(), machines, fleet.Question[*machine.Identity]{
		Task: "ping", Repeatable: true,
		Ask: func(ctx context.Context, m *fleet.Member, _ machine.Observer, _ machine.RunRef) (*machine.Identity, error) {
			return m.Ping(ctx)
		},
	}, fleet.Options{Forks: 2})
	if err != nil {
		panic(err)
	}
	for _, a := range answers {
		fmt.Println(a.Machine, a.Status, a.Value.OS)
	}
	// Output:
	// m0 done linux
	// m1 done linux
	// m2 done linux
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

package fleet_test

import (
	"context"
	"fmt"

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

package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// In a parallel state, too, what names an account in its text waits for the part that sets
// the account up, and is done before the one that takes it away.
func TestParallelPartsWaitForAccounts(t *testing.T) {
	type account struct {
		Name string `state:"name,key,user" doc:"Name."`
	}
	type unit struct {
		Text string `state:"text,key" doc:"Text that names an account."`
	}
	working := make(chan string, 2)
	// act is at work for a while: whoever else is at work then is too early.
	act := func(name string) error {
		select {
		case other := <-working:
			t.Errorf("%s works beside %s", name, other)
		default:
		}
		working <- name
		time.Sleep(20 * time.Millisecond)
		select {
		case <-working:
		default: // the other one has told of it
		}
		return nil
	}
	registry := states.NewRegistry(
		states.Define(states.Type[account]{
			Name: "account", Doc: "Doc.", NoAbsent: "a test",
			Act: func(_ context.Context, _ host.Host, want account) (bool, account, error) {
				return true, want, act(want.Name)
			},
		}),
		states.Define(states.Type[unit]{
			Name: "unit", Doc: "Doc.", NoAbsent: "a test",
			Needs: func(values map[string]any) []string { return []string{"user " + values["text"].(string)} },
			Act: func(_ context.Context, _ host.Host, want unit) (bool, unit, error) {
				return true, want, act("the unit")
			},
		}),
	)
	for name, parts := range map[string]string{
		"behind": "account \"svc\" {}\nunit \"svc\" {}\n",
		"before": "unit \"svc\" {}\naccount \"svc\" {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			run := compile(t, registry, "state \"s\" {\n parallel = true\n"+parts+"}\n").Run
			out := carry(t, runtime.Apply, run, runtime.Options{Host: host.NewMemory(), Registry: registry, Parallel: 4})
			if out.Counts.Changed != 2 {
				t.Errorf("counts %+v", out.Counts)
			}
		})
	}
}

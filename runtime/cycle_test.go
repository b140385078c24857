package runtime_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A run from a file may be nonsense: it is refused, and nothing waits or goes on
// without end.
func TestCirclesAreRefused(t *testing.T) {
	inv := func(address string, change func(*states.Invocation)) states.Invocation {
		i := states.Invocation{Address: address, Parts: []states.Part{}}
		if change != nil {
			change(&i)
		}
		return i
	}
	requires := func(a string) func(*states.Invocation) {
		return func(i *states.Invocation) { i.Requires = []string{a} }
	}
	for name, run := range map[string]*states.StateRun{
		"itself":  {Invocations: []states.Invocation{inv("a", requires("a"))}},
		"another": {Invocations: []states.Invocation{inv("a", requires("b")), inv("b", func(i *states.Invocation) { i.After = []string{"a"} })}},
		"a handler": {Invocations: []states.Invocation{inv("a", requires("h")), inv("h", func(i *states.Invocation) {
			i.Handler, i.NotifiedBy = true, []states.Notification{{Address: "a", On: states.OnChange}}
		})}},
		"a join":  {Invocations: []states.Invocation{inv("a", func(i *states.Invocation) { i.After = []string{"j"} })}, Joins: []states.Join{{Address: "j", After: []string{"a"}}}},
		"a block": {Blocks: []states.Block{{Address: "b", Members: []string{"b"}}}},
		"blocks":  {Blocks: []states.Block{{Address: "b", Members: []string{"c"}}, {Address: "c", Rescue: []string{"b"}}}},
		"a member requires its block": {Invocations: []states.Invocation{inv("a", requires("b"))},
			Blocks: []states.Block{{Address: "b", Members: []string{"a"}}}},
		"a member requires its rescue": {Invocations: []states.Invocation{inv("a", requires("r")), inv("r", nil)},
			Blocks: []states.Block{{Address: "b", Members: []string{"a"}, Rescue: []string{"r"}}}},
	} {
		_, err := runtime.Plan(t.Context(), run, runtime.Options{Host: host.NewMemory(), Registry: modules.Standard()})
		if err == nil || !strings.Contains(err.Error(), "in a circle") {
			t.Errorf("%s: %v", name, err)
		}
	}
	owed := &states.StateRun{}
	for from, to := range map[string]string{"a": "b", "b": "a"} {
		owed.Handlers = append(owed.Handlers, inv(from, func(i *states.Invocation) {
			i.Handler, i.Notifies = true, []states.Notification{{Address: to, On: states.OnChange}}
		}))
	}
	past := &journal.Ledger{Debts: []states.Debt{{Handler: "a", Notifier: "x"}}}
	_, err := runtime.Plan(t.Context(), owed, runtime.Options{Host: host.NewMemory(), Registry: modules.Standard(), Past: past})
	if err == nil || !strings.Contains(err.Error(), "in a circle") {
		t.Errorf("owed handlers: %v", err)
	}
}

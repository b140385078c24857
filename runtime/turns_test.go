package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// turn is a resource of which there is one lock for all.
type turn struct {
	Name string `state:"name,key" doc:"Name."`
}

// Resources that take turns at a lock come in StateRun order, however many run at a
// time, so that what they leave in one file is the same on each host.
func TestTurnsInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	there := map[string]bool{}
	module := states.Define(states.Type[turn]{
		Name: "turn", Doc: "A test.", NoAbsent: "It is a test.", Locks: []string{"turns"},
		Read: func(_ context.Context, _ host.Host, want turn) (*turn, error) {
			mu.Lock()
			defer mu.Unlock()
			if there[want.Name] {
				return &want, nil
			}
			return nil, nil
		},
		Write: func(_ context.Context, _ host.Host, _ *turn, want turn) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, want.Name)
			there[want.Name] = true
			return nil
		},
	})
	registry := states.NewRegistry(module)
	var site strings.Builder
	var want []string
	for i := range 60 {
		want = append(want, fmt.Sprintf("n%02d", i))
		fmt.Fprintf(&site, "turn \"%s\" {}\n", want[i])
	}
	run := compile(t, registry, site.String()).Run
	for range 10 {
		order = nil
		clear(there)
		carry(t, runtime.Apply, run, runtime.Options{Host: machine(), Registry: registry, Parallel: 16})
		if !slices.Equal(order, want) {
			t.Fatalf("the order is %q", order)
		}
	}
}

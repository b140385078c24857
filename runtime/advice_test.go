package runtime_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// asking is a resource whose module uses what an act may tell and be told.
type asking struct {
	Name  string  `state:"name,key" doc:"Name."`
	Value *string `state:"value" doc:"Value."`
}

// A module is told of its peers, a plan takes over its reason, an act's words are
// events, and a final failure is not tried again unless the part says so.
func TestWhatAnActMaySay(t *testing.T) {
	tries := map[string]int{}
	var peers []string
	module := states.Define(states.Type[asking]{
		Name: "asking", Doc: "A test.", NoAbsent: "It is a test.",
		Retry: &states.Retry{Attempts: 2},
		Read:  func(context.Context, host.Host, asking) (*asking, error) { return nil, nil },
		Write: func(ctx context.Context, h host.Host, _ *asking, want asking) error {
			tries[want.Name]++
			peers = nil
			for _, p := range states.Peers[asking](ctx, "asking") {
				peers = append(peers, p.Name)
			}
			if _, err := h.Run(ctx, host.Command{Argv: []string{"good"}}); err != nil {
				return &states.UncertainError{Reason: "nobody knows"}
			}
			states.Say(ctx, "waits for somebody")
			broken := &diag.HintError{Message: "it is broken", Hint: "mend it"}
			if want.Name == "c" {
				return broken
			}
			return &states.FinalError{Err: broken}
		},
	})
	registry := states.NewRegistry(module)
	run := compile(t, registry, `
	asking "a" {}
	asking "b" {
	  retry = { attempts = 3 }
	}
	asking "c" {}
	`).Run
	carry(t, runtime.Plan, run, runtime.Options{Host: machine(), Registry: registry}).want(t, map[string]string{
		"asking.a": "create maybe (nobody knows)",
		"asking.b": "create maybe (nobody knows)",
	})
	if !slices.Equal(peers, []string{"a", "b", "c"}) {
		t.Errorf("the peers are %q", peers)
	}
	clear(tries)
	got := carry(t, runtime.Apply, run, runtime.Options{Host: machine(), Registry: registry, Parallel: 1})
	for name, want := range map[string]int{"a": 1, "b": 3, "c": 2} {
		if tries[name] != want {
			t.Errorf("%s was tried %d times, want %d", name, tries[name], want)
		}
		if f := got.parts["asking."+name].Error; f == nil || f.Hint != "mend it" || f.Message != "it is broken" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	said := 0
	for _, ev := range got.events {
		if ev.Type == states.EventSaid && ev.Address != "" && ev.Reason == "waits for somebody" {
			said++
		}
	}
	if said != 6 {
		t.Errorf("%d words were heard, want 6", said)
	}
}

package runtime_test

import (
	"context"
	"testing"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// shared is a resource of which two parts may manage an attribute each.
type shared struct {
	Name  string  `state:"name,key" doc:"Name."`
	One   *string `state:"one" doc:"An attribute."`
	Other *string `state:"other" doc:"Another one."`
}

// What a part does not manage may change while it acts; what it does manage may not.
func TestReadBackOfWhatIsManaged(t *testing.T) {
	for _, c := range []struct{ site, outcome string }{
		{`shared "x" { one = "new" }`, "changed update"},
		{`shared "x" {
		  one   = "new"
		  other = "new"
		}`, "failed update"},
	} {
		one, other := "old", "old"
		module := states.Define(states.Type[shared]{
			Name: "shared", Doc: "A test.", NoAbsent: "It is a test.",
			Read: func(context.Context, host.Host, shared) (*shared, error) {
				return &shared{Name: "x", One: new(one), Other: new(other)}, nil
			},
			Write: func(_ context.Context, _ host.Host, _ *shared, want shared) error {
				one, other = *want.One, "somebody else's"
				return nil
			},
		})
		registry := states.NewRegistry(module)
		run := compile(t, registry, c.site).Run
		carry(t, runtime.Apply, run, runtime.Options{Host: machine(), Registry: registry}).want(t, map[string]string{"shared.x": c.outcome})
	}
}

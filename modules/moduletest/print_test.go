package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/print"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states/statestest"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: print.Module,
		Host:   func(t *testing.T) host.Host { return fake.Host(t) }, Hostile: map[string]any{"message": "a"},
		Cases: []statestest.Case{{
			Name: "message", Values: map[string]any{"message": "hello"},
			Check: func(t *testing.T, _ host.Host, out map[string]any) {
				if out["message"] != "hello" {
					t.Errorf("observed: %v", out)
				}
			},
		}, {
			Name: "nothing to say", Values: map[string]any{}, Wrong: "required",
		}},
	})
}

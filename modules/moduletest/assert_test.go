package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/assert"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states/statestest"
)

func TestAssert(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: assert.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) },
		Hostile: map[string]any{"that": true, "message": "x"},
		Cases: []statestest.Case{
			{Name: "holds", Values: map[string]any{"that": true, "message": "never said"}},
			{Name: "does not hold", Values: map[string]any{"that": false, "message": "too little memory"}, Fails: "too little memory"},
			{Name: "without a message", Values: map[string]any{"that": false}, Fails: "its condition does not hold"},
			{Name: "no condition", Values: map[string]any{"message": "x"}, Wrong: "required"},
			{Name: "text", Values: map[string]any{"that": "perhaps"}, Wrong: "true or false"},
		},
	})
}

package states_test

import (
	"slices"
	"testing"

	"github.com/tenetcm/tenet/states"
)

func TestComponentOf(t *testing.T) {
	for address, want := range map[string]string{
		`component.web["a"].state.x`: "web", "component.db.file.x": "db", "component.web": "web", "file.x": "", "componentry.x": "", "": "",
	} {
		if got := states.ComponentOf(address); got != want {
			t.Errorf("%s is in %q, want %q", address, got, want)
		}
	}
	run := &states.StateRun{Invocations: []states.Invocation{{Address: "component.web.file.x"}, {Address: "file.y"}, {Address: "component.web.file.z"}}}
	if got := run.Components(); !slices.Equal(got, []string{"", "web"}) {
		t.Errorf("the components are %q", got)
	}
	if got := (&states.StateRun{}).Components(); got == nil || len(got) != 0 {
		t.Errorf("nothing has the components %q", got)
	}
}

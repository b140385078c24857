package deploy

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/rollout"
)

// A host for which the site is being evaluated is not out for people: there is nothing that they could do.
func TestSummary(t *testing.T) {
	for code, want := range map[Code]rollout.State{CodeEvaluation: rollout.Pending, CodePlanning: rollout.Pending, CodeAway: rollout.Out, CodePinned: rollout.Out} {
		h := &Host{State: rollout.Out, Why: Reason{Code: code}}
		if got := h.Summary(); got != want {
			t.Errorf("for %s it is %s, not %s", code, got, want)
		}
	}
	if h := (&Host{State: rollout.Failed, Why: Reason{Code: CodePlanning}}); h.Summary() != rollout.Failed {
		t.Errorf("what has failed is %s", h.Summary())
	}
}

package rows

import (
	"testing"

	"github.com/tenetcm/tenet/states"
)

// What has changed bears the sign of what was done, what has failed its own, and nothing of a text is taken for a gap.
func TestOfEvent(t *testing.T) {
	for _, c := range []struct {
		outcome states.Outcome
		action  states.Action
		sign    string
	}{
		{states.Changed, states.Create, "+"}, {states.Changed, states.Update, "~"}, {states.Changed, states.Remove, "−"}, {states.Changed, states.Execute, "▸"}, {states.Changed, "", "~"},
		{states.Failed, states.Create, "✗"}, {states.Blocked, "", "✗"}, {states.Unknown, states.Execute, "?"}, {states.Unchanged, states.NoChange, "·"}, {"", states.Create, "+"},
	} {
		if r := OfEvent(&states.Event{Address: "a", Outcome: c.outcome, Action: c.action}); r.Mark != c.sign {
			t.Errorf("%s by %s has the sign %s, wanted %s", c.outcome, c.action, r.Mark, c.sign)
		}
	}
	r := OfEvent(&states.Event{Address: "a", Outcome: states.Failed, Output: "x ⟦0·7⟧ y\x1b[31m", Error: &states.Failure{Message: "⟦0·1", Hint: "h"}})
	if len(r.Output) != 1 || r.Output[0].Text != "x ⟦0·7⟧ y^[[31m" || len(r.Problem) != 1 || r.Problem[0].Text != "⟦0·1" {
		t.Errorf("the texts are %q and %q", r.Output, r.Problem)
	}
}

// An invocation is marked by the gravest of its parts, in whatever order they end.
func TestOfInvocation(t *testing.T) {
	m := Mark{}
	for _, o := range []states.Outcome{states.Unchanged, states.Changed, states.Failed, states.Blocked, states.Changed} {
		m = OfInvocation(m, &states.Event{Outcome: o})
	}
	if m.Label != "failed" || m.Class != "failed" || !m.Acts {
		t.Errorf("it is %+v", m)
	}
}

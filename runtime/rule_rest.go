package runtime

import (
	"strings"

	"github.com/tenetcm/tenet/rules"
)

// noteRest tells of what is wanted otherwise than in the run before, and belongs to no rule: nothing is done about it. The rest is remembered under the name of the data.
func (e *engine) noteRest(s *step, f *finding) {
	last, isKnown := f.last[f.name]
	diff := rules.Differences(last.stored.Node, f.rest)
	if isKnown && len(diff) > 0 {
		e.recorder.noteOnce(s, "has changed, and belongs to no rule: "+strings.Join(fewOf(differencesOf(diff)), ", "))
	}
	if !e.planning() && (!isKnown || !sameOpenly(last.stored.Node, f.rest)) {
		e.recordAs(f.name, rules.Stored{ID: f.name, Node: f.rest})
	}
}

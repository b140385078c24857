package runtime

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// judge decides the conditions of an act that has ended well: whether it has
// changed something, and whether it has failed after all. ok is false when the
// step has its outcome.
func (s *step) judge(changed bool, out any) (verdict, ok bool) {
	own, given := s.ownResult(out)
	if !given {
		return changed, true // it did not run
	}
	changes, known, err := s.engine.expressions.condition(s.part, states.ChangedIf, changed, own)
	if err == nil && known {
		changed = changes
	}
	failed, knownToo, errToo := s.engine.expressions.condition(s.part, states.FailedIf, false, own)
	if err = journal.Join(err, errToo); err == nil && failed && knownToo {
		err = &placedError{s.engine.expressions.source(s.part, states.FailedIf),
			&diag.HintError{Code: "failed_if", Message: "its failed_if holds", Hint: "look at what it printed: tenet logs"}}
	}
	switch {
	case err != nil:
		s.hasPartialChange = s.hasPartialChange || changed
		s.fail(err)
		return changed, false
	case !known || !knownToo: // a plan, of a command that only reads
		s.endUnforeseen(nil)
		s.addDoubt("its conditions are known only after apply")
		return changed, false
	}
	return changed, true
}

// ownResult is what an act has observed, as result in its conditions.
func (d declaration) ownResult(out any) (v cty.Value, given bool) {
	if d.part.Results[states.ChangedIf] == nil && d.part.Results[states.FailedIf] == nil || out == nil {
		return cty.NilVal, false
	}
	encoded, values := d.module.Encode(out), map[string]cty.Value{}
	for _, a := range d.module.Attributes {
		if !a.Out {
			continue
		}
		given = given || encoded[a.Name] != nil
		v, err := expr.Result(a.Kind, encoded[a.Name])
		if err != nil {
			v = cty.NullVal(expr.ResultType(a.Kind)) // such as text that is none
		}
		if d.hides(a.Name) {
			v = v.Mark(expr.Sensitive)
		}
		values[a.Name] = v
	}
	return cty.ObjectVal(values), given
}

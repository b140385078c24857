package runtime

import (
	"errors"
	"slices"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/states"
)

// certainty is how far a plan can know that. The zero value is certain.
type certainty struct {
	doubt           string          // why the row is not certain
	cause           string          // the part for which that is so, in the end; empty: the row has its own reason
	isAssured       bool            // it will be as it is wanted in any case: open is whether that changes something
	isDoubtGeneral  bool            // since an act that may touch anything may come before it, and for no other reason
	isUnforeseeable bool            // nobody knows what the act does
	isUnanswered    bool            // nor whether it comes to that: it asks first, and nobody knows the answer
	found           *states.Effects // what the act was found to touch, in place of what its module says
	lastReason      string          // why it is not certain, if nothing before it is found to be the cause
	mayFail         bool            // as things are it would fail, or it may be denied to who applies it
}

const (
	dependsOnEarlier = "it depends on what this run changes before"
	unreadable       = "it cannot be read by this user; run as root to know"
)

// addDoubt gives a reason why a plan's row is not certain, unless one is known or something
// before it is the cause.
func (s *step) addDoubt(reason string) {
	if s.lastReason == "" {
		s.lastReason = reason
	}
}

// endUnforeseen ends the part in a plan that cannot know what it does; err may give a reason.
func (s *step) endUnforeseen(err error) {
	s.outcome, s.isUnforeseeable = states.Changed, true
	if e, ok := errors.AsType[*states.EffectsError](err); ok {
		s.found = &e.Effects
	}
	if u, ok := errors.AsType[*states.UncertainError](err); ok {
		s.addDoubt(u.Reason)
	}
}

// question asks whether what the part looks at is certain.
func (s *step) question() question {
	q := question{node: s.node, part: s.part.Address, identity: s.identity(), failed: s.outcome == states.Failed}
	q.subjects = subjectsOf(s.module, s.part.Values)
	q.see(&s.trace)
	return q
}

// settleCertainty gives the rows of a plan the reason why they are not certain.
func (s *step) settleCertainty() {
	acts := s.outcome == states.Changed || s.outcome == states.Failed
	if s.outcome == states.Skipped && s.doubt != "" {
		s.addEffects()
		return
	}
	if !s.engine.planning() || !acts && s.outcome != states.Unchanged {
		s.doubt = ""
		return
	}
	q := s.question()
	by := s.engine.effects.nearestEffect(q)
	defer s.addEffects()
	if !acts {
		s.takeDoubt(asThingsAre("unchanged", s.engine.effects.effectReason(by, &q)), by, &q)
		return
	}
	if s.doubt == "" {
		s.doubt = s.rightsDoubt()
		s.mayFail = s.mayFail || s.doubt != ""
	}
	if s.doubt == "" && by != nil && s.outcome == states.Failed {
		if before := s.engine.effects.nearestBefore(q); before != nil {
			s.doubt, s.cause = s.engine.effects.effectReason(before, &q), before.root
		}
	}
	if s.outcome == states.Failed && s.doubt != "" && fault.In(s.err) == nil {
		s.assumeSuccess()
	}
	if s.doubt == "" {
		s.takeDoubt(s.engine.effects.effectReason(by, &q), by, &q)
	}
	if s.doubt == "" {
		s.doubt = s.lastReason
	}
	if part := s.riskBefore(); s.doubt == "" && part != "" {
		s.doubt, s.cause, s.mayFail = "after "+part+", "+uncertain, s.node.causeOf(part), true
	}
}

// riskBefore gives the part that may fail and would block this one; empty: there is none.
func (s *step) riskBefore() string {
	if s.node.riskBefore != "" {
		return s.node.riskBefore
	}
	for _, part := range s.node.risks {
		if !s.node.inv.Parallel || slices.Contains(s.part.Requires, part) {
			return part
		}
	}
	return ""
}

// takeDoubt makes a row uncertain by an effect, if there is one. A resource that looks at no more
// than it was wanted to be ends so, whatever is there by then.
func (s *step) takeDoubt(reason string, by *effect, q *question) {
	if by == nil {
		return
	}
	s.doubt, s.cause, s.isDoubtGeneral = reason, by.root, by.touch.Anything
	s.mayFail = s.mayFail || s.engine.effects.mayFailBy(q)
	s.isAssured = s.outcome != states.Failed && s.lastReason == "" && s.module != nil && !s.module.IsAct() && len(s.unknownUntilApply) == 0
}

// assumeSuccess makes a row of one that would fail as things are: it may go well by then, and what
// it wants is taken for granted.
func (s *step) assumeSuccess() {
	s.doubt, s.mayFail = s.doubt+s.describeFailure(s.err), true
	s.err, s.outcome, s.isUnforeseeable = nil, states.Changed, true
	if s.action == "" {
		s.action = states.Update
		if s.module != nil && s.module.IsAct() {
			s.action = states.Execute
		}
	}
}

// describeFailure says so of a part that is not certain.
func (d declaration) describeFailure(err error) string {
	if d.part.Options.Sensitive {
		return "; as things are it would fail: " + hiddenMessage
	}
	return "; as things are it would fail: " + err.Error()
}

// hiddenMessage is the message of a sensitive part that fails.
const hiddenMessage = "what it said is sensitive, and hidden"

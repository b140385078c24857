package runtime

import (
	"errors"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/states"
)

// certainty is how far a plan can know that. The zero value is certain.
type certainty struct {
	doubt           string // why the row is not certain
	isDoubtGeneral  bool   // since an act that may touch anything may come before it, and for no other reason
	isUnforeseeable bool   // nobody knows what the act does
}

const (
	dependsOnEarlier = "it depends on what this run changes before"
	unreadable       = "it cannot be read by this user; run as root to know"
)

// uncertainty gives what follows a part that is so certain inherits from it, nil for nothing
// new. In an apply all is certain.
func (c certainty) uncertainty(part string) *uncertainty {
	switch {
	case c.isUnforeseeable:
		return &uncertainty{by: part, how: unforeseeable}
	case c.doubt != "" && !c.isDoubtGeneral: // by an act that may touch anything, others are shaken themselves
		return &uncertainty{by: part, how: uncertain}
	}
	return nil
}

// addDoubt gives a reason why a plan's row is not certain, unless one is known, or is that of all
// that comes after something else.
func (s *step) addDoubt(reason string) {
	if s.doubt == "" && s.node.uncertainty == nil {
		s.doubt = reason
	}
}

// endUnforeseen ends the part in a plan that cannot know what it does; err may give a reason.
func (s *step) endUnforeseen(err error) {
	s.outcome, s.isUnforeseeable = states.Changed, true
	if u, ok := errors.AsType[*states.UncertainError](err); ok {
		s.addDoubt(u.Reason)
	}
}

// settleCertainty gives the rows of a plan the reason why they are not certain, and
// makes what follows what cannot be foreseen uncertain.
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
	q := question{node: s.node, part: s.part.Address, identity: s.identity(), trace: &s.trace}
	cause := s.engine.effects.nearestEffect(q)
	defer s.addEffects()
	if !acts {
		s.doubt, s.isDoubtGeneral = asThingsAre("unchanged", s.engine.effects.effectReason(cause, &q)), cause != nil && cause.anything
		return
	}
	if s.doubt == "" && s.node.uncertainty != nil {
		s.doubt = s.node.uncertainty.reason()
	}
	if s.doubt == "" {
		s.doubt = s.rightsDoubt()
	}
	if s.outcome == states.Failed && s.doubt != "" && fault.In(s.err) == nil {
		// It may go well by then; what it wants is taken for granted.
		s.doubt += s.describeFailure(s.err)
		s.err, s.outcome, s.isUnforeseeable = nil, states.Changed, true
		if s.action == "" {
			s.action = states.Update
			if s.module != nil && s.module.IsAct() {
				s.action = states.Execute
			}
		}
	}
	if s.doubt == "" && cause != nil {
		s.doubt, s.isDoubtGeneral = s.engine.effects.effectReason(cause, &q), cause.anything
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

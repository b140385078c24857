package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// observation is what was found of the part's resource.
type observation struct {
	readRequest any // the wanted resource as Read is asked for it, before Fill
	have        any // the module's resource; nil: nothing is there
	isHaveKnown bool
}

// decode makes the module's resource of the part's values.
func (s *step) decode() error {
	want, err := s.module.Decode(s.part.Values, s.engine.options.Site)
	if err == nil && len(s.unknownUntilApply) == 0 {
		err = s.engine.recorder.mask.refusals(s.declaration, s.module.Check(want))
	}
	if err == nil && s.part.Ensure == states.Absent && (s.module.IsAct() || s.module.Remove == nil) {
		err = fmt.Errorf("a part of type %s cannot be absent: %s", s.part.Type, s.module.NoAbsent)
	}
	s.want = want
	return err
}

// compare reads the resource and compares. It returns whether there is something
// to do; if not, the part has ended.
func (s *step) compare(ctx context.Context) bool {
	if err := s.observe(ctx); err != nil {
		if s.engine.planning() && (errors.Is(err, host.ErrUnforeseeable) || errors.Is(err, fs.ErrPermission)) {
			return s.assumeWanted(err)
		}
		return s.fail(&readError{err})
	}
	if s.part.Ensure == states.Absent {
		s.want = nil
		if s.have == nil {
			s.outcome = states.Unchanged
			return false
		}
		s.action, s.changes = states.Remove, s.module.Diff(s.have, nil)
		return true
	}
	s.want = s.module.Fill(s.have, s.want)
	s.changes = s.module.Diff(s.have, s.want)
	switch {
	case s.have == nil:
		s.action = states.Create
		s.markDefaults()
	case len(s.changes) == 0:
		s.outcome = states.Unchanged
		return false
	default:
		s.action = states.Update
	}
	return true
}

// markDefaults marks the values that are given only when the resource is made. A change that is of no attribute, such as
// of what a tree holds, comes from the site.
func (s *step) markDefaults() {
	given := s.module.Encode(s.readRequest)
	for i := range s.changes {
		c := &s.changes[i]
		c.WhenMade = s.module.Attribute(c.Attribute) != nil && given[c.Attribute] == nil && s.part.Results[c.Attribute] == nil
	}
}

// observe completes the wanted resource and reads the one that is there.
func (s *step) observe(ctx context.Context) (err error) {
	ctx = states.WithNote(ctx, func(text string) { s.engine.recorder.noteOnce(s, text) })
	if s.module.Complete != nil && s.part.Ensure != states.Absent {
		if s.want, err = s.module.Complete(ctx, s.host, s.want); err != nil {
			return err
		}
	}
	s.readRequest = s.want
	if predicted, ok := s.engine.predicted[s.identity()]; ok {
		if predicted == (unknownContent{}) {
			return fmt.Errorf("%w: an earlier step makes it what only an apply will know", host.ErrUnforeseeable)
		}
		s.have, s.isHaveKnown = predicted, true
		return nil
	}
	s.have, err = s.module.Read(ctx, s.host, s.want)
	s.isHaveKnown = err == nil
	return err
}

// assumeWanted is a row of a plan on something that cannot be looked at now. It
// takes the wanted state for granted.
func (s *step) assumeWanted(err error) bool {
	s.action = states.Update
	if s.part.Ensure == states.Absent {
		s.action, s.want = states.Remove, nil
	}
	s.endUnforeseen(err)
	switch {
	case s.doubt != "":
	case errors.Is(err, fs.ErrPermission):
		s.doubt, s.mayFail = unreadable, true
	default:
		s.addDoubt(dependsOnEarlier)
	}
	if errors.Is(err, fs.ErrPermission) {
		return false // nobody knows how it ends; who looks at it next is refused, too, or is root
	}
	s.engine.predicted[s.identity()] = s.want
	if s.want != nil { // what it does not say nobody knows
		s.engine.predicted[s.identity()] = unknownContent{}
	}
	return false
}

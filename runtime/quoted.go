package runtime

import (
	"errors"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// errHidden is all that is said against a value with a secret.
func errHidden(attribute string) error {
	return states.InvalidAttribute(attribute, "the sensitive value is not allowed here; it and the reason are hidden", "")
}

// refusals gives what a module says against the part's values, but not against one with a
// secret, of which it may quote a piece that is not recognised.
func (s *step) refusals(err error) error {
	errs := slices.Clone(expr.JoinedErrors(err))
	hidden := false
	for i, err := range errs {
		wrong, ok := errors.AsType[*states.AttributeError](err)
		switch {
		case ok && !wrong.Open && s.holdsSecret(wrong.Attribute):
			errs[i], hidden = errHidden(wrong.Attribute), true
		case !ok && len(s.part.Sensitive) > 0:
			errs[i], hidden = errHidden(s.part.Sensitive[0]), true
		}
	}
	if !hidden {
		return err
	}
	return journal.Join(errs...)
}

// holdsSecret reports whether a secret is in an attribute of the part.
func (s *step) holdsSecret(attribute string) bool {
	text, _ := s.part.Values[attribute].(string)
	return s.hides(attribute) || s.engine.recorder.mask.text(text) != text
}

// boundTexts cuts what an event says, which may quote a whole file or all that a program
// has printed. Its secrets are hidden by then: half of one would not be recognised.
func boundTexts(ev *states.Event) {
	ev.Reason = diag.Shorten(ev.Reason)
	if f := ev.Error; f != nil {
		f.Message, f.Hint = diag.Shorten(f.Message), diag.Shorten(f.Hint)
	}
}

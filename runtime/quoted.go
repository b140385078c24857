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
func (m *masker) refusals(d declaration, err error) error {
	errs := slices.Clone(expr.JoinedErrors(err))
	hidden := false
	for i, err := range errs {
		wrong, ok := errors.AsType[*states.AttributeError](err)
		switch {
		case ok && !wrong.Open && m.holdsSecret(d, wrong.Attribute):
			errs[i], hidden = errHidden(wrong.Attribute), true
		case !ok && len(d.part.Sensitive) > 0:
			errs[i], hidden = errHidden(d.part.Sensitive[0]), true
		}
	}
	if !hidden {
		return err
	}
	return journal.Join(errs...)
}

// holdsSecret reports whether a secret is in an attribute of the part.
func (m *masker) holdsSecret(d declaration, attribute string) bool {
	text, _ := d.part.Values[attribute].(string)
	return d.hides(attribute) || m.text(text) != text
}

// boundTexts cuts what an event says, which may quote a whole file or all that a program
// has printed. Its secrets are hidden by then: half of one would not be recognised.
func boundTexts(ev *states.Event) {
	ev.Reason = diag.Shorten(ev.Reason)
	if f := ev.Error; f != nil {
		f.Message, f.Hint = diag.Shorten(f.Message), diag.Shorten(f.Hint)
	}
}

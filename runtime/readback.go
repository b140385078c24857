package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// checkReadBack tells how a resource that was read back is not as wanted.
func (s *step) checkReadBack(have any) error {
	if s.want == nil {
		if have == nil {
			return nil
		}
		return &diag.HintError{Code: "differs", Message: "it is still there after it was removed", Hint: foughtOver}
	}
	if have == nil {
		return &diag.HintError{Code: "differs", Message: "it is not there after it was written", Hint: foughtOver}
	}
	changes := s.module.Diff(have, s.want)
	if len(changes) == 0 {
		return nil
	}
	var names []string
	for _, c := range changes {
		if !s.isUnchangedAttribute(c.Attribute) {
			names = append(names, c.Attribute)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &diag.HintError{Code: "differs", Hint: foughtOver,
		Message: fmt.Sprintf("%s still differs after it was written", strings.Join(names, ", "))}
}

// isUnchangedAttribute reports whether an attribute of a resource that was there is left as it is:
// Fill took it from what was there, and another part may have changed it meanwhile.
func (s *step) isUnchangedAttribute(attribute string) bool {
	if s.have == nil || s.readRequest == nil || s.module.Attribute(attribute) == nil || s.part.Results[attribute] != nil {
		return false
	}
	return s.module.Encode(s.readRequest)[attribute] == nil
}

const foughtOver = "something else changes it at the same time, or the module has a bug"

package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// checkReadBack tells how a resource that was read back is not as wanted.
func (d declaration) checkReadBack(before observation, want, have any) error {
	if want == nil {
		if have == nil {
			return nil
		}
		return &diag.HintError{Code: "differs", Message: "it is still there after it was removed", Hint: foughtOver}
	}
	if have == nil {
		return &diag.HintError{Code: "differs", Message: "it is not there after it was written", Hint: foughtOver}
	}
	changes := d.module.Diff(have, want)
	if len(changes) == 0 {
		return nil
	}
	var names []string
	for _, c := range changes {
		if !d.isLeftAlone(before, c.Attribute) {
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

// isLeftAlone reports whether an attribute of a resource that was there is left as it is:
// Fill took it from what was there, and another part may have changed it meanwhile.
func (d declaration) isLeftAlone(o observation, attribute string) bool {
	if o.have == nil || o.readRequest == nil || d.module.Attribute(attribute) == nil || d.part.Results[attribute] != nil {
		return false
	}
	return d.module.Encode(o.readRequest)[attribute] == nil
}

const foughtOver = "something else changes it at the same time, or the module has a bug"

package runtime

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// creationOf gives the values by which a part that is about to be created is found
// again once it is no longer declared; nil if it is not the site's to remove.
func (r *recorder) creationOf(s *step) map[string]any {
	if s.engine.managed() == nil || s.action != states.Create && !s.isFirstManifest || s.module.IsAct() {
		return nil
	}
	values := s.module.Remembered(s.part.Values)
	for name, v := range values {
		if !slices.Contains(s.part.Sensitive, name) && sameText(r.mask.value(v), v) {
			continue
		}
		if s.module.Attribute(name).Key {
			return nil
		}
		delete(values, name)
	}
	return values
}

// sameText reports whether masking has left a value as it was.
func sameText(masked, v any) bool { return fmt.Sprint(masked) == fmt.Sprint(v) }

// requirements are the addresses, without waves, of what a part required.
func requirements(s *step) []string {
	var out []string
	for _, r := range slices.Concat(s.node.inv.Requires, s.part.Requires) {
		out = append(out, states.WithoutWave(r))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

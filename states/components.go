package states

import (
	"slices"
	"strings"
)

// ComponentOf is the component at top level in which something is: component.web["a"].state.x is in web. It is empty for what is in none.
func ComponentOf(address string) string {
	rest, ok := strings.CutPrefix(address, "component.")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, ".["); i >= 0 {
		return rest[:i]
	}
	return rest
}

// Components are those at top level of a run, by name, and an empty name for what is in none. Of nothing there are none.
func (r *StateRun) Components() []string {
	names := []string{}
	for i := range r.Invocations {
		names = append(names, ComponentOf(r.Invocations[i].Address))
	}
	for i := range r.Handlers {
		names = append(names, ComponentOf(r.Handlers[i].Address))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

package program

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
)

// reportConflicts reports groups of equal priority that give a variable of the host
// different values, where neither is within the other.
func (e hostReader) reportConflicts() {
	if e.host == nil {
		return
	}
	type source struct {
		group *levelVars
		item  item
	}
	seen := map[string][]source{}
	for i := range e.host.levels {
		l := &e.host.levels[i]
		if l.group == nil {
			continue
		}
		for _, x := range l.items {
			v, _ := e.site.variables.Of(x.name, e.hostRoles())
			for _, s := range seen[x.name] {
				a, b := s.group.group, l.group
				if a.priority != b.priority || a == b || a.around[b] || b.around[a] || v == nil || !isConflict(s.item.value, x.value, v.Merge) {
					continue
				}
				e.list.Add(diag.Diagnostic{
					Summary: fmt.Sprintf("the groups %s and %s give var.%s different values, and have the same priority", s.group.name, l.name, x.name),
					Hint:    "give one of the groups a higher priority", Range: rangeOf(x.valueRange),
					Related: []diag.Related{{Message: "the other value stands here", Range: rangeOf(s.item.valueRange)}}})
			}
			seen[x.name] = append(seen[x.name], source{l, x})
		}
	}
}

// isConflict reports whether two values of one priority contradict each other; those
// that are merged do only where they have a key in common.
func isConflict(a, b cty.Value, merge bool) bool {
	if !a.IsWhollyKnown() || !b.IsWhollyKnown() || a.RawEquals(b) {
		return false
	}
	isMap := func(v cty.Value) bool {
		return !v.IsNull() && !v.IsMarked() && (v.Type().IsObjectType() || v.Type().IsMapType())
	}
	if !merge || !isMap(a) || !isMap(b) {
		return true
	}
	others := b.AsValueMap()
	for key, value := range a.AsValueMap() {
		if other, both := others[key]; both && !other.RawEquals(value) {
			return true
		}
	}
	return false
}

// giveLevels gives the variables what the host's roles and groups and the host
// itself say.
func (e *variableValues) giveLevels() {
	if e.host == nil || e.prefix != "" {
		return
	}
	for _, l := range e.host.levels {
		for _, x := range l.items {
			if !e.site.variables.Has(x.name) && !e.isWanted(l, x) {
				continue
			}
			e.assign(x.name, l.level, x.value, rangeOf(x.valueRange))
		}
	}
}

// isWanted reports whether a value may be for a variable that a script declares later. An
// inventory may hold more than the site has variables for.
func (e *variableValues) isWanted(l levelVars, x item) bool {
	if l.external {
		return e.scripts != nil
	}
	return e.reportUndeclared(x.name, x.nameRange)
}

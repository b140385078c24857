package rules

import (
	"fmt"
	"slices"
	"strconv"
)

// CheckAnswer reports whether a document that somebody has asked for can have nodes of the selector: that something else stands where they would be,
// such as a text that says why there is no answer, does not mean that there are none. What is null, missing or empty does. The
// elements that a step selects may be of any type. Its error is a *NodeError.
func (s Selector) CheckAnswer(document any) error {
	type place struct {
		value     any
		at        []string
		isElement bool
	}
	places := []place{{value: document}}
	for _, step := range s {
		var next []place
		for _, p := range places {
			fields, isObject := p.value.(map[string]any)
			if !isObject {
				if isHollow(p.value) || p.isElement {
					continue
				}
				return &NodeError{p.at, fmt.Sprintf("%s is %s, and not an object with the field %q", placeName(p.at), describe(p.value), step.Field)}
			}
			value, at := fields[step.Field], append(slices.Clone(p.at), step.Field)
			if isHollow(value) {
				continue
			}
			if !step.selects() {
				next = append(next, place{value, at, false})
				continue
			}
			switch value := value.(type) {
			case []any:
				for i, e := range value {
					next = append(next, place{e, append(slices.Clone(at), strconv.Itoa(i)), true})
				}
			case map[string]any:
				for name, e := range value {
					next = append(next, place{e, append(slices.Clone(at), name), true})
				}
			default:
				return &NodeError{at, fmt.Sprintf("%s is %s, and not a list or a map", placeName(at), describe(value))}
			}
		}
		places = next
	}
	return nil
}

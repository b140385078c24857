package rules

import "slices"

// HideBesideKeys gives a document in which each text, number and boolean is a secret, but for those that tell nodes apart.
func HideBesideKeys(list []Rule, document any) any {
	selectors := make([]Selector, len(list))
	for i, r := range list {
		selectors[i] = r.Selector
	}
	return hideFields(document, selectors, nil)
}

// hideFields hides what is in a value, which the first steps of selectors select from. The fields that are named are kept.
func hideFields(v any, selectors []Selector, kept []string) any {
	fields, ok := v.(map[string]any)
	if !ok {
		return hideAll(v)
	}
	out := make(map[string]any, len(fields))
	for name, e := range fields {
		var steps []Step
		var inner []Selector
		for _, s := range selectors {
			if len(s) > 0 && s[0].Field == name {
				steps, inner = append(steps, s[0]), append(inner, s[1:])
			}
		}
		switch {
		case slices.Contains(kept, name):
			out[name] = e
		case slices.ContainsFunc(steps, Step.selects):
			out[name] = hideElements(e, steps, inner)
		default:
			out[name] = hideFields(e, inner, nil)
		}
	}
	return out
}

// hideElements hides what is in the elements of a map or a list, which steps select.
func hideElements(v any, steps []Step, inner []Selector) any {
	var keys []string
	each := false
	for _, s := range steps {
		keys, each = append(keys, s.Keys...), each || s.Each
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = hideFields(e, inner, nil)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			switch e.(type) {
			case map[string]any, []any:
				e = hideFields(e, inner, keys)
			default:
				if !each { // a text or number is told apart by itself
					e = hideAll(e)
				}
			}
			out[i] = e
		}
		return out
	}
	return nil // no element could be selected in it, and it may be a secret
}

// hideAll makes secrets of all that is in a value.
func hideAll(v any) any {
	return Rewrite(v, func(v any) (any, bool) {
		switch v.(type) {
		case nil, map[string]any, []any, Secret:
			return v, v == nil
		}
		return Secret{Value: v}, true
	})
}

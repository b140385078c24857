package eval

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Secrets lists the texts and numbers within values that are sensitive, sorted,
// each once: what must not turn up in anything that is shown.
func Secrets(values map[string]cty.Value) []string {
	found := map[string]bool{}
	for _, v := range values {
		if !v.ContainsMarked() {
			continue
		}
		addSensitive(found, v)
	}
	return slices.Sorted(maps.Keys(found))
}

// addSensitive collects what is sensitive within a value.
func addSensitive(found map[string]bool, v cty.Value) {
	plain, marked := v.UnmarkDeepWithPaths()
	for _, m := range marked {
		if _, sensitive := m.Marks[Sensitive]; !sensitive {
			continue
		}
		if part, err := m.Path.Apply(plain); err == nil {
			addTexts(found, part)
		}
	}
}

// addTexts collects what is written out when a value is.
func addTexts(found map[string]bool, v cty.Value) {
	if !v.IsKnown() || v.IsNull() {
		return
	}
	switch t := v.Type(); {
	case t == cty.String || t == cty.Number:
		if text, err := convert.Convert(v, cty.String); err == nil && text.AsString() != "" {
			found[text.AsString()] = true
		}
	case v.CanIterateElements():
		for _, e := range v.Elements() {
			addTexts(found, e)
		}
	}
}

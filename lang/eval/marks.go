package eval

import "github.com/zclconf/go-cty/cty"

type mark string

// Sensitive is the cty mark of values that are never shown. Whatever is
// computed from such a value carries it too.
const Sensitive = mark("sensitive")

// Split takes the marks off a value, at every depth, and says whether any part
// of it was sensitive.
func Split(v cty.Value) (plain cty.Value, sensitive bool) {
	if !v.ContainsMarked() {
		return v, false
	}
	plain, marks := v.UnmarkDeep()
	_, sensitive = marks[Sensitive]
	return plain, sensitive
}

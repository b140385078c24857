package eval

import "github.com/zclconf/go-cty/cty"

type mark string

// Sensitive is the cty mark of values that are never shown. Whatever is
// computed from such a value carries it too.
const Sensitive = mark("sensitive")

// Withheld is the further mark of values that are not known because a secret
// that they were computed from was not opened; see Target.SecretsHidden.
const Withheld = mark("withheld")

// IsWithheld reports whether a value, or a part of it, is withheld: it is
// sensitive, and will be known where secrets are.
func IsWithheld(v cty.Value) bool {
	if !v.ContainsMarked() {
		return false
	}
	_, marks := v.UnmarkDeep()
	_, withheld := marks[Withheld]
	return withheld
}

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

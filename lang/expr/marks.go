package expr

import "github.com/zclconf/go-cty/cty"

type mark string

// Sensitive is the cty mark of values that are never shown. Whatever is
// computed from such a value carries it too.
const Sensitive = mark("sensitive")

// SecretFound is the mark of a result in whose text a run's secret was found, and of
// what is computed from it. It is hidden like what is sensitive; but since it may
// be there by chance, it may stand in guards and keys, where its text is masked.
const SecretFound = mark("found")

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

// IsSecretFound reports whether a value, or a part of it, has the mark SecretFound.
func IsSecretFound(v cty.Value) bool {
	_, found := marksOf(v)[SecretFound]
	return found
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

package expr

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tenetcm/tenet/lang/diag"
)

// addSensitive collects what is sensitive within a value.
func addSensitive(found map[string]bool, v cty.Value) {
	for _, part := range sensitiveParts(v) {
		addTexts(found, part)
	}
}

// SensitiveTexts lists the texts and numbers that are sensitive within a value, sorted.
func SensitiveTexts(v cty.Value) []string {
	if !v.ContainsMarked() {
		return nil
	}
	found := map[string]bool{}
	addSensitive(found, v)
	return slices.Sorted(maps.Keys(found))
}

// HideReason is the error, or one that says that the reason is hidden where it quotes one of
// the sensitive texts, however short they are.
func HideReason(err error, sensitive []string) error {
	if err == nil || !slices.ContainsFunc(sensitive, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return err
	}
	return errHidden()
}

// addNames collects the keys of what is sensitive within a value.
func addNames(found map[string]bool, v cty.Value) {
	for _, part := range sensitiveParts(v) {
		_ = cty.Walk(part, func(_ cty.Path, e cty.Value) (bool, error) { // the function has no errors
			if t := e.Type(); e.IsKnown() && !e.IsNull() && (t.IsMapType() || t.IsObjectType()) {
				for name := range e.AsValueMap() {
					found[name] = true
				}
			}
			return true, nil
		})
	}
}

// sensitiveParts gives the parts of a value that are marked as sensitive, without marks.
func sensitiveParts(v cty.Value) (parts []cty.Value) {
	plain, marked := v.UnmarkDeepWithPaths()
	for _, m := range marked {
		if _, sensitive := m.Marks[Sensitive]; !sensitive {
			continue
		}
		if part, err := m.Path.Apply(plain); err == nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// minHidden is the length in bytes from which a sensitive text is looked for wherever it
// stands; a shorter one may stand anywhere by chance.
const minHidden = 4

// hideTexts replaces sensitive texts in what is said about a mistake.
func hideTexts(texts []string, said string) string {
	for _, text := range texts {
		if said == "" {
			return said
		}
		said = strings.ReplaceAll(said, strconv.Quote(text), "(sensitive)")
		if len(text) >= minHidden {
			said = strings.ReplaceAll(said, text, "(sensitive)")
		}
	}
	return said
}

// longestFirst sorts texts: one of them may begin another.
func longestFirst(texts []string) []string {
	return slices.SortedFunc(slices.Values(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
}

// Hide gives diagnostics in which nothing sensitive that the Vault has seen is quoted,
// whatever message it came by. Ranges stay, and what stands there.
func (s *Vault) Hide(list diag.List) diag.List {
	texts := longestFirst(s.Texts())
	if len(texts) == 0 {
		return list
	}
	out := slices.Clone(list)
	for i := range out {
		d := &out[i]
		d.Summary, d.Detail, d.Hint = hideTexts(texts, d.Summary), hideTexts(texts, d.Detail), hideTexts(texts, d.Hint)
		d.Related = slices.Clone(d.Related)
		for k := range d.Related {
			d.Related[k].Message = hideTexts(texts, d.Related[k].Message)
		}
	}
	return out
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

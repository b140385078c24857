package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/journal"
)

// sizeOf counts the forms of a masker, and their bytes.
func sizeOf(m *masker) (forms, bytes int) {
	for form := range m.forms.all() {
		forms, bytes = forms+1, bytes+len(form)
	}
	return forms, bytes
}

// However long a secret is and whatever stands in it, the forms in which it is looked for
// are few, and not many times as long as itself.
func TestFormsOfSecretsAreBounded(t *testing.T) {
	special := `{"a": "<b c='d'>&amp;\\é$` + "`x`" + `|;(e)*%+/=#!~\" \t` + "\u009b"
	for name, secret := range map[string]string{
		"short":       special,
		"line":        strings.Repeat(special, 60),
		"long line":   strings.Repeat(special, 4_000),
		"lines":       strings.Repeat(special+"\n", 60),
		"other lines": manyLines(special, 60),
		"many lines":  manyLines(special, 4_000),
		"letters":     strings.Repeat("abcdefgh", 400),
	} {
		m := &masker{}
		m.add(secret)
		forms, bytes := sizeOf(m)
		texts := len(textsOf(secret)) // of which the last form may be too many
		if forms > maxForms+(formsPerText+1)*texts || bytes > maxFormBytes+(formBytesPerByte+10)*len(secret) {
			t.Errorf("%s: a secret of %d bytes has %d forms of %d bytes", name, len(secret), forms, bytes)
		}
		if said := m.text("is " + secret + "!"); said != "is "+journal.Masked+"!" {
			t.Errorf("%s is shown: %.80q", name, said)
		}
	}
}

func manyLines(text string, n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "%d%s\n", i, text)
	}
	return all.String()
}

// What a further secret costs does not depend on how many there are.
func TestSecretsAreAddedOneByOne(t *testing.T) {
	cost := func(n int) float64 {
		m := &masker{}
		for i := range n {
			m.add(fmt.Sprintf("secret <%d>", i))
		}
		return testing.AllocsPerRun(50, func() {
			n++
			m.add(fmt.Sprintf("secret <%d>", n))
		})
	}
	if few, many := cost(10), cost(2000); many > 2*few {
		t.Errorf("with 2000 secrets, adding one takes %.0f allocations, with 10 %.0f", many, few)
	}
}

// Of several forms that begin at one place the longest is replaced, whatever the order in
// which they were added, as strings.Replacer does with them sorted.
func TestReplaceIsThatOfReplacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(shortest int) *rapid.Generator[string] {
			return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "é"}), shortest, 12), func(s []string) string { return strings.Join(s, "") })
		}
		texts := rapid.SliceOf(text(minSecret)).Draw(t, "forms")
		var f forms
		for _, form := range texts {
			f.add(form)
		}
		slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
		var pairs []string
		for _, form := range texts {
			pairs = append(pairs, form, journal.Masked)
		}
		in := text(0).Draw(t, "in")
		if is, want := f.replace(in, journal.Masked), strings.NewReplacer(pairs...).Replace(in); is != want {
			t.Fatalf("%q becomes %q, want %q", in, is, want)
		}
	})
}

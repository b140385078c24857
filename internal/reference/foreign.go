package reference

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/foreign"
)

// ForeignWords is the page of all words of other tools that are known, with what
// is written in their place.
func ForeignWords() Page {
	p := Page{Title: "Words of other tools", Summary: "What is said where one of these stands in a state file. [From other tools](from-other-tools.md) shows how things are done here."}
	for _, kind := range []struct {
		title string
		words []foreign.Word
	}{{"Blocks", foreign.Blocks()}, {"Attributes", foreign.Attributes()}, {"Values", foreign.Values()},
		{"Functions", foreign.Functions()}, {"Types of values", foreign.Types()}, {"Commands", foreign.Commands()}} {
		t := &Table{Head: []string{"word", "of", ""}}
		for _, w := range kind.words {
			name := w.Name
			if w.Value != "" {
				name += " = " + w.Value
			}
			of := w.Of
			if w.On != "" && w.On != "part" {
				of = strings.TrimPrefix(of+", on "+w.On, ", ")
			}
			t.Rows = append(t.Rows, []string{code(name), of, w.Write})
		}
		slices.SortFunc(t.Rows, func(a, b []string) int { return slices.Compare(a, b) })
		p.add(kind.title, Block{Table: t})
	}
	return p
}

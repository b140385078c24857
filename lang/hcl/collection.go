package hcl

import (
	"bytes"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Collections finds the collections that a file writes out. What is wrong with the file Parse says.
func Collections(name string, src []byte, s *syntax.Shapes, limit int) (out []syntax.WrittenCollection) {
	if !bytes.Contains(src, []byte("collection")) {
		return nil
	}
	b, _ := Parse(name, src, s.Root, s, limit)
	if b == nil {
		return nil
	}
	for _, sub := range b.Blocks {
		if sub.Type != "collection" || len(sub.Labels) != 1 {
			continue
		}
		c := syntax.WrittenCollection{Name: sub.Labels[0]}
		c.Source = literalTexts(sub.Body.Attribute("source"), true)[0]
		c.Modules = literalTexts(sub.Body.Attribute("modules"), false)
		out = append(out, c)
	}
	return out
}

// literalTexts gives a text, or a list of them, that is written out; of one text, empty if it is none.
func literalTexts(a *syntax.Attribute, single bool) []string {
	none := []string{""}[:1]
	if !single {
		none = nil
	}
	if a == nil {
		return none
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return none
	}
	if single {
		text, err := expr.Text(v)
		if err != nil {
			return none
		}
		return []string{text}
	}
	texts, err := expr.Texts(v)
	if err != nil {
		return none
	}
	return texts
}

package hcl

import (
	"bytes"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Collections finds the collections that a file writes out; shapes are asked for only where there may be some. What is wrong with the file Parse says.
func Collections(name string, src []byte, shapes func() *syntax.Shapes, limit int) (out []syntax.WrittenCollection) {
	if !bytes.Contains(src, []byte("collection")) {
		return nil
	}
	s := shapes()
	b, _ := Parse(name, src, s.Root, s, limit)
	if b == nil {
		return nil
	}
	for _, sub := range b.Blocks {
		if sub.Type != "collection" || len(sub.Labels) != 1 {
			continue
		}
		c := syntax.WrittenCollection{Name: sub.Labels[0]}
		c.Source, _ = writtenValue(sub.Body.Attribute("source"), expr.Text)
		c.Modules, _ = writtenValue(sub.Body.Attribute("modules"), expr.Texts)
		out = append(out, c)
	}
	return out
}

// writtenValue gives what an attribute holds that is written out; an error is the decoder's to tell.
func writtenValue[T any](a *syntax.Attribute, read func(cty.Value) (T, error)) (none T, err error) {
	if a == nil {
		return none, nil
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return none, diags
	}
	return read(v)
}

package star

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/syntax"
)

// declareData is data(NAME, file = …, schema = …, ignore = […]), which gives the value.
func declareData(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("data"); err != nil {
		return nil, err
	}
	b, err := r.declare("data", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return nil, &placedError{argumentCountError("data"), c.argument(1).src}
	}
	isFile := func(name string) bool { return name == "file" || name == "schema" }
	special := map[string]func(starlark.Value, place) error{"ignore": func(v starlark.Value, at place) error {
		nameRange, _ := c.keyword("ignore")
		return r.placedList(b, "ignore", nameRange, v, at)
	}}
	if err := r.keywords(b, nil, c, fromSite(c.file, kwargs, isFile), special); err != nil {
		return nil, err
	}
	r.finishBlock()
	name := b.Labels[0]
	v, list := r.world.Data(b)
	r.list.Add(list...)
	if list.HasErrors() {
		// Code that uses the value would only seem to be wrong.
		return nil, errReported
	}
	return r.scriptValue(v, "the data "+name, "data", name)
}

// placedList adds an attribute that is a list whose elements keep their places.
func (r *run) placedList(b *syntax.Block, name string, nameRange hcl2.Range, v starlark.Value, at place) error {
	list, ok := v.(*starlark.List)
	if !ok {
		r.attribute(b, nil, name, nameRange, v, at)
		return nil
	}
	tuple := &hclsyntax.TupleConsExpr{SrcRange: at.src, OpenRange: at.src}
	for i := range list.Len() {
		where := at.element(i, list.Len())
		e, err := r.convert(list.Index(i), where)
		if err != nil {
			return innerPlace(err, name, where)
		}
		tuple.Exprs = append(tuple.Exprs, e.expression(nil, where.src))
	}
	b.Body.Attributes = append(b.Body.Attributes, &syntax.Attribute{Name: name, NameRange: nameRange, Expr: &syntax.Expression{Expression: tuple}})
	return nil
}

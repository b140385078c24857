package star

import (
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// declareVariable is variable(NAME, type = "…", default = …, …), which gives
// the variable's value.
func declareVariable(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("variable"); err != nil {
		return nil, err
	}
	b, err := r.declare("variable", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return nil, &placedError{&diag.HintError{Message: "variable() takes a name, and everything else as NAME = VALUE",
			Hint: `write variable("NAME", type = "string", default = …)`}, c.argument(1).src}
	}
	special := map[string]func(starlark.Value, place) error{
		"type": func(v starlark.Value, at place) error { return r.typeAttribute(b, c, v, at) },
		"validation": func(v starlark.Value, at place) error {
			return r.validations(b, v, at)
		},
	}
	if err := r.keywords(b, nil, c, kwargs, special); err != nil {
		return nil, err
	}
	r.finishBlock()
	name := b.Labels[0]
	v, list := r.world.Variable(b)
	r.list.Add(list...)
	if list.HasErrors() {
		// Code that uses the value would only seem to be wrong.
		return nil, errReported
	}
	return r.scriptValue(v, "the variable "+name, "var", name)
}

// finishBlock completes what cannot depend on parts.
func (r *run) finishBlock() {
	for i := range r.pending {
		if l := &r.pending[i]; l.to.Expr.Expression == nil && l.part == nil {
			l.to.Expr.Expression = l.value.expression(nil, l.src)
		}
	}
}

// typeAttribute reads a type that is written as text: "list(string)".
func (r *run) typeAttribute(b *syntax.Block, c *call, v starlark.Value, at place) error {
	text, ok := v.(starlark.String)
	if !ok {
		if v == starlark.None {
			return nil
		}
		return &diag.HintError{Message: fmt.Sprintf("a type is text, not %s", kindOf(v)), Hint: `put it in quotes: type = "list(string)"`}
	}
	nameRange, _ := c.keyword("type")
	x, err := r.expressionText(string(text), at)
	if err != nil {
		return err
	}
	b.Body.Attributes = append(b.Body.Attributes, &syntax.Attribute{Name: "type", NameRange: nameRange, Expr: &syntax.Expression{Expression: x}})
	return nil
}

// expressionText reads an expression of HCL that stands in a text.
func (r *run) expressionText(text string, at place) (hclsyntax.Expression, error) {
	if err := expr.CheckNesting(at.src.Filename, []byte(text), false, r.options.MaxNesting); err != nil {
		err.Range = expr.Range(at.src)
		return nil, &diagnosticsError{[]diagnostic{*err}}
	}
	start := at.src.Start
	start.Column++
	start.Byte++
	x, diags := hclsyntax.ParseExpression([]byte(text), at.src.Filename, start)
	if diags.HasErrors() {
		list := expr.FromHCL(diags)
		for i := range list {
			list[i].Range = expr.Range(at.src)
		}
		return nil, &diagnosticsError{list}
	}
	return x, nil
}

// validations adds the blocks "validation": conditions of HCL, as text.
func (r *run) validations(b *syntax.Block, v starlark.Value, at place) error {
	list, places := []starlark.Value{v}, []place{at}
	if l, ok := v.(*starlark.List); ok {
		list, places = nil, nil
		for i := range l.Len() {
			list, places = append(list, l.Index(i)), append(places, at.element(i, l.Len()))
		}
	}
	for i, e := range list {
		d, ok := e.(starlark.IterableMapping)
		if !ok {
			return &placedError{&diag.HintError{Message: fmt.Sprintf("a validation is a dict, not %s", kindOf(e)),
				Hint: `write validation = {"condition": "var.port > 0", "error_message": "…"}; or check the value with if, and call fail()`}, places[i].src}
		}
		sub := &syntax.Block{Type: "validation", TypeRange: places[i].src, Header: places[i].src}
		if err := r.inner(b, nil, sub, d, places[i]); err != nil {
			return err
		}
		for _, a := range sub.Body.Attributes {
			literal, ok := a.Expr.Expression.(*hclsyntax.LiteralValueExpr)
			if a.Name != "condition" || !ok {
				continue
			}
			text, err := expr.Text(literal.Val)
			if err != nil {
				return &placedError{&diag.HintError{Message: "condition: " + err.Error(), Hint: `write an expression of HCL as text: "var.port > 0"`}, literal.SrcRange}
			}
			if a.Expr.Expression, err = r.expressionText(text, place{src: hcl2.Range(literal.SrcRange)}); err != nil {
				return err
			}
		}
	}
	return nil
}

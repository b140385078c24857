package hcl

import (
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/states"
)

// objectOf makes an attribute of a block whose content is an object: retry.
func objectOf(b *block) *attribute {
	object := &hclsyntax.ObjectConsExpr{SrcRange: b.body.src, OpenRange: b.header}
	for _, a := range b.body.attributes {
		key := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(a.name), SrcRange: a.nameRange}
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: a.expr.Expression})
	}
	return &attribute{name: b.typ, nameRange: b.typeRange, expr: &expression{Expression: object}}
}

func (d *decoder) siteBlock(b *block) {
	d.check(b.body, d.shapes.site, nil)
	if d.site.siteRange != nil {
		d.list.Add(diag.Diagnostic{Summary: "the site is described twice", Range: at(b.header), Hint: "join the two site blocks",
			Related: []diag.Related{{Message: "first described here", Range: at(*d.site.siteRange)}}})
		return
	}
	d.site.siteRange = &b.header
	d.literal(b.body, "name", cty.String, func(v cty.Value) { d.site.name = v.AsString() })
	d.literal(b.body, "prune", cty.Bool, func(v cty.Value) { d.site.prune = v.True() })
	if d.site.prune {
		d.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: "prune has no effect yet", Range: at(b.body.attribute("prune").nameRange),
			Detail: "What the site no longer declares stays on the host.", Hint: "leave it out, and declare what must go with ensure = \"absent\""})
	}
	d.literal(b.body, "requires_version", cty.String, func(v cty.Value) { d.site.requires = v.AsString() })
	if a := b.body.attribute("requires_version"); a != nil {
		d.site.requiresRange = a.expr.Range()
	}
}

// literal gives the value of an attribute that must not depend on anything;
// set is not called when it is not given, null or wrong.
func (d *decoder) literal(b *body, name string, want cty.Type, set func(cty.Value)) {
	a := b.attribute(name)
	if a == nil {
		return
	}
	v, diags := a.expr.Value(nil)
	switch {
	case diags.HasErrors():
		d.errorAt(a.expr.Range(), "write the value itself, without references and functions", "%s cannot be computed", name)
	case v.IsNull():
	case v.Type() != want && want == cty.Bool:
		d.errorAt(a.expr.Range(), "write true or false", "%s must be true or false, not %s", name, eval.Kind(v))
	case v.Type() != want:
		d.errorAt(a.expr.Range(), fmt.Sprintf("write a %s", want.FriendlyName()),
			"%s must be a %s, not %s", name, want.FriendlyName(), eval.Kind(v))
	default:
		set(v)
	}
}

func (d *decoder) variable(b *block) {
	wrong := d.check(b.body, d.shapes.variable, nil)
	if !d.identifier(b) {
		return
	}
	v := &variable{Variable: &eval.Variable{Name: b.labels[0], Range: at(b.header)}, given: b.body.attribute("default"), doubtful: wrong}
	v.Type, v.Defaults = d.typeOf(b.body)
	d.literal(b.body, "description", cty.String, func(x cty.Value) { v.Description = x.AsString() })
	d.literal(b.body, "sensitive", cty.Bool, func(x cty.Value) { v.Sensitive = x.True() })
	d.literal(b.body, "nullable", cty.Bool, func(x cty.Value) { v.NoNull = x.False() })
	d.literal(b.body, "merge", cty.Bool, func(x cty.Value) { v.Merge = x.True() })
	for _, sub := range b.body.blocks {
		if sub.typ != "validation" {
			continue
		}
		d.check(sub.body, d.shapes.validation, nil)
		condition, message := sub.body.attribute("condition"), sub.body.attribute("error_message")
		if condition == nil || message == nil {
			d.errorAt(sub.header, "a validation has a condition and an error_message", "the validation is not complete")
			continue
		}
		v.validations = append(v.validations, validation{condition.expr, message.expr, sub.header})
	}
	if first := d.site.variables[v.Name]; first != nil {
		d.duplicate("var."+v.Name, b.header, first.Range)
		return
	}
	d.site.variables[v.Name] = v
}

// typeOf reads the attribute type; any where it is not given or wrong.
func (d *decoder) typeOf(b *body) (cty.Type, *typeexpr.Defaults) {
	a := b.attribute("type")
	if a == nil {
		return cty.DynamicPseudoType, nil
	}
	t, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.expr.Expression)
	if diags.HasErrors() {
		list := eval.FromHCL(diags)
		for i := range list {
			list[i].Hint = "write string, number, bool, any, list(T), set(T), map(T), tuple([T…]) or object({ NAME = T, NAME = optional(T, DEFAULT) })"
		}
		d.list.Add(list...)
		return cty.DynamicPseudoType, nil
	}
	return t, defaults
}

func (d *decoder) locals(b *block) {
	for _, sub := range b.body.blocks {
		d.errorAt(sub.header, fmt.Sprintf("write %s = { … }", sub.typ), "locals are attributes, not blocks")
	}
	for _, a := range b.body.attributes {
		if first := d.site.locals[a.name]; first != nil {
			d.duplicate("local."+a.name, a.nameRange, at(first.src))
			continue
		}
		if !states.IsIdentifier(a.name) {
			d.errorAt(a.nameRange, "use letters, digits, _ and -, and begin with a letter", "%q is no name for a local", a.name)
			continue
		}
		d.site.locals[a.name] = &local{name: a.name, src: a.nameRange, expr: a.expr}
	}
}

func (d *decoder) param(out *declaration, b *block) {
	d.check(b.body, d.shapes.param, nil)
	if !d.identifier(b) {
		return
	}
	p := &param{name: b.labels[0], src: b.header, given: b.body.attribute("default")}
	p.convert = &eval.Variable{Name: p.name, Range: at(b.header)}
	p.convert.Type, p.convert.Defaults = d.typeOf(b.body)
	d.literal(b.body, "description", cty.String, func(cty.Value) {})
	if first := out.param(p.name); first != nil {
		d.duplicate("param."+p.name, b.header, at(first.src))
		return
	}
	out.params = append(out.params, p)
}

func (d *declaration) param(name string) *param {
	for _, p := range d.params {
		if p.name == name {
			return p
		}
	}
	return nil
}

// src of an attribute's value.
func (a *attribute) src() hcl2.Range { return a.expr.Range() }

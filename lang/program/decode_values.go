package program

import (
	"cmp"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// objectOf makes an attribute of a block whose content is an object: retry, confirm.
func objectOf(b *syntax.Block) *syntax.Attribute {
	object := &hclsyntax.ObjectConsExpr{SrcRange: b.Body.Src, OpenRange: b.Header}
	for _, a := range b.Body.Attributes {
		key := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(a.Name), SrcRange: a.NameRange}
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: a.Expr.Expression})
	}
	return &syntax.Attribute{Name: b.Type, NameRange: b.TypeRange, Expr: &syntax.Expression{Expression: object}}
}

func (d *decoder) siteBlock(b *syntax.Block) {
	d.check(b.Body, d.shapes.Site, nil)
	if d.site.siteRange != nil {
		d.list.Add(diag.Diagnostic{Summary: "the site is described twice", Range: rangeOf(b.Header), Hint: "join the two site blocks",
			Related: []diag.Related{{Message: "first described here", Range: rangeOf(*d.site.siteRange)}}})
		return
	}
	d.site.siteRange = &b.Header
	d.literal(b.Body, "name", cty.String, func(v cty.Value) { d.site.name = v.AsString() })
	d.literal(b.Body, "prune", cty.Bool, func(v cty.Value) { d.site.prune = v.True() })
	if d.site.prune {
		d.site.pruneRange = b.Body.Attribute("prune").NameRange
	}
	if d.site.prune && d.site.name == "" {
		d.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: "prune has no effect in a site without a name", Range: rangeOf(d.site.pruneRange),
			Detail: "What a site has created is known by its name.", Hint: "add name = \"…\""})
	}
	d.siteReconcile(b)
	d.siteSigners(b)
	d.literal(b.Body, "requires_version", cty.String, func(v cty.Value) { d.site.requires = v.AsString() })
	if a := b.Body.Attribute("requires_version"); a != nil {
		d.site.requiresRange = a.Expr.Range()
	}
}

func (d *decoder) siteSigners(b *syntax.Block) {
	d.literal(b.Body, "signers", cty.String, func(v cty.Value) {
		at := b.Body.Attribute("signers").Range()
		name := strings.TrimPrefix(v.AsString(), "./")
		if !fs.ValidPath(name) || name == "." {
			d.errorAt(at, `write signers = "signers", with the path of a file from the directory of the site`, "%q is no file of the site", v.AsString())
			return
		}
		d.site.signers, d.site.signersRange = name, at
	})
}

// literal gives the value of an attribute that must not depend on anything;
// set is not called when it is not given, null or wrong.
func (d *decoder) literal(b *syntax.Body, name string, want cty.Type, set func(cty.Value)) {
	a := b.Attribute(name)
	if a == nil {
		return
	}
	v, diags := a.Expr.Value(nil)
	switch {
	case diags.HasErrors():
		d.errorAt(a.Expr.Range(), "write the value itself, without references and functions", "%s cannot be computed", name)
	case v.IsNull():
	case v.Type() != want && want == cty.Bool:
		d.errorAt(a.Expr.Range(), "write true or false", "%s must be true or false, not %s", name, expr.Kind(v))
	case v.Type() != want:
		d.errorAt(a.Expr.Range(), fmt.Sprintf("write a %s", want.FriendlyName()),
			"%s must be a %s, not %s", name, want.FriendlyName(), expr.Kind(v))
	default:
		set(v)
	}
}

func (d *decoder) variable(b *syntax.Block) {
	wrong := d.check(b.Body, d.shapes.Variable, nil)
	if !d.identifier(b) {
		return
	}
	v := &variable{Variable: &expr.Variable{Name: b.Labels[0], Range: rangeOf(b.Header)}, role: d.role, attr: b.Body.Attribute("default"), typ: b.Body.Attribute("type")}
	before := len(d.list)
	v.Type, v.Defaults = d.typeOf(b.Body)
	v.doubtful = wrong || len(d.list) > before
	d.literal(b.Body, "description", cty.String, func(x cty.Value) { v.Description = x.AsString() })
	d.literal(b.Body, "sensitive", cty.Bool, func(x cty.Value) { v.Sensitive = x.True() })
	d.literal(b.Body, "nullable", cty.Bool, func(x cty.Value) { v.NoNull = x.False() })
	d.literal(b.Body, "merge", cty.Bool, func(x cty.Value) { v.Merge = x.True() })
	d.literal(b.Body, "export", cty.Bool, func(x cty.Value) { v.Export = x.True() })
	if v.Export && v.Sensitive {
		d.errorAt(b.Body.Attribute("export").NameRange, "leave out one of the two; what is secret reaches each host by itself: secret(\"NAME\")",
			"the variable %q is sensitive, and cannot be exported to other hosts", v.Name)
	}
	for _, sub := range b.Body.Blocks {
		if sub.Type != "validation" {
			continue
		}
		d.check(sub.Body, d.shapes.Validation, nil)
		condition, message := sub.Body.Attribute("condition"), sub.Body.Attribute("error_message")
		if condition == nil || message == nil {
			d.errorAt(sub.Header, "a validation has a condition and an error_message", "the validation is not complete")
			continue
		}
		v.validations = append(v.validations, validation{condition.Expr, message.Expr, sub.Header})
	}
	if first, ok := d.site.variables.Add(v.Name, v); !ok {
		d.taken("var."+v.Name, b.Header, first.Range, first.role)
		return
	}
	if first := d.site.variables.First(v.Name); !sameType(v, first) {
		d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("var.%s is %s here, and %s in another role", v.Name, expr.TypeName(v.Type), expr.TypeName(first.Type)),
			Range: rangeOf(v.typeRange(b)), Hint: "give it one type everywhere, or one of them another name",
			Related: []diag.Related{{Message: "first declared here", Range: first.Range}}})
	}
}

// sameType reports whether two variables of one name have one type, as far as it is known.
func sameType(a, b *variable) bool {
	return a.doubtful || b.doubtful || a.Type.Equals(b.Type) && reflect.DeepEqual(a.Defaults, b.Defaults)
}

// typeRange is where the type of a variable stands, or its block where none is given.
func (v *variable) typeRange(b *syntax.Block) hcl2.Range {
	if v.typ != nil {
		return v.typ.Range()
	}
	return b.Header
}

// typeOf reads the attribute type; any where it is not given or wrong.
func (d *decoder) typeOf(b *syntax.Body) (cty.Type, *typeexpr.Defaults) {
	a := b.Attribute("type")
	if a == nil {
		return cty.DynamicPseudoType, nil
	}
	t, defaults, diags := expr.ParseType(a.Expr.Expression)
	if diags.HasErrors() {
		list := expr.FromHCL(diags)
		for i := range list {
			list[i].Hint = cmp.Or(typeHint(a.Expr.Expression), "write string, number, bool, any, source, list(T), set(T), map(T), tuple([T…]) or object({ NAME = T, NAME = optional(T, DEFAULT) })")
		}
		d.list.Add(list...)
		return cty.DynamicPseudoType, nil
	}
	return t, defaults
}

func (d *decoder) locals(b *syntax.Block) {
	for _, sub := range b.Body.Blocks {
		d.errorAt(sub.Header, fmt.Sprintf("write %s = { … }", sub.Type), "locals are attributes, not blocks")
	}
	for _, a := range b.Body.Attributes {
		if !states.IsIdentifier(a.Name) {
			d.errorAt(a.NameRange, "use letters, digits, _ and -, and begin with a letter", "%q is no name for a local", a.Name)
			continue
		}
		if first, ok := d.site.locals.Add(a.Name, &local{name: a.Name, role: d.role, src: a.NameRange, expr: a.Expr}); !ok {
			d.taken("local."+a.Name, a.NameRange, rangeOf(first.src), first.role)
		}
	}
}

func (d *decoder) param(out *declaration, b *syntax.Block) {
	d.check(b.Body, d.shapes.Param, nil)
	if !d.identifier(b) {
		return
	}
	p := &param{name: b.Labels[0], src: b.Header, attr: b.Body.Attribute("default")}
	p.convert = &expr.Variable{Name: p.name, Range: rangeOf(b.Header)}
	p.convert.Type, p.convert.Defaults = d.typeOf(b.Body)
	d.literal(b.Body, "description", cty.String, func(cty.Value) {})
	if first := out.param(p.name); first != nil {
		d.duplicate("param."+p.name, b.Header, rangeOf(first.src))
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

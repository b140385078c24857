package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The library for types knows only those of plain data. In what it reads and writes, an object
// with one attribute, whose name no author can write, stands for any other.
func standIn(t cty.Type) cty.Type {
	return cty.Object(map[string]cty.Type{"(" + t.FriendlyName() + ")": cty.Bool})
}

// ParseType reads a type as the language writes it, with the defaults of its optional attributes.
func ParseType(x hclsyntax.Expression) (cty.Type, *typeexpr.Defaults, hcl.Diagnostics) {
	t, defaults, diags := typeexpr.TypeConstraintWithDefaults(withStandIns(x))
	if diags.HasErrors() {
		return t, defaults, diags
	}
	return withSources(t), defaultsWithSources(defaults), diags
}

// TypeName writes a type as the language does.
func TypeName(t cty.Type) string {
	var names []string
	plain := mapType(t, func(t cty.Type) cty.Type {
		if !t.IsCapsuleType() {
			return t
		}
		in := standIn(t)
		names = append(names, typeexpr.TypeString(in), t.FriendlyName())
		return in
	})
	return strings.NewReplacer(names...).Replace(typeexpr.TypeString(plain))
}

// withStandIns gives the expression of a type in which the stand-in is written for each source.
func withStandIns(x hclsyntax.Expression) hclsyntax.Expression {
	each := func(list []hclsyntax.Expression) []hclsyntax.Expression {
		list = slices.Clone(list)
		for i := range list {
			list[i] = withStandIns(list[i])
		}
		return list
	}
	switch x := x.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if len(x.Traversal) == 1 && x.Traversal.RootName() == SourceType.FriendlyName() {
			return writeStandIn(x.SrcRange)
		}
	case *hclsyntax.FunctionCallExpr:
		call := *x
		call.Args = slices.Clone(x.Args)
		if len(call.Args) > 0 { // what follows is the default of an optional attribute
			call.Args[0] = withStandIns(call.Args[0])
		}
		return &call
	case *hclsyntax.TupleConsExpr:
		tuple := *x
		tuple.Exprs = each(x.Exprs)
		return &tuple
	case *hclsyntax.ObjectConsExpr:
		object := *x
		object.Items = slices.Clone(x.Items)
		for i := range object.Items {
			object.Items[i].ValueExpr = withStandIns(object.Items[i].ValueExpr)
		}
		return &object
	}
	return x
}

// writeStandIn writes the stand-in of sources as the expression of a type.
func writeStandIn(at hcl.Range) hclsyntax.Expression {
	name := func(text string) hclsyntax.Expression {
		return &hclsyntax.ScopeTraversalExpr{Traversal: hcl.Traversal{hcl.TraverseRoot{Name: text, SrcRange: at}}, SrcRange: at}
	}
	object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
	for attribute := range standIn(SourceType).AttributeTypes() {
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: name(attribute), ValueExpr: name("bool")})
	}
	return &hclsyntax.FunctionCallExpr{Name: "object", Args: []hclsyntax.Expression{object}, NameRange: at, OpenParenRange: at, CloseParenRange: at}
}

// withSources gives a type with sources for their stand-ins.
func withSources(t cty.Type) cty.Type {
	in := standIn(SourceType)
	return mapType(t, func(t cty.Type) cty.Type {
		if t.Equals(in) {
			return SourceType
		}
		return t
	})
}

func defaultsWithSources(d *typeexpr.Defaults) *typeexpr.Defaults {
	if d == nil {
		return nil
	}
	out := &typeexpr.Defaults{Type: withSources(d.Type), DefaultValues: maps.Clone(d.DefaultValues), Children: maps.Clone(d.Children)}
	for name, v := range out.DefaultValues {
		if t := withSources(v.Type()); !t.Equals(v.Type()) && v.IsNull() {
			out.DefaultValues[name] = cty.NullVal(t)
		}
	}
	for name, child := range out.Children {
		out.Children[name] = defaultsWithSources(child)
	}
	return out
}

// mapType gives a type in which each type, the innermost first, is what a function gives for it.
func mapType(t cty.Type, f func(cty.Type) cty.Type) cty.Type {
	switch {
	case t.IsListType():
		t = cty.List(mapType(t.ElementType(), f))
	case t.IsSetType():
		t = cty.Set(mapType(t.ElementType(), f))
	case t.IsMapType():
		t = cty.Map(mapType(t.ElementType(), f))
	case t.IsTupleType():
		elements := slices.Clone(t.TupleElementTypes())
		for i := range elements {
			elements[i] = mapType(elements[i], f)
		}
		t = cty.Tuple(elements)
	case t.IsObjectType():
		attributes := maps.Clone(t.AttributeTypes())
		for name := range attributes {
			attributes[name] = mapType(attributes[name], f)
		}
		t = cty.ObjectWithOptionalAttrs(attributes, slices.Collect(maps.Keys(t.OptionalAttributes())))
	}
	return f(t)
}

// holdsType reports whether a value of one type may hold one of another.
func holdsType(t, what cty.Type) bool {
	switch {
	case t.Equals(what):
		return true
	case t.IsCollectionType():
		return holdsType(t.ElementType(), what)
	case t.IsTupleType():
		return slices.ContainsFunc(t.TupleElementTypes(), func(t cty.Type) bool { return holdsType(t, what) })
	case t.IsObjectType():
		for _, inner := range t.AttributeTypes() {
			if holdsType(inner, what) {
				return true
			}
		}
	}
	return false
}

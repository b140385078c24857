package hcl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// jsonReader turns JSON into our tree. What is a block, and with how many
// labels, comes from the shape of the surrounding body.
type jsonReader struct {
	shapes *syntax.Shapes
	limit  int // of nesting, within strings
	list   diag.List
}

// body reads an object. Blocks that are given as properties have no order
// among each other: they are sorted by type and label, so that the order of
// properties never matters. What stands in "parts" follows, as written.
func (r *jsonReader) body(e hcl2.Expression, in *syntax.Shape) *syntax.Body {
	out := &syntax.Body{Src: e.Range()}
	pairs := hcl2ExprMap(e)
	if pairs == nil {
		r.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is an object", in.What), Range: expr.Range(e.Range()),
			Hint: "put it in braces: { … }"})
		return out
	}
	var ordered []*syntax.Block
	for _, pair := range pairs {
		name, src := keyOf(pair)
		inside, labels := r.shapes.BlockOf(in, name)
		switch {
		case name == "//": // a comment
		case name == "parts" && in.Parts:
			ordered = append(ordered, r.parts(pair.Value, in)...)
		case inside == nil || slices.Contains(in.Either, name) && hcl2ExprMap(pair.Value) == nil:
			r.attribute(out, in, name, src, pair.Value)
		default:
			found := r.blocks(pair.Value, &syntax.Block{Type: name, TypeRange: src, Header: src}, labels, inside)
			if inside == r.shapes.Part {
				out.Unordered += len(found)
			}
			out.Blocks = append(out.Blocks, found...)
		}
	}
	slices.SortStableFunc(out.Blocks, func(a, b *syntax.Block) int {
		if a.Type == "stage" && b.Type == "stage" {
			return 0 // they have an order, and stand in an array
		}
		return cmp.Or(cmp.Compare(a.Type, b.Type), slices.Compare(a.Labels, b.Labels))
	})
	out.Blocks = append(out.Blocks, ordered...)
	return out
}

func (r *jsonReader) attribute(out *syntax.Body, in *syntax.Shape, name string, src hcl2.Range, value hcl2.Expression) {
	if first := out.Attribute(name); first != nil {
		r.reportDuplicate(name, src, map[string]hcl2.Range{name: first.NameRange})
		return
	}
	x := r.expression(value, slices.Contains(in.Refs, name))
	out.Attributes = append(out.Attributes, &syntax.Attribute{Name: name, NameRange: src, Expr: &syntax.Expression{Expression: x}})
}

// reportDuplicate reports a property that was seen before.
func (r *jsonReader) reportDuplicate(name string, src hcl2.Range, seen map[string]hcl2.Range) {
	if first, ok := seen[name]; ok {
		r.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the property %q is given twice", name), Range: expr.Range(src),
			Hint:    "give each property once",
			Related: []diag.Related{{Message: "first given here", Range: expr.Range(first)}}})
	}
	seen[name] = src
}

// blocks reads one block, an array of blocks, or objects whose properties are
// labels.
func (r *jsonReader) blocks(e hcl2.Expression, head *syntax.Block, labels int, inside *syntax.Shape) []*syntax.Block {
	if list := hcl2ExprList(e); list != nil {
		var out []*syntax.Block
		for _, element := range list {
			out = append(out, r.blocks(element, head, labels, inside)...)
		}
		return out
	}
	if labels == 0 {
		b := *head
		b.Body = r.body(e, inside)
		return []*syntax.Block{&b}
	}
	pairs := hcl2ExprMap(e)
	if pairs == nil {
		r.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s needs a label", head.Type), Range: expr.Range(e.Range()),
			Hint: fmt.Sprintf(`write "%s": {"LABEL": {…}}`, head.Type)})
		return nil
	}
	if head.Type == "stage" && len(pairs) > 1 {
		r.list.Add(diag.Diagnostic{Summary: "the stages have no order, since they are properties of an object", Range: expr.Range(e.Range()),
			Hint: `put them in order: "stage": [{"NAME": {…}}, …]`})
	}
	var out []*syntax.Block
	for _, pair := range pairs {
		b := *head
		label, src := keyOf(pair)
		if label == "//" {
			continue
		}
		b.Labels = append(slices.Clone(head.Labels), label)
		b.LabelRanges = append(slices.Clone(head.LabelRanges), src)
		b.Header = src
		out = append(out, r.blocks(pair.Value, &b, labels-1, inside)...)
	}
	return out
}

// parts reads "parts": an array of objects with one type and one label each,
// since several in one object would have no order.
func (r *jsonReader) parts(e hcl2.Expression, in *syntax.Shape) []*syntax.Block {
	wrong := func(e hcl2.Expression, summary string) {
		r.list.Add(diag.Diagnostic{Summary: summary, Range: expr.Range(e.Range()), Hint: `write "parts": [{"TYPE": {"LABEL": {…}}}, …]`})
	}
	list := hcl2ExprList(e)
	if list == nil {
		wrong(e, "parts is an array")
	}
	var out []*syntax.Block
	for _, element := range list {
		pairs := dropComments(hcl2ExprMap(element))
		if len(pairs) != 1 {
			wrong(element, "an element of parts is an object with one property")
			continue
		}
		name, src := keyOf(pairs[0])
		inside, labels := r.shapes.BlockOf(in, name)
		if inside == nil {
			inside, labels = r.shapes.Part, 1 // decode reports the unknown type
		}
		value := pairs[0].Value
		if labelled := hcl2ExprMap(value); labelled != nil && labels > 0 && len(dropComments(labelled)) != 1 {
			wrong(value, "an element of parts has one label")
			continue
		}
		found := r.blocks(value, &syntax.Block{Type: name, TypeRange: src, Header: src}, labels, inside)
		if hcl2ExprList(value) != nil && len(found) != 1 {
			wrong(value, "an element of parts is one part")
			continue
		}
		out = append(out, found...)
	}
	return out
}

// dropComments leaves comments out of an object.
func dropComments(pairs []hcl2.KeyValuePair) []hcl2.KeyValuePair {
	return slices.DeleteFunc(pairs, func(pair hcl2.KeyValuePair) bool {
		name, _ := keyOf(pair)
		return name == "//"
	})
}

// expression turns a JSON value into an expression of the native syntax, so
// that one evaluation serves both. Strings are templates; in the place of a
// reference or a type they are expressions, with or without ${}.
func (r *jsonReader) expression(e hcl2.Expression, isRef bool) hclsyntax.Expression {
	src := e.Range()
	if list := hcl2ExprList(e); list != nil {
		tuple := &hclsyntax.TupleConsExpr{SrcRange: src, OpenRange: e.StartRange()}
		for _, element := range list {
			tuple.Exprs = append(tuple.Exprs, r.expression(element, isRef))
		}
		return tuple
	}
	if pairs := hcl2ExprMap(e); pairs != nil {
		object := &hclsyntax.ObjectConsExpr{SrcRange: src, OpenRange: e.StartRange()}
		seen := map[string]hcl2.Range{}
		for _, pair := range pairs {
			name, at := keyOf(pair)
			r.reportDuplicate(name, at, seen)
			key := &hclsyntax.ObjectConsKeyExpr{Wrapped: r.text(name, at, false), ForceNonLiteral: true}
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: r.expression(pair.Value, isRef)})
		}
		return object
	}
	v, diags := e.Value(nil)
	r.list.Add(expr.FromHCL(diags)...)
	if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		return r.text(v.AsString(), src, isRef)
	}
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: src}
}

// text reads a JSON string as a template, or as an expression. Positions in it
// are those of the source as far as no escape comes before.
func (r *jsonReader) text(s string, src hcl2.Range, isRef bool) hclsyntax.Expression {
	isTemplate := strings.Contains(s, "${") || strings.Contains(s, "%{")
	if !isTemplate && !isRef {
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(s), SrcRange: src}
	}
	if err := expr.CheckNesting(src.Filename, []byte(s), isTemplate, r.limit); err != nil {
		err.Range = expr.Range(src)
		r.list.Add(*err)
		return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: src}
	}
	start := src.Start
	start.Byte++
	start.Column++
	parse := hclsyntax.ParseExpression
	if isTemplate {
		parse = hclsyntax.ParseTemplate
	}
	x, diags := parse([]byte(s), src.Filename, start)
	r.list.Add(expr.FromHCL(diags)...)
	if diags.HasErrors() {
		return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: src}
	}
	return x
}

// keyOf gives a property's name and place.
func keyOf(pair hcl2.KeyValuePair) (string, hcl2.Range) {
	v, _ := pair.Key.Value(nil)
	return v.AsString(), pair.Key.Range()
}

func hcl2ExprMap(e hcl2.Expression) []hcl2.KeyValuePair {
	if m, ok := e.(interface{ ExprMap() []hcl2.KeyValuePair }); ok {
		return m.ExprMap()
	}
	return nil
}

func hcl2ExprList(e hcl2.Expression) []hcl2.Expression {
	if l, ok := e.(interface{ ExprList() []hcl2.Expression }); ok {
		return l.ExprList()
	}
	return nil
}

// parseJSON parses JSON into an expression of the HCL library.
func parseJSON(name string, src []byte) (hcl2.Expression, hcl2.Diagnostics) {
	return hcljson.ParseExpression(src, name)
}

package hcl

import (
	"cmp"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/syntax"
)

// nativeBody turns the HCL library's tree into ours.
func nativeBody(b *hclsyntax.Body) *syntax.Body {
	out := &syntax.Body{Src: b.SrcRange, Attributes: make([]*syntax.Attribute, 0, len(b.Attributes)), Blocks: make([]*syntax.Block, 0, len(b.Blocks))}
	for _, a := range b.Attributes {
		out.Attributes = append(out.Attributes, &syntax.Attribute{
			Name: a.Name, NameRange: a.NameRange, Expr: &syntax.Expression{Expression: a.Expr}})
	}
	slices.SortFunc(out.Attributes, func(a, b *syntax.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
	for _, b := range b.Blocks {
		header := b.TypeRange
		if n := len(b.LabelRanges); n > 0 {
			header = hcl2.RangeBetween(header, b.LabelRanges[n-1])
		}
		out.Blocks = append(out.Blocks, &syntax.Block{Type: b.Type, TypeRange: b.TypeRange, Header: header,
			Labels: b.Labels, LabelRanges: b.LabelRanges, Body: nativeBody(b.Body)})
	}
	return out
}

package hcl

import (
	"cmp"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// nativeBody turns the HCL library's tree into ours.
func nativeBody(b *hclsyntax.Body) *body {
	out := &body{src: b.SrcRange, attributes: make([]*attribute, 0, len(b.Attributes)), blocks: make([]*block, 0, len(b.Blocks))}
	for _, a := range b.Attributes {
		out.attributes = append(out.attributes, &attribute{
			name: a.Name, nameRange: a.NameRange, expr: &expression{Expression: a.Expr}})
	}
	slices.SortFunc(out.attributes, func(a, b *attribute) int {
		return cmp.Compare(a.nameRange.Start.Byte, b.nameRange.Start.Byte)
	})
	for _, b := range b.Blocks {
		header := b.TypeRange
		if n := len(b.LabelRanges); n > 0 {
			header = hcl2.RangeBetween(header, b.LabelRanges[n-1])
		}
		out.blocks = append(out.blocks, &block{typ: b.Type, typeRange: b.TypeRange, header: header,
			labels: b.Labels, labelRanges: b.LabelRanges, body: nativeBody(b.Body)})
	}
	return out
}

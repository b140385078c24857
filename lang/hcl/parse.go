package hcl

import (
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// IsSource reports whether a file of that name is for this front-end.
func IsSource(name string) bool {
	return strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json")
}

// Parse reads a file into a body of the shape. Brackets, operators and
// conditionals may nest as deep as limit.
func Parse(name string, src []byte, in *syntax.Shape, s *syntax.Shapes, limit int) (*syntax.Body, diag.List) {
	if err := expr.CheckUTF8(name, src); err != nil {
		return nil, diag.List{*err}
	}
	if strings.HasSuffix(name, ".json") {
		if err := expr.CheckJSONNesting(name, src, limit); err != nil {
			return nil, diag.List{*err}
		}
		e, diags := parseJSON(name, src)
		if diags.HasErrors() {
			return nil, expr.FromHCL(diags)
		}
		r := &jsonReader{shapes: s, limit: limit}
		b := r.body(e, in)
		return b, r.list
	}
	pieces, err := expr.SplitSource(name, src, pieceSize, limit)
	if err != nil {
		return nil, diag.List{*err}
	}
	if b := parsePieces(name, pieces); b != nil {
		return b, nil
	}
	file, list := parseOn(name, src)
	if file == nil || file.Body == nil {
		return nil, list
	}
	return prune(nativeBody(file.Body.(*hclsyntax.Body)), list), list
}

// dropNoise drops what the parser says about a line after the scanner has
// found a character there that it does not know.
func dropNoise(diags hcl2.Diagnostics) hcl2.Diagnostics {
	strange := map[int]bool{}
	for _, d := range diags {
		if d.Subject != nil && d.Summary == "Invalid character" {
			strange[d.Subject.Start.Line] = true
		}
	}
	return slices.DeleteFunc(diags, func(d *hcl2.Diagnostic) bool {
		return d.Subject != nil && strange[d.Subject.Start.Line] && d.Summary != "Invalid character"
	})
}

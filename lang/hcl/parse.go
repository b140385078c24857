package hcl

import (
	"bytes"
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
	if len(pieces) > 1 {
		if b := parsePieces(name, pieces); b != nil {
			return b, nil
		}
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl2.InitialPos)
	list := advise(name, src, diags)
	if file == nil || file.Body == nil {
		return nil, list
	}
	return prune(nativeBody(file.Body.(*hclsyntax.Body)), list), list
}

// pieceSize is how much is parsed at a time, in bytes.
const pieceSize = 8 << 10

// parsePieces parses a source in pieces. It gives nil when anything is wrong:
// then the whole source is parsed, for the right diagnostics.
func parsePieces(name string, pieces [][]byte) *syntax.Body {
	var all *syntax.Body
	start := hcl2.InitialPos
	seen := map[string]bool{}
	for _, piece := range pieces {
		file, diags := hclsyntax.ParseConfig(piece, name, start)
		if len(diags) > 0 {
			return nil
		}
		b := nativeBody(file.Body.(*hclsyntax.Body))
		for _, a := range b.Attributes {
			if seen[a.Name] {
				return nil
			}
			seen[a.Name] = true
		}
		if all == nil {
			all = b
		} else {
			all.Attributes = append(all.Attributes, b.Attributes...)
			all.Blocks = append(all.Blocks, b.Blocks...)
		}
		start.Line += bytes.Count(piece, []byte("\n"))
		start.Byte += len(piece)
	}
	all.Src.End = start
	return all
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

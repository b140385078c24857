package hcl

import (
	"bytes"
	"runtime"
	"sync/atomic"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/runtime/fault"
)

// pieceSize is how much is parsed at a time, in bytes.
const pieceSize = 8 << 10

// parsePieces parses a source in pieces, on all processors. It gives nil when anything is
// wrong: then the whole source is parsed, for the right diagnostics.
func parsePieces(name string, pieces [][]byte) *syntax.Body {
	starts := make([]hcl2.Pos, len(pieces)+1)
	starts[0] = hcl2.InitialPos
	for i, piece := range pieces {
		starts[i+1] = hcl2.Pos{Line: starts[i].Line + bytes.Count(piece, []byte("\n")), Column: 1, Byte: starts[i].Byte + len(piece)}
	}
	bodies := make([]*syntax.Body, len(pieces))
	var next, wrong atomic.Int64
	work := func() {
		for wrong.Load() == 0 {
			i := int(next.Add(1)) - 1
			if i >= len(pieces) {
				return
			}
			if bodies[i] = parsePiece(name, pieces[i], starts[i]); bodies[i] == nil {
				wrong.Add(1)
			}
		}
	}
	var group fault.Group
	for range min(runtime.GOMAXPROCS(0), len(pieces)) {
		group.Go(work)
	}
	group.Wait()
	if wrong.Load() > 0 {
		return nil
	}
	return join(bodies, starts[len(pieces)])
}

// parsePiece parses one piece; nil: something is wrong in it.
func parsePiece(name string, src []byte, start hcl2.Pos) *syntax.Body {
	if b := parseLines(name, src, start); b != nil {
		return b
	}
	return parseNative(name, src, start)
}

// parseNative lets the HCL library parse a part of a file; nil: something is wrong in it.
func parseNative(name string, src []byte, start hcl2.Pos) *syntax.Body {
	if start.Byte > 0 && bytes.HasPrefix(src, []byte("\ufeff")) {
		return nil // the library would take it for the begin of a file
	}
	file, diags := expr.ParseConfig(src, name, start)
	if len(diags) > 0 {
		return nil
	}
	return nativeBody(file.Body.(*hclsyntax.Body))
}

// join makes one body of the pieces of a file; nil, where an attribute is given twice.
func join(pieces []*syntax.Body, end hcl2.Pos) *syntax.Body {
	all := pieces[0]
	seen := map[string]bool{}
	for i, b := range pieces {
		for _, a := range b.Attributes {
			if seen[a.Name] {
				return nil
			}
			seen[a.Name] = true
		}
		if i > 0 {
			all.Attributes = append(all.Attributes, b.Attributes...)
			all.Blocks = append(all.Blocks, b.Blocks...)
		}
	}
	all.Src.End = end
	return all
}

// Package hcl is the front-end for the native and the JSON syntax of HCL. It
// reads files into one small tree, whichever syntax they have, finds the
// declarations in it, and evaluates them for a host with package eval.
package hcl

import (
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
)

// body is what stands between braces, in either syntax.
type body struct {
	attributes []*attribute // in order of position
	blocks     []*block     // in order of position; in JSON see jsonBody
	// unordered counts parts that JSON gives as properties of an object, which
	// has no order.
	unordered int
	src       hcl2.Range
}

// attribute is NAME = EXPRESSION.
type attribute struct {
	name      string
	nameRange hcl2.Range
	expr      *expression
}

// block is TYPE "LABEL"… { … }.
type block struct {
	typ         string
	labels      []string
	labelRanges []hcl2.Range
	typeRange   hcl2.Range
	header      hcl2.Range // from the type to the last label
	body        *body
}

// expression is an expression and what it needs from its surroundings, which
// link finds out.
type expression struct {
	hclsyntax.Expression
	needs []need
	bad   bool // link reported a mistake; it has no value
}

func (b *body) attribute(name string) *attribute {
	i := slices.IndexFunc(b.attributes, func(a *attribute) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return b.attributes[i]
}

// at gives a range of the HCL library as ours.
func at(r hcl2.Range) diag.Range { return eval.Range(r) }

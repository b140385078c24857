package hcl

import (
	"path"
	"strings"
	"unicode/utf8"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
)

// IsSource reports whether a file of that name is for this front-end.
func IsSource(name string) bool {
	return strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json")
}

// isValues reports whether a file of that name gives values to variables:
// vars.hcl and *.auto.hcl, in both syntaxes.
func isValues(name string) bool {
	base := strings.TrimSuffix(path.Base(name), ".json")
	return base == "vars.hcl" || strings.HasSuffix(base, ".auto.hcl")
}

// parse reads a file into a body of the shape.
func parse(name string, src []byte, in *shape, s *shapes, limit int) (*body, diag.List) {
	if i := invalidByte(src); i >= 0 {
		return nil, diag.List{{Severity: diag.Error, Summary: "the file is not UTF-8 text",
			Detail: "A source is UTF-8; this byte begins no character.",
			Hint:   "save the file as UTF-8; bytes of any kind go into a file of their own, named by the attribute source",
			Range:  place(name, src, i)}}
	}
	if strings.HasSuffix(name, ".json") {
		if err := eval.CheckJSONNesting(name, src, limit); err != nil {
			return nil, diag.List{*err}
		}
		e, diags := parseJSON(name, src)
		if diags.HasErrors() {
			return nil, eval.FromHCL(diags)
		}
		r := &jsonReader{shapes: s, limit: limit}
		b := r.body(e, in)
		return b, r.list
	}
	if err := eval.CheckNesting(name, src, false, limit); err != nil {
		return nil, diag.List{*err}
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl2.InitialPos)
	list := eval.FromHCL(diags)
	if file == nil || file.Body == nil {
		return nil, list
	}
	return nativeBody(file.Body.(*hclsyntax.Body)), list
}

// invalidByte is the index of the first byte that is not UTF-8, or -1.
func invalidByte(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// place is the range of one byte of a source.
func place(name string, src []byte, i int) diag.Range {
	before := string(src[:i])
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return diag.Range{File: name, Start: diag.Pos{Line: line, Column: column, Byte: i},
		End: diag.Pos{Line: line, Column: column + 1, Byte: i + 1}}
}

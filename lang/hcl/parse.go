package hcl

import (
	"path"
	"slices"
	"strings"

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
	if err := eval.CheckUTF8(name, src); err != nil {
		return nil, diag.List{*err}
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
	list := eval.FromHCL(withoutNoise(diags))
	if file == nil || file.Body == nil {
		return nil, list
	}
	return nativeBody(file.Body.(*hclsyntax.Body)), list
}

// withoutNoise drops what the parser says about a line after the scanner has
// found a character there that it does not know.
func withoutNoise(diags hcl2.Diagnostics) hcl2.Diagnostics {
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

package hcl

import (
	"path"
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
	list := eval.FromHCL(diags)
	if file == nil || file.Body == nil {
		return nil, list
	}
	return nativeBody(file.Body.(*hclsyntax.Body)), list
}

// Package hcl is the front-end for the native and the JSON syntax of HCL. It
// reads files into one tree, whichever syntax they have.
package hcl

import (
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
)

// Format rewrites a file in the canonical layout. JSON is left as it is. A file
// that does not parse is returned as it is, with the reasons.
func Format(name string, src []byte) ([]byte, diag.List) {
	if strings.HasSuffix(name, ".json") {
		return src, nil
	}
	if err := eval.CheckNesting(name, src, false, eval.DefaultMaxNesting); err != nil {
		return src, diag.List{*err}
	}
	if _, diags := hclsyntax.ParseConfig(src, name, hcl2.InitialPos); diags.HasErrors() {
		return src, advise(name, src, diags)
	}
	return hclwrite.Format(src), nil
}

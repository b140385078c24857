// Package hcl is the front-end for the native and the JSON syntax of HCL. It
// reads files into one tree, whichever syntax they have.
package hcl

import (
	"bytes"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// Format rewrites a file in the canonical layout. JSON is left as it is. A file
// that does not parse is returned as it is, with the reasons.
func Format(name string, src []byte) ([]byte, diag.List) {
	if strings.HasSuffix(name, ".json") {
		return src, nil
	}
	if err := expr.CheckNesting(name, src, false, expr.DefaultMaxNesting); err != nil {
		return src, diag.List{*err}
	}
	if _, diags := expr.ParseConfig(src, name, hcl2.InitialPos); diags.HasErrors() {
		list, _ := advise(name, src, diags)
		return src, list
	}
	out := src
	for range 4 { // one pass may leave what a second one would change
		next := expr.LayOut(out, hclwrite.Format)
		if bytes.Equal(next, out) {
			break
		}
		out = next
	}
	if _, diags := expr.ParseConfig(out, name, hcl2.InitialPos); diags.HasErrors() {
		return src, diag.List{{Severity: diag.Error, Summary: "the file cannot be laid out", Range: diag.Range{File: name},
			Hint: "leave its layout to yourself, or split it to find what the formatter does not know"}}
	}
	return out, nil
}

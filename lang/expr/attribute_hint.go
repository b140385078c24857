package expr

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
)

// nearAttribute suggests an attribute in place of one that an object does not have, or lists all;
// "": there are none, or too many, or the object may not be shown.
func nearAttribute(d *hcl.Diagnostic) string {
	var of cty.Value
	var steps hcl.Traversal
	switch x := d.Expression.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		v, diags := x.Traversal[:1].TraverseAbs(d.EvalContext)
		if diags.HasErrors() {
			return ""
		}
		of, steps = v, x.Traversal[1:]
	case *hclsyntax.RelativeTraversalExpr:
		v, diags := x.Source.Value(d.EvalContext)
		if diags.HasErrors() {
			return ""
		}
		of, steps = v, x.Traversal
	default:
		return ""
	}
	for _, step := range steps {
		next, diags := hcl.Traversal{step}.TraverseRel(of)
		if !diags.HasErrors() {
			of = next
			continue
		}
		name, ok := step.(hcl.TraverseAttr)
		if !ok || of.ContainsMarked() || !of.Type().IsObjectType() {
			return ""
		}
		names := slices.Sorted(maps.Keys(of.Type().AttributeTypes()))
		if isHostType(of.Type()) {
			names = slices.Concat(names, HostAttributes())
		}
		return cmp.Or(diag.DidYouMean(name.Name, names), diag.Choices(names))
	}
	return ""
}

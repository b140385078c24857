package star

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// declareRule is rule(NAME, data = ref("data.NAME"), select = …, create = …, **options).
func declareRule(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("rule"); err != nil {
		return nil, err
	}
	b, err := r.declare("rule", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return nil, &placedError{argumentCountError("rule"), c.argument(1).src}
	}
	special := map[string]func(starlark.Value, place) error{"data": func(v starlark.Value, at place) error {
		ref, ok := v.(*reference)
		if !ok || len(ref.steps) != 2 || ref.steps[0].key != "data" {
			return &diag.HintError{Message: "the data of a rule is named, and not given", Hint: `write data = ref("data.NAME")`}
		}
		nameRange, _ := c.keyword("data")
		named := &hclsyntax.ScopeTraversalExpr{SrcRange: at.src, Traversal: hcl2.Traversal{
			hcl2.TraverseRoot{Name: "data", SrcRange: at.src}, hcl2.TraverseAttr{Name: ref.steps[1].key, SrcRange: at.src}}}
		b.Body.Attributes = append(b.Body.Attributes, &syntax.Attribute{Name: "data", NameRange: nameRange, Expr: &syntax.Expression{Expression: named}})
		return nil
	}}
	if err := r.keywords(b, nil, c, kwargs, special); err != nil {
		return nil, err
	}
	r.add(b)
	return r.reference(b), nil
}

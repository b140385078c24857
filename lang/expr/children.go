package expr

import "github.com/hashicorp/hcl/v2/hclsyntax"

// replaceChildren replaces the expressions of which one consists.
func replaceChildren(x hclsyntax.Expression, with func(hclsyntax.Expression) hclsyntax.Expression) {
	replace := func(to *hclsyntax.Expression) {
		if *to != nil {
			*to = with(*to)
		}
	}
	all := func(list []hclsyntax.Expression) {
		for i := range list {
			replace(&list[i])
		}
	}
	switch x := x.(type) {
	case *hclsyntax.ParenthesesExpr:
		replace(&x.Expression)
	case *spelled:
		replace(&x.Expression)
	case *listArgument:
		replace(&x.Expression)
	case *hclsyntax.TemplateWrapExpr:
		replace(&x.Wrapped)
	case *hclsyntax.TemplateExpr:
		all(x.Parts)
	case *hclsyntax.TemplateJoinExpr:
		replace(&x.Tuple)
	case *hclsyntax.ObjectConsKeyExpr:
		replace(&x.Wrapped)
	case *hclsyntax.FunctionCallExpr:
		all(x.Args)
	case *hclsyntax.ConditionalExpr:
		replace(&x.Condition)
		replace(&x.TrueResult)
		replace(&x.FalseResult)
	case *hclsyntax.RelativeTraversalExpr:
		replace(&x.Source)
	case *hclsyntax.IndexExpr:
		replace(&x.Collection)
		replace(&x.Key)
	case *hclsyntax.TupleConsExpr:
		all(x.Exprs)
	case *hclsyntax.ObjectConsExpr:
		for i := range x.Items {
			replace(&x.Items[i].KeyExpr)
			replace(&x.Items[i].ValueExpr)
		}
	case *hclsyntax.ForExpr:
		replace(&x.CollExpr)
		replace(&x.KeyExpr)
		replace(&x.ValExpr)
		replace(&x.CondExpr)
	case *hclsyntax.SplatExpr:
		replace(&x.Source)
		replace(&x.Each)
	case *hclsyntax.BinaryOpExpr:
		replace(&x.LHS)
		replace(&x.RHS)
	case *hclsyntax.UnaryOpExpr:
		replace(&x.Val)
	}
}

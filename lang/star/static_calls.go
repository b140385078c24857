package star

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Calls gives the calls of a word as they are written in all files.
func (s *Scripts) Calls(word string) []*syntax.Block {
	var out []*syntax.Block
	for _, f := range s.sortedFiles {
		for _, node := range f.staticCalls {
			if node.Fn.(*starsyntax.Ident).Name == word {
				out = append(out, f.staticBlock(word, node))
			}
		}
	}
	return out
}

// staticBlock makes a block of a call that does not run.
func (f *file) staticBlock(word string, node *starsyntax.CallExpr) *syntax.Block {
	c := &call{file: f, node: node, whole: f.span(node), word: f.span(node.Fn)}
	b := &syntax.Block{Type: word, TypeRange: c.word, Header: c.header(), Body: &syntax.Body{Src: c.whole}}
	for i, arg := range node.Args {
		pair, keyword := arg.(*starsyntax.BinaryExpr)
		if !keyword || pair.Op != starsyntax.EQ {
			literal, ok := innerExpr(arg).(*starsyntax.Literal)
			if text, isText := literalText(literal, ok); i == 0 && isText {
				b.Labels, b.LabelRanges = []string{text}, []hcl2.Range{f.span(arg)}
			}
			continue
		}
		name, src := pair.X.(*starsyntax.Ident), f.span(pair.Y)
		b.Body.Attributes = append(b.Body.Attributes, &syntax.Attribute{Name: name.Name, NameRange: f.span(name),
			Expr: &syntax.Expression{Expression: literalExpression(pair.Y, src)}})
	}
	return b
}

func literalText(literal *starsyntax.Literal, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	text, ok := literal.Value.(string)
	return text, ok && literal.Token == starsyntax.STRING
}

// literalExpression is the expression of a literal, or one that cannot be computed.
func literalExpression(node starsyntax.Expr, src hcl2.Range) hclsyntax.Expression {
	if v, ok := literalValue(node); ok {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: src}
	}
	return &hclsyntax.ScopeTraversalExpr{SrcRange: src, Traversal: hcl2.Traversal{hcl2.TraverseRoot{Name: "computed", SrcRange: src}}}
}

// literalValue gives the value of what is written out.
func literalValue(node starsyntax.Expr) (cty.Value, bool) {
	switch node := innerExpr(node).(type) {
	case *starsyntax.Literal:
		if s, ok := literalText(node, true); ok {
			v, err := expr.Value(s)
			return v, err == nil
		}
		if n, ok := node.Value.(int64); ok {
			return cty.NumberIntVal(n), true
		}
	case *starsyntax.Ident:
		switch node.Name {
		case "True", "False":
			return cty.BoolVal(node.Name == "True"), true
		case "None":
			return cty.NullVal(cty.DynamicPseudoType), true
		}
	case *starsyntax.ListExpr:
		return literalList(node.List)
	case *starsyntax.DictExpr:
		return literalDict(node.List)
	}
	return cty.DynamicVal, false
}

func literalList(list []starsyntax.Expr) (cty.Value, bool) {
	values := make([]cty.Value, len(list))
	for i, e := range list {
		v, ok := literalValue(e)
		if !ok {
			return cty.DynamicVal, false
		}
		values[i] = v
	}
	return cty.TupleVal(values), true
}

func literalDict(list []starsyntax.Expr) (cty.Value, bool) {
	values := make(map[string]cty.Value, len(list))
	for _, e := range list {
		entry := e.(*starsyntax.DictEntry)
		key, isLiteral := literalValue(entry.Key)
		v, ok := literalValue(entry.Value)
		if !ok || !isLiteral || key.IsNull() || key.Type() != cty.String {
			return cty.DynamicVal, false
		}
		values[key.AsString()] = v
	}
	return cty.ObjectVal(values), true
}

// describeSite is site(…), which Calls has handed over before anything ran. Only
// the calls at top level say what every host gets.
func describeSite(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		return nil, &placedError{argumentCountError("site"), c.argument(0).src}
	}
	for _, node := range c.file.staticCalls {
		if c.node == node {
			return starlark.None, nil
		}
	}
	return nil, &diag.HintError{Message: "site() is called by another name", Hint: `write site(name = "…") at top level`}
}

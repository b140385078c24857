package expr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tenetcm/tenet/states"
)

// Residual gives an expression as data, with everything that is known in ctx
// put in its place: what is left depends on results. Templates over results are
// taken in with their text. Where the list holds errors the expression is nil;
// so it is, without one, where a value could not be had and that has been
// reported.
func Residual(x hclsyntax.Expression, ctx *hcl.EvalContext) (*states.Expr, hcl.Diagnostics) {
	r := &residual{}
	tree := r.expression(x, scope{ctx: ctx})
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	return tree, r.diags
}

// residual evaluates in part. A nil expression says that there is none; why has
// been reported.
type residual struct {
	diags hcl.Diagnostics
}

// scope is where an expression stands.
type scope struct {
	ctx   *hcl.EvalContext
	loops int                         // for expressions around it; their names are numbered
	items []*hclsyntax.AnonSymbolExpr // of splats around it
	vars  *states.Expr                // a template's variables, where their names are not known
}

func (r *residual) addError(at hcl.Range, summary, hint string) *states.Expr {
	r.diags = append(r.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Subject: &at, Extra: hintExtra{hint}})
	return nil
}

// hintExtra carries a hint through the HCL library's diagnostics.
type hintExtra struct{ hint string }

// node completes a node; of one that depends on nothing it gives the value.
func (r *residual) node(x states.Expr, at hcl.Range) *states.Expr {
	for _, a := range x.Args {
		if a == nil && x.Kind != states.ExprFor {
			return nil
		}
	}
	made, err := complete(x, at)
	if err != nil {
		return r.addError(at, err.Error(), "compute less of it on the host, or in several parts")
	}
	return made
}

func complete(x states.Expr, at hcl.Range) (*states.Expr, error) {
	x.Range = Range(at)
	made, err := x.New()
	if err != nil || !made.Constant() || x.Kind == states.ExprLiteral {
		return made, err
	}
	// What fails here fails on the host, unless nothing asks for it there.
	v, list := Evaluate(made, Evaluation{})
	if list.HasErrors() {
		return made, nil
	}
	folded, err := literalOf(v, at)
	if err != nil {
		return made, nil
	}
	return folded, nil
}

func (r *residual) expressions(list []hclsyntax.Expression, s scope) []*states.Expr {
	out := make([]*states.Expr, len(list))
	for i, x := range list {
		out[i] = r.expression(x, s)
	}
	return out
}

func (r *residual) expression(x hclsyntax.Expression, s scope) *states.Expr {
	at := x.Range()
	switch x := x.(type) {
	case *hclsyntax.ParenthesesExpr:
		return r.expression(x.Expression, s)
	case *spelled:
		return r.expression(x.Expression, s)
	case *listArgument:
		return r.expression(x.Expression, s)
	case *shared:
		return r.expression(x.Expression, s)
	case *hclsyntax.TemplateWrapExpr:
		return r.expression(x.Wrapped, s)
	case *hclsyntax.ObjectConsKeyExpr:
		return r.objectKey(x, s)
	case *hclsyntax.LiteralValueExpr:
		return r.knownValue(x.Val, at)
	case *hclsyntax.ScopeTraversalExpr:
		return r.traversal(x, s)
	case *hclsyntax.RelativeTraversalExpr:
		return r.steps(r.expression(x.Source, s), x.Traversal, at)
	case *hclsyntax.FunctionCallExpr:
		return r.call(x, s)
	case *hclsyntax.ConditionalExpr:
		return r.choice(x, s)
	case *hclsyntax.IndexExpr:
		args := r.expressions([]hclsyntax.Expression{x.Collection, x.Key}, s)
		return r.node(states.Expr{Kind: states.ExprIndex, Args: args}, at)
	case *hclsyntax.TupleConsExpr:
		return r.node(states.Expr{Kind: states.ExprTuple, Args: r.expressions(x.Exprs, s)}, at)
	case *hclsyntax.ObjectConsExpr:
		var args []*states.Expr
		for _, item := range sortedItems(x.Items) {
			args = append(args, r.expression(item.KeyExpr, s), r.expression(item.ValueExpr, s))
		}
		return r.node(states.Expr{Kind: states.ExprObject, Args: args}, at)
	case *hclsyntax.ForExpr:
		return r.loop(x, s)
	case *hclsyntax.SplatExpr:
		return r.splat(x, s)
	case *hclsyntax.AnonSymbolExpr:
		return r.item(x, s)
	case *hclsyntax.BinaryOpExpr:
		args := r.expressions([]hclsyntax.Expression{x.LHS, x.RHS}, s)
		return r.node(states.Expr{Kind: states.ExprOperator, Name: signOf(x.Op), Args: args}, at)
	case *hclsyntax.UnaryOpExpr:
		args := r.expressions([]hclsyntax.Expression{x.Val}, s)
		return r.node(states.Expr{Kind: states.ExprOperator, Name: signOf(x.Op), Args: args}, at)
	case *hclsyntax.TemplateExpr:
		return r.template(x, s)
	case *hclsyntax.TemplateJoinExpr:
		args := r.expressions([]hclsyntax.Expression{x.Tuple}, s)
		return r.node(states.Expr{Kind: states.ExprJoin, Args: args}, at)
	}
	return r.addError(at, fmt.Sprintf("an expression of kind %T cannot be computed on the host", x), "write it in another way")
}

// knownValue gives a value of ctx: as literals, and as their expressions where it is
// known only on the host.
func (r *residual) knownValue(v cty.Value, at hcl.Range) *states.Expr {
	x, err := literalOf(v, at)
	if err != nil {
		return r.addValueError(err, at)
	}
	return x
}

func (r *residual) addValueError(err error, at hcl.Range) *states.Expr {
	return r.addError(at, err.Error(), "only text, numbers, booleans and collections of them reach the host")
}

// template joins neighbours that are known, and takes templates within apart, so
// that a text reads the same however it was put together.
func (r *residual) template(x *hclsyntax.TemplateExpr, s scope) *states.Expr {
	var parts []*states.Expr
	for _, part := range x.Parts {
		p := r.expression(part, s)
		if p == nil {
			return nil
		}
		pieces := []*states.Expr{p}
		if p.Kind == states.ExprTemplate {
			pieces = p.Args
		}
		for _, piece := range pieces {
			parts = appendText(parts, asText(piece))
		}
	}
	if len(parts) == 0 { // all were empty
		return r.knownValue(cty.StringVal(""), x.SrcRange)
	}
	return r.node(states.Expr{Kind: states.ExprTemplate, Args: parts}, x.SrcRange)
}

// appendText adds a piece of text to others.
func appendText(parts []*states.Expr, p *states.Expr) []*states.Expr {
	if !isText(p) {
		return append(parts, p)
	}
	if p.Value == "" {
		return parts
	}
	if n := len(parts); n > 0 && isText(parts[n-1]) {
		joined, err := states.Expr{Kind: states.ExprLiteral, Range: parts[n-1].Range,
			Value: parts[n-1].Value.(string) + p.Value.(string)}.New()
		if err == nil {
			parts[n-1] = joined
			return parts
		}
	}
	return append(parts, p)
}

// choice is a conditional; of one that is decided between texts, as templates
// have them, only the one that is taken is left.
func (r *residual) choice(x *hclsyntax.ConditionalExpr, s scope) *states.Expr {
	args := r.expressions([]hclsyntax.Expression{x.Condition, x.TrueResult, x.FalseResult}, s)
	if slices.Contains(args, nil) {
		return nil
	}
	holds, decided := args[0].Value.(bool)
	if decided && args[0].Kind == states.ExprLiteral && !args[0].Sensitive && isString(args[1]) && isString(args[2]) {
		if holds {
			return args[1]
		}
		return args[2]
	}
	return r.node(states.Expr{Kind: states.ExprIf, Args: args}, x.SrcRange)
}

// isString reports whether an expression gives a text that is not null, or
// fails.
func isString(x *states.Expr) bool {
	return isText(x) || x.Kind == states.ExprTemplate || x.Kind == states.ExprJoin
}

// asText gives a number or a bool that is known as it stands in a text.
func asText(x *states.Expr) *states.Expr {
	if x.Kind != states.ExprLiteral || x.Sensitive || isText(x) {
		return x
	}
	v, err := literalValue(x)
	if err != nil || v.IsNull() || !v.Type().IsPrimitiveType() {
		return x
	}
	if v, err = convert.Convert(v, cty.String); err != nil {
		return x
	}
	text, err := literal(v, false, x.Range)
	if err != nil {
		return x
	}
	return text
}

func isText(x *states.Expr) bool {
	_, text := x.Value.(string)
	return x.Kind == states.ExprLiteral && text && !x.Sensitive && x.Type == ""
}

func (r *residual) objectKey(x *hclsyntax.ObjectConsKeyExpr, s scope) *states.Expr {
	if name := hcl.ExprAsKeyword(x.Wrapped); name != "" && !x.ForceNonLiteral {
		return r.knownValue(cty.StringVal(name), x.Range())
	}
	return r.expression(x.Wrapped, s)
}

// traversal finds what a name stands for, and goes on within it.
func (r *residual) traversal(x *hclsyntax.ScopeTraversalExpr, s scope) *states.Expr {
	name := x.Traversal.RootName()
	v, found := lookup(s.ctx, name)
	if !found && s.vars != nil {
		return r.steps(r.get(s.vars, name, x.SrcRange), x.Traversal[1:], x.SrcRange)
	}
	if !found { // the library has the words for it
		_, diags := x.Value(s.ctx)
		r.diags = append(r.diags, diags...)
		return nil
	}
	rest := x.Traversal[1:]
	for len(rest) > 0 && v.IsKnown() {
		inner, diags := rest[0].TraversalStep(v)
		if diags.HasErrors() {
			break // it fails on the host too, where try() may ask for it
		}
		v, rest = inner, rest[1:]
	}
	known, err := literalOf(v, x.SrcRange)
	if errors.Is(err, errUnknown) {
		return nil // it could not be had
	}
	if err != nil {
		return r.addValueError(err, x.SrcRange)
	}
	return r.steps(known, rest, x.SrcRange)
}

func lookup(ctx *hcl.EvalContext, name string) (cty.Value, bool) {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[name]; ok {
			return v, true
		}
	}
	return cty.NilVal, false
}

// steps goes on within an expression.
func (r *residual) steps(x *states.Expr, rest hcl.Traversal, at hcl.Range) *states.Expr {
	for _, step := range rest {
		if x == nil {
			return nil
		}
		switch step := step.(type) {
		case hcl.TraverseAttr:
			x = r.get(x, step.Name, at)
		case hcl.TraverseIndex:
			made, err := indexNode(x, step.Key, Range(at))
			if err != nil {
				return r.addError(at, err.Error(), "compute less of it on the host, or in several parts")
			}
			x = made
		default:
			return r.addError(at, "a step of this reference cannot be taken on the host", "write it in another way")
		}
	}
	return x
}

func (r *residual) get(x *states.Expr, name string, at hcl.Range) *states.Expr {
	made, err := getNode(x, name, Range(at))
	if err != nil {
		return r.addError(at, err.Error(), "compute less of it on the host, or in several parts")
	}
	return made
}

// splat keeps a splat: what it makes of its source depends on the source's
// type.
func (r *residual) splat(x *hclsyntax.SplatExpr, s scope) *states.Expr {
	if v, diags := x.Value(s.ctx); !diags.HasErrors() && v.IsWhollyKnown() && !v.ContainsMarked() && len(s.items) == 0 {
		return r.knownValue(v, x.SrcRange)
	}
	source := r.expression(x.Source, s)
	number := len(s.items)
	s.items = append(s.items[:number:number], x.Item)
	each := r.expression(x.Each, s)
	return r.node(states.Expr{Kind: states.ExprSplat, Item: number, Args: []*states.Expr{source, each}}, x.SrcRange)
}

func (r *residual) item(x *hclsyntax.AnonSymbolExpr, s scope) *states.Expr {
	for number, item := range s.items {
		if item == x {
			return r.node(states.Expr{Kind: states.ExprItem, Item: number}, x.SrcRange)
		}
	}
	return r.addError(x.SrcRange, "a splat stands where none can be", "write a for expression")
}

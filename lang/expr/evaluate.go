package expr

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Evaluation is what an expression is evaluated with on the host.
type Evaluation struct {
	// Result gives the result that a node of kind ref names, or the output of another host that one
	// of kind output names; of one that is not known yet, an unknown value. Its error is an error of the expression,
	// which try() catches.
	Result func(ref *states.Expr) (cty.Value, error)
	// OwnResult is the result of the part's own act; the zero value: there is none.
	OwnResult cty.Value
	// Places tells where nodes stand in the sources, see states.Expr.Places.
	// Without it the expression's own ranges count.
	Places map[int]diag.Range
}

// Evaluate gives the value of an expression over results, with the functions,
// operators and rules that a site is evaluated with. It ends with an error where
// it takes more than maxSteps steps or maxBytes bytes of text.
func Evaluate(x *states.Expr, e Evaluation) (cty.Value, diag.List) {
	b := &builder{evaluation: e, meter: &meter{}}
	tree, err := b.build(x, hcl.Range{})
	if err != nil {
		return cty.DynamicVal, diag.List{{Severity: diag.Error, Summary: err.Error(), Range: x.Range}}
	}
	v, diags := tree.Value(&hcl.EvalContext{Functions: hostFunctions(), Variables: map[string]cty.Value{}})
	if list := FromHCL(diags); list.HasErrors() {
		return cty.DynamicVal, list
	}
	return v, nil
}

// hostFunctions are those that need no site.
var hostFunctions = sync.OnceValue(func() map[string]function.Function {
	table := map[string]function.Function{}
	files := NewFiles(nil)
	for _, f := range files.Functions(".") {
		table[f.Name] = f.Impl
	}
	for _, name := range siteFunctions() {
		delete(table, name)
	}
	return table
})

// siteFunctions are those that look at the site or its secrets.
func siteFunctions() []string { return []string{"exists", "read", "secret", "source", "template"} }

// IsFixed reports whether a function gives for the same arguments the same for every host
// of a site, and nothing that is sensitive unless it is given that.
func IsFixed(name string) bool {
	_, ok := hostFunctions()[name]
	return name == "hosts" || ok && name != "sensitive" && name != "nonsensitive"
}

// builder makes a syntax tree of data.
type builder struct {
	evaluation Evaluation
	meter      *meter
	count      int // of nodes, in the order of states.Expr.Places
	items      map[int]*hclsyntax.AnonSymbolExpr
}

func (b *builder) build(x *states.Expr, around hcl.Range) (hclsyntax.Expression, error) {
	at := around
	if b.evaluation.Places != nil {
		if place, ok := b.evaluation.Places[b.count]; ok {
			at = hclRange(place)
		}
	} else if !x.Range.IsZero() {
		at = hclRange(x.Range)
	}
	b.count++
	if x.Kind == states.ExprSplat {
		return b.splat(x, at)
	}
	args := make([]hclsyntax.Expression, len(x.Args))
	for i, a := range x.Args {
		if a == nil {
			continue
		}
		var err error
		if args[i], err = b.build(a, at); err != nil {
			return nil, err
		}
	}
	made, err := b.node(x, args, at)
	if err != nil {
		return nil, err
	}
	return meteredExpr{made, b.meter}, nil
}

func (b *builder) node(x *states.Expr, args []hclsyntax.Expression, at hcl.Range) (hclsyntax.Expression, error) {
	none := &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: at}
	switch x.Kind {
	case states.ExprLiteral:
		v, err := literalValue(x)
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}, err
	case states.ExprRef:
		return &resultExpr{none, x, b.evaluation.Result}, nil
	case states.ExprOutput:
		return b.output(x, &resultExpr{none, x, b.evaluation.Result}, at)
	case states.ExprResult:
		if b.evaluation.OwnResult == cty.NilVal {
			return nil, errors.New("result is known only after the part's own act")
		}
		return &hclsyntax.LiteralValueExpr{Val: b.evaluation.OwnResult, SrcRange: at}, nil
	case states.ExprLocal:
		return &hclsyntax.ScopeTraversalExpr{Traversal: hcl.Traversal{hcl.TraverseRoot{Name: x.Name, SrcRange: at}}, SrcRange: at}, nil
	case states.ExprItem:
		if item := b.items[x.Item]; item != nil {
			return item, nil
		}
		return nil, errors.New("an item stands outside of its splat")
	case states.ExprCall:
		if x.Flag && len(args) == 0 {
			return nil, errors.New("a call expands an argument that is not there")
		}
		return &hclsyntax.FunctionCallExpr{Name: x.Name, Args: args, ExpandFinal: x.Flag, NameRange: at, OpenParenRange: at, CloseParenRange: at}, nil
	case states.ExprConvert:
		t, err := typeOf(x.Type)
		return &conversionExpr{none, args[0], t, at}, err
	}
	return operation(x, args, at)
}

// output makes the node of what another host gives, which is held to its type here, too.
func (b *builder) output(x *states.Expr, value *resultExpr, at hcl.Range) (hclsyntax.Expression, error) {
	if x.Type == "" {
		return value, nil
	}
	t, err := typeOf(x.Type)
	return &conversionExpr{value.LiteralValueExpr, value, t, at}, err
}

// operation makes the nodes that compute with their operands alone.
func operation(x *states.Expr, args []hclsyntax.Expression, at hcl.Range) (hclsyntax.Expression, error) {
	switch x.Kind {
	case states.ExprOperator:
		op := operators()[operator{x.Name, len(args)}]
		switch {
		case op == nil:
			return nil, fmt.Errorf("there is no operator %q", x.Name)
		case len(args) == 1:
			return &hclsyntax.UnaryOpExpr{Op: op, Val: args[0], SrcRange: at, SymbolRange: at}, nil
		}
		return &hclsyntax.BinaryOpExpr{Op: op, LHS: args[0], RHS: args[1], SrcRange: at}, nil
	case states.ExprGet:
		step := hcl.Traversal{hcl.TraverseAttr{Name: x.Name, SrcRange: at}}
		return &hclsyntax.RelativeTraversalExpr{Source: args[0], Traversal: step, SrcRange: at}, nil
	case states.ExprIndex:
		return &indexExpr{&hclsyntax.IndexExpr{Collection: args[0], Key: args[1], SrcRange: at, OpenRange: at, BracketRange: at}}, nil
	case states.ExprIf:
		return &hclsyntax.ConditionalExpr{Condition: args[0], TrueResult: args[1], FalseResult: args[2], SrcRange: at}, nil
	case states.ExprFor:
		if _, err := strconv.Atoi(x.Name); err != nil {
			return nil, errors.New("a for expression has no number")
		}
		if args[2] == nil || x.Flag && args[1] == nil {
			return nil, errors.New("a for expression gives nothing")
		}
		return &hclsyntax.ForExpr{KeyVar: "k" + x.Name, ValVar: "v" + x.Name, CollExpr: args[0], KeyExpr: args[1], ValExpr: args[2],
			CondExpr: args[3], Group: x.Flag, SrcRange: at, OpenRange: at, CloseRange: at}, nil
	case states.ExprTemplate:
		return &hclsyntax.TemplateExpr{Parts: args, SrcRange: at}, nil
	case states.ExprJoin:
		return &joinExpr{hclsyntax.TemplateJoinExpr{Tuple: args[0]}}, nil
	case states.ExprTuple:
		return &hclsyntax.TupleConsExpr{Exprs: args, SrcRange: at, OpenRange: at}, nil
	case states.ExprObject:
		if len(args)%2 != 0 {
			return nil, errors.New("a key of an object has no value")
		}
		object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		for i := 0; i < len(args); i += 2 {
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{
				KeyExpr: &hclsyntax.ObjectConsKeyExpr{Wrapped: args[i], ForceNonLiteral: true}, ValueExpr: args[i+1]})
		}
		return object, nil
	}
	return nil, fmt.Errorf("there is no kind of expression %q", x.Kind)
}

func (b *builder) splat(x *states.Expr, at hcl.Range) (hclsyntax.Expression, error) {
	source, err := b.build(x.Args[0], at)
	if err != nil {
		return nil, err
	}
	if b.items[x.Item] != nil {
		return nil, errors.New("two splats within one another have one number")
	}
	if b.items == nil {
		b.items = map[int]*hclsyntax.AnonSymbolExpr{}
	}
	item := &hclsyntax.AnonSymbolExpr{SrcRange: at}
	b.items[x.Item] = item
	each, err := b.build(x.Args[1], at)
	delete(b.items, x.Item)
	if err != nil {
		return nil, err
	}
	return meteredExpr{&hclsyntax.SplatExpr{Source: source, Each: each, Item: item, SrcRange: at, MarkerRange: at}, b.meter}, nil
}

func literalValue(x *states.Expr) (cty.Value, error) {
	v, err := Value(x.Value)
	if err != nil {
		return cty.DynamicVal, err
	}
	if x.Type != "" {
		t, err := typeOf(x.Type)
		if err != nil {
			return cty.DynamicVal, err
		}
		if v, err = convertTo(v, t); err != nil {
			return cty.DynamicVal, err
		}
	}
	if x.Sensitive {
		v = v.Mark(Sensitive)
	}
	return v, nil
}

func typeOf(text string) (cty.Type, error) {
	t, err := ctyjson.UnmarshalType([]byte(text))
	if err != nil {
		return cty.DynamicPseudoType, fmt.Errorf("%s is no type: %w", text, err)
	}
	return t, nil
}

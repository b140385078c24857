package expr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// The nodes here are made by embedding one of the HCL library's, since its
// interface has methods that only those can have.

// resultExpr is a value that a part has left.
type resultExpr struct {
	*hclsyntax.LiteralValueExpr
	ref *states.Expr
	get func(*states.Expr) (cty.Value, error)
}

// Value asks for the result.
func (r *resultExpr) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	err := fmt.Errorf("results are not known here")
	if r.get != nil {
		var v cty.Value
		if v, err = r.get(r.ref); err == nil {
			return v, nil
		}
	}
	return cty.DynamicVal, hcl.Diagnostics{problem(err, r.SrcRange)}
}

func problem(err error, at hcl.Range) *hcl.Diagnostic {
	d := diag.Diagnose(err, Range(at))
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: d.Summary, Subject: &at, Extra: hintExtra{d.Hint}}
}

// conversionExpr is a value as another type.
type conversionExpr struct {
	*hclsyntax.LiteralValueExpr
	operand hclsyntax.Expression
	target  cty.Type
	at      hcl.Range
}

// Value converts.
func (c *conversionExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := c.operand.Value(ctx)
	if diags.HasErrors() {
		return cty.UnknownVal(c.target), diags
	}
	out, err := convertTo(v, c.target)
	if err != nil {
		_, sensitive := Split(v)
		err = &diag.HintError{Message: errorText(err), Hint: "check the types of the values in the expression"}
		if sensitive {
			err = errHidden()
		}
		return cty.UnknownVal(c.target), append(diags, problem(err, c.at))
	}
	return out, diags
}

// joinExpr is the library's join, which trusts its parser to give it a tuple.
type joinExpr struct{ hclsyntax.TemplateJoinExpr }

// Value joins the elements.
func (j *joinExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := j.Tuple.Value(ctx)
	plain, marks := v.Unmark()
	switch {
	case diags.HasErrors() || !plain.IsKnown():
		return cty.UnknownVal(cty.String).WithMarks(marks), diags
	case plain.IsNull() || !plain.Type().IsTupleType():
		return cty.UnknownVal(cty.String), hcl.Diagnostics{problem(fmt.Errorf("what is joined is no tuple"), j.Range())}
	}
	tuple := &hclsyntax.LiteralValueExpr{Val: v, SrcRange: j.Range()}
	return (&hclsyntax.TemplateJoinExpr{Tuple: tuple}).Value(ctx)
}

// indexExpr is the library's index, which forgets that a key is sensitive where
// an object is indexed.
type indexExpr struct{ *hclsyntax.IndexExpr }

// Value takes the element.
func (i *indexExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	collection, diags := i.Collection.Value(ctx)
	key, more := i.Key.Value(ctx)
	diags = append(diags, more...)
	v, more := hcl.Index(collection, key, &i.BracketRange)
	return v.WithMarks(marksOf(key)), append(diags, more...)
}

// literalValues gives the values that nodes of an expression hold themselves, as
// those that were built of data do.
func literalValues(x hclsyntax.Expression, ctx *hcl.EvalContext) (held []cty.Value) {
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		if m, ok := n.(meteredExpr); ok {
			n = m.Expression
		}
		switch n := n.(type) {
		case *hclsyntax.LiteralValueExpr:
			held = append(held, n.Val)
		case *resultExpr:
			v, _ := n.Value(ctx)
			held = append(held, v)
		case *conversionExpr:
			held = append(held, literalValues(n.operand, ctx)...)
		}
		return nil
	})
	return held
}

// The limits of one evaluation on a host.
const (
	maxSteps = 1 << 20
	maxBytes = 64 << 20
)

// meter counts what an evaluation takes.
type meter struct{ steps, bytes int }

// meteredExpr is a node whose evaluations are counted.
type meteredExpr struct {
	hclsyntax.Expression
	meter *meter
}

// Value evaluates the node, unless all of them together took too much.
func (m meteredExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if m.meter.steps++; m.meter.steps > maxSteps || m.meter.bytes > maxBytes {
		return cty.DynamicVal, hcl.Diagnostics{problem(errExpensive(), m.Range())}
	}
	v, diags := m.Expression.Value(ctx)
	m.meter.bytes += sizeOf(v)
	if m.meter.bytes > maxBytes {
		return cty.DynamicVal, hcl.Diagnostics{problem(errExpensive(), m.Range())}
	}
	return v, diags
}

func errExpensive() error {
	return &diag.HintError{Message: "the expression takes too much time or memory on the host",
		Hint: "let a command compute it, or compute less of it on the host"}
}

// sizeOf is about how many bytes a value has beyond its elements, which nodes
// of their own have made.
func sizeOf(v cty.Value) int {
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() {
		return 16
	}
	switch t := v.Type(); {
	case t == cty.String:
		return 16 + len(v.AsString())
	case t.IsCollectionType() || t.IsTupleType() || t.IsObjectType():
		return 16 + 32*v.LengthInt()
	}
	return 16
}

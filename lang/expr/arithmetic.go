package expr

import (
	"errors"
	"math"
	"math/big"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// Arithmetic replaces the operators of syntax trees by ones whose results are
// canonical numbers: whole ones exact, others the shortest text of the nearest
// double, and zero without a sign. So 1/3 is the same number and the same text
// in each language, though cty computes with 512 bits. A result beyond the
// doubles, as of a division by zero, is an error.
type Arithmetic struct {
	operations map[*hclsyntax.Operation]*hclsyntax.Operation
}

// NewArithmetic gives the replacements; they are always the same.
func NewArithmetic() *Arithmetic { return arithmetic() }

var arithmetic = sync.OnceValue(func() *Arithmetic {
	a := &Arithmetic{operations: map[*hclsyntax.Operation]*hclsyntax.Operation{}}
	for _, op := range []*hclsyntax.Operation{hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply,
		hclsyntax.OpDivide, hclsyntax.OpModulo, hclsyntax.OpNegate} {
		a.operations[op] = &hclsyntax.Operation{Type: op.Type, Impl: canonicalResult(op.Impl, exactOperation(op))}
	}
	return a
})

// operator is an operator of expressions as data: a sign and its number of
// operands.
type operator struct {
	sign     string
	operands int
}

// operators lists all operators, with canonical numbers.
var operators = sync.OnceValue(func() map[operator]*hclsyntax.Operation {
	all := map[operator]*hclsyntax.Operation{
		{"||", 2}: hclsyntax.OpLogicalOr, {"&&", 2}: hclsyntax.OpLogicalAnd, {"!", 1}: hclsyntax.OpLogicalNot,
		{"==", 2}: hclsyntax.OpEqual, {"!=", 2}: hclsyntax.OpNotEqual,
		{">", 2}: hclsyntax.OpGreaterThan, {">=", 2}: hclsyntax.OpGreaterThanOrEqual,
		{"<", 2}: hclsyntax.OpLessThan, {"<=", 2}: hclsyntax.OpLessThanOrEqual,
		{"+", 2}: hclsyntax.OpAdd, {"-", 2}: hclsyntax.OpSubtract, {"*", 2}: hclsyntax.OpMultiply,
		{"/", 2}: hclsyntax.OpDivide, {"%", 2}: hclsyntax.OpModulo, {"-", 1}: hclsyntax.OpNegate,
	}
	for sign, op := range all {
		if canonical := arithmetic().operations[op]; canonical != nil {
			all[sign] = canonical
		}
	}
	return all
})

// signOf gives the sign of an operator of a syntax tree, canonical or not.
func signOf(op *hclsyntax.Operation) string {
	if canonical := arithmetic().operations[op]; canonical != nil {
		op = canonical
	}
	for sign, known := range operators() {
		if known == op {
			return sign.sign
		}
	}
	panic("eval: an operator that is not known")
}

// Replace gives a node of a syntax tree the canonical operator, if it is one.
func (a *Arithmetic) Replace(n hclsyntax.Node) {
	switch n := n.(type) {
	case *hclsyntax.BinaryOpExpr:
		if op := a.operations[n.Op]; op != nil {
			n.Op = op
		}
	case *hclsyntax.UnaryOpExpr:
		if op := a.operations[n.Op]; op != nil {
			n.Op = op
		}
	}
}

// ReplaceAll gives all nodes of an expression the canonical operators, and
// reports literals that are too large.
func (a *Arithmetic) ReplaceAll(e hclsyntax.Expression) hcl.Diagnostics {
	return hclsyntax.Walk(e, replacer{a})
}

// TooLarge reports whether a node is a literal number that cannot be computed
// with.
func TooLarge(n hclsyntax.Node) error {
	if l, ok := n.(*hclsyntax.LiteralValueExpr); ok && l.Val.Type() == cty.Number && !l.Val.IsNull() && isTooLarge(l.Val.AsBigFloat()) {
		return &diag.HintError{Message: errTooLarge.Error(), Hint: "write it as text, in quotes, or take a smaller one"}
	}
	return nil
}

type replacer struct{ *Arithmetic }

func (r replacer) Enter(n hclsyntax.Node) hcl.Diagnostics {
	r.Replace(n)
	if err := TooLarge(n); err != nil {
		at := n.Range()
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: err.Error(), Subject: &at}}
	}
	return nil
}

func (r replacer) Exit(n hclsyntax.Node) hcl.Diagnostics {
	SpellNumbers(n)
	return nil
}

// canonicalResult makes a sign's function give canonical numbers. exact does the same with whole
// numbers, if they are not too large; nil: it does not.
func canonicalResult(f function.Function, exact func(x, y int64) (int64, bool)) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(),
		Type:   f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if exact != nil {
				if v, ok := computeExactly(args[0], args[1], exact); ok {
					return v, nil
				}
			}
			v, err := f.Call(args)
			if err != nil || !v.IsKnown() {
				return v, describePanic(err)
			}
			v, marks := v.Unmark() // the sign takes marked operands itself
			v, err = canonicalNumber(v)
			return v.WithMarks(marks), err
		},
	})
}

// canonicalNumber rounds a number that is not whole to the nearest double.
func canonicalNumber(v cty.Value) (cty.Value, error) {
	n := v.AsBigFloat()
	switch {
	case n.IsInf():
		return cty.UnknownVal(cty.Number), errors.New("the result is infinite: a division by zero, or too large a number")
	case n.Sign() == 0:
		return cty.Zero, nil
	case n.IsInt() && n.MantExp(nil) <= maxIntegerBits:
		return v, nil
	}
	f, _ := n.Float64()
	if math.IsInf(f, 0) {
		return cty.UnknownVal(cty.Number), errTooLarge
	}
	return cty.ParseNumberVal(formatFloat(f))
}

// errTooLarge does not show the number, which may have millions of digits.
var errTooLarge = errors.New("the number is too large: none above 1.8e308 can be computed with")

// isTooLarge reports whether a number is beyond the doubles, and no whole one
// that is kept digit by digit.
func isTooLarge(n *big.Float) bool {
	return n.IsInf() || n.MantExp(nil) > max(maxIntegerBits, 1024)
}

// limitNumbers is a function that may make numbers of texts, for those that are not too
// large: writing one out may take for ever.
func limitNumbers(f function.Function) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type:        f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return v, err
			}
			return v, cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
				part, _ = part.Unmark()
				if part.Type() == cty.Number && part.IsKnown() && !part.IsNull() && isTooLarge(part.AsBigFloat()) {
					return false, errTooLarge
				}
				return true, nil
			})
		},
	})
}

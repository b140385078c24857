package expr

import (
	"math/big"
	"math/bits"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// exactOperation computes with whole numbers of 64 bits what a sign means; ok is false where the
// result has more bits, and the function is nil for signs whose results need not be whole.
// Numbers of 512 bits give the same results, and take several times as long.
func exactOperation(sign *hclsyntax.Operation) func(x, y int64) (result int64, ok bool) {
	switch sign {
	case hclsyntax.OpAdd:
		return func(x, y int64) (int64, bool) { sum := x + y; return sum, (sum > x) == (y > 0) }
	case hclsyntax.OpSubtract:
		return func(x, y int64) (int64, bool) { rest := x - y; return rest, (rest < x) == (y > 0) }
	case hclsyntax.OpMultiply:
		return func(x, y int64) (int64, bool) {
			high, low := bits.Mul64(magnitude(x), magnitude(y))
			product := x * y
			return product, high == 0 && magnitude(product) == low && (product < 0) == ((x < 0) != (y < 0))
		}
	}
	return nil
}

// magnitude gives a number without its sign.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// computeExactly computes with two numbers that are known, unmarked and whole. The result is as
// precise as they are, for what is computed with it.
func computeExactly(x, y cty.Value, exact func(x, y int64) (int64, bool)) (v cty.Value, ok bool) {
	if x.IsMarked() || y.IsMarked() || !x.IsKnown() || !y.IsKnown() || x.IsNull() || y.IsNull() || x.Type() != cty.Number || y.Type() != cty.Number {
		return v, false
	}
	a, b := x.AsBigFloat(), y.AsBigFloat()
	i, first := a.Int64()
	k, second := b.Int64()
	if first != big.Exact || second != big.Exact || min(a.Prec(), b.Prec()) < 64 {
		return v, false
	}
	n, ok := exact(i, k)
	if !ok || n == 0 { // zeros have signs
		return v, false
	}
	return cty.NumberVal(new(big.Float).SetPrec(max(a.Prec(), b.Prec())).SetInt64(n)), true
}

package expr

import (
	"math"
	"math/big"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"pgregory.net/rapid"
)

// Whole numbers that are computed exactly are the ones that large floats give, and what is
// computed with them is as precise.
func TestExactOperations(t *testing.T) {
	numbers := rapid.Custom(func(t *rapid.T) cty.Value {
		n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.Int64Range(-1<<32, 1<<32),
			rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 62, -1 << 62})).Draw(t, "n")
		v := new(big.Float).SetPrec(rapid.SampledFrom([]uint{53, 64, 512}).Draw(t, "precision")).SetInt64(n)
		if rapid.IntRange(0, 9).Draw(t, "fraction") == 0 {
			v.Quo(v, big.NewFloat(8))
		}
		if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
			v.SetMantExp(v, 70)
		}
		return cty.NumberVal(v)
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := numbers.Draw(t, "x"), numbers.Draw(t, "y")
		for _, sign := range []*hclsyntax.Operation{hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply} {
			got, err := NewArithmetic().operations[sign].Impl.Call([]cty.Value{x, y})
			want, wrong := canonicalResult(sign.Impl, nil).Call([]cty.Value{x, y})
			if err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
			a, b := got.AsBigFloat(), want.AsBigFloat()
			if a.Cmp(b) != 0 || a.Prec() != b.Prec() || a.Signbit() != b.Signbit() {
				t.Fatalf("%v and %v give %v of %d bits, not %v of %d", x.AsBigFloat(), y.AsBigFloat(), a, a.Prec(), b, b.Prec())
			}
		}
	})
}

func TestShortRanges(t *testing.T) {
	for _, n := range []int64{1, 2, 20, 1023, 1024} {
		got, ok := shortRange([]cty.Value{cty.NumberIntVal(n)})
		want, err := stdlib.RangeFunc.Call([]cty.Value{cty.NumberIntVal(n)})
		if err != nil || !ok || !got.RawEquals(want) {
			t.Errorf("range(%d): %#v, %v", n, got, ok)
		}
	}
	for _, args := range [][]cty.Value{nil, {cty.Zero}, {cty.NumberIntVal(1025)}, {cty.NumberIntVal(-1)}, {cty.NumberFloatVal(1.5)},
		{cty.UnknownVal(cty.Number)}, {cty.NullVal(cty.Number)}, {cty.NumberIntVal(1), cty.NumberIntVal(2)}} {
		if got, ok := shortRange(args); ok {
			t.Errorf("%#v makes %#v", args, got)
		}
	}
}

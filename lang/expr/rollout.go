package expr

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// amountOf reads a number, or text such as "20%".
func amountOf(v cty.Value) (site.Amount, error) {
	v, _ = Split(v)
	if n, ok := intFrom(v); ok {
		return site.ParseAmount(strconv.Itoa(n))
	}
	if v.IsNull() || v.Type() != cty.String {
		if !v.IsNull() && v.Type() == cty.Number {
			return site.Amount{}, errors.New("a whole number is required")
		}
		return site.Amount{}, fmt.Errorf("a number or a share is required, not %s", Kind(v))
	}
	return site.ParseAmount(v.AsString())
}

// MaxFailures reads how many hosts may fail.
func MaxFailures(v cty.Value) (*site.Amount, error) {
	a, err := amountOf(v)
	if err != nil {
		return nil, &diag.HintError{Message: err.Error(), Hint: `write max_failures = 2, or max_failures = "10%"`}
	}
	return &a, nil
}

// Batch reads how many hosts take their turn at a time: one amount, or a list of
// them.
func Batch(v cty.Value) ([]site.Amount, error) {
	v, _ = Split(v)
	all := []cty.Value{v}
	if isSequence(v.Type()) {
		all = v.AsValueSlice()
	}
	hint := `write batch = 1, batch = "20%" or batch = [1, "10%", "100%"]`
	if len(all) == 0 {
		return nil, &diag.HintError{Message: "the list is empty", Hint: hint}
	}
	var out []site.Amount
	for _, e := range all {
		a, err := amountOf(e)
		if err == nil {
			err = a.CheckBatch()
		}
		if err != nil {
			return nil, &diag.HintError{Message: err.Error(), Hint: hint}
		}
		out = append(out, a)
	}
	return out, nil
}

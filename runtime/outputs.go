package runtime

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// outputOf gives an output of another host. In a plan it may be unknown.
func (x *expressions) outputOf(ref *states.Expr) (cty.Value, error) {
	given := x.given(ref.Host, ref.Name)
	if given == nil {
		return cty.DynamicVal, &diag.HintError{
			Message: fmt.Sprintf("%s has not given its output %s", ref.Host, ref.Name),
			Hint:    fmt.Sprintf("give another value for that case: try(hosts(%q)[0].outputs.%s, null)", ref.Host, ref.Name)}
	}
	v := cty.DynamicVal
	if given.Output.IsKnown {
		var err error
		if v, err = expr.Value(given.Output.Value); err != nil {
			return v, fmt.Errorf("the output %s of %s cannot be used as a value: %w", ref.Name, ref.Host, err)
		}
	}
	if ref.Sensitive || given.Output.Sensitive {
		v = v.Mark(expr.Sensitive)
	}
	return x.mask.watch(v), nil
}

// lateOutput gives an output of another host for which values are not known yet; empty: there is none.
func (x *expressions) lateOutput(list map[string]*states.Expr) string {
	for _, n := range states.OutputRefs(list) {
		if given := x.given(n.Host, n.Name); given != nil && !given.Output.IsKnown {
			return fmt.Sprintf("output.%s of %s", n.Name, n.Host)
		}
	}
	return ""
}

// planOutput is the row of an output whose value only an apply will know.
func (s *step) planOutput() bool {
	s.outcome, s.isUnforeseeable = states.Unchanged, true
	return false
}

// outputs gives what the host hands to others, by name. Those that have come to nothing are not among them.
func (e *engine) outputs() map[string]states.Output {
	var list map[string]states.Output
	for _, p := range e.run.Outputs() {
		l := e.results.find(p.Address)
		if l == nil || l.missingReason != "" || l.module == nil {
			continue
		}
		o := states.Output{IsKnown: !l.isUnknown, Sensitive: l.sensitive(states.OutputValue)}
		if o.IsKnown {
			o.Value = l.values[states.OutputValue]
		}
		if list == nil {
			list = map[string]states.Output{}
		}
		list[p.Key] = o
	}
	return list
}

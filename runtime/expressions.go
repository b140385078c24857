package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// expressions evaluates what parts and guards compute of the results of others.
type expressions struct {
	results *results
	outer   *results // of the run around this one; nil: there is none
	sources map[string]diag.Range
	mask    *masker
	given   func(host, name string) *states.HostOutput
}

// evaluate gives the value of an expression of a part or guard, by its address
// and its name there.
func (x *expressions) evaluate(e *states.Expr, address, name string, own cty.Value) (cty.Value, error) {
	v, list := expr.Evaluate(e, expr.Evaluation{Result: x.resultOf, OwnResult: own, Places: x.places(e, address, name)})
	if !list.HasErrors() {
		return v, nil
	}
	d := list[0]
	text := d.Summary
	if d.Detail != "" {
		text += "; " + d.Detail
	}
	err := &diag.HintError{Code: "invalid", Message: name + ": " + text, Hint: d.Hint}
	return cty.DynamicVal, &placedError{d.Range.String(), err}
}

// places finds where the nodes of an expression stand. Nil: in the expression
// itself, if anywhere.
func (x *expressions) places(e *states.Expr, address, name string) map[int]diag.Range {
	for _, a := range []string{address, states.WithoutWave(address)} {
		key := a + "." + name
		whole, ok := x.sources[key]
		if !ok {
			continue
		}
		places := map[int]diag.Range{0: whole}
		for n := 1; n < e.Count(); n++ {
			if at, ok := x.sources[key+"@"+strconv.Itoa(n)]; ok {
				places[n] = at
			}
		}
		return places
	}
	return nil
}

// resultOf gives the value that a reference names: of the last of its parts that
// has one. In a plan it may be unknown.
func (x *expressions) resultOf(ref *states.Expr) (cty.Value, error) {
	if ref.Kind == states.ExprOutput {
		return x.outputOf(ref)
	}
	candidates, why := referencedParts(ref), "it is left out of this run"
	for k, address := range slices.Backward(candidates) {
		l := x.results.find(address)
		if l == nil && x.outer != nil && !x.results.ownParts[address] {
			if l = x.outer.find(address); l == nil {
				return cty.DynamicVal, nil // it runs later, and before what is planned here
			}
		}
		switch {
		case l == nil:
			if k == len(candidates)-1 {
				why = "it has not run"
			}
		case l.missingReason != "":
			if k == len(candidates)-1 {
				why = l.missingReason
			}
		default:
			v, err := l.value(ref)
			if err != nil {
				return v, err
			}
			return x.mask.watch(v), nil
		}
	}
	return cty.DynamicVal, &diag.HintError{
		Message: fmt.Sprintf("%s has no result: %s", ref.Ref.Address, why),
		Hint:    fmt.Sprintf("give another value for that case: try(%s.%s, null)", ref.Ref.Address, ref.Name)}
}

// condition evaluates one of a part's act, of which own is the result; known is false where a
// plan cannot.
func (x *expressions) condition(p *states.Part, name string, otherwise bool, own cty.Value) (holds, known bool, err error) {
	if p.Results[name] == nil {
		return otherwise, true, nil
	}
	v, err := x.evaluate(p.Results[name], p.Address, name, own)
	if err != nil {
		return otherwise, true, err
	}
	v, _ = expr.Split(v)
	if !v.IsKnown() {
		return otherwise, false, nil
	}
	if holds, err = expr.Bool(v); err != nil {
		return otherwise, true, x.locateError(p, name, err)
	}
	return holds, true, nil
}

// source is where the expression of an attribute stands, or "".
func (x *expressions) source(p *states.Part, name string) string {
	if at, ok := x.places(p.Results[name], p.Address, name)[0]; ok {
		return at.String()
	}
	return ""
}

// locateError gives an error about a computed attribute the place of its
// expression.
func (x *expressions) locateError(p *states.Part, name string, err error) error {
	hint := cmp.Or(diag.HintOf(err), "the value is computed on the host, of what parts before have left there")
	if !strings.HasPrefix(err.Error(), name+": ") {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return &placedError{x.source(p, name), &diag.HintError{Code: "invalid", Err: err, Hint: hint}}
}

package program

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"time"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

const reconcileHint = `write reconcile { poll = "10m" }, or another of mode, poll, jitter, deadline, attempts, backoff and on_failure`

// reconcile gives how hosts are kept as one attribute, however it is written; nil: nothing is said.
func (d *decoder) reconcile(b *syntax.Block) *syntax.Attribute {
	given := b.Body.Attribute("reconcile")
	for _, sub := range b.Body.Blocks {
		if sub.Type != "reconcile" || d.check(sub.Body, d.shapes.Reconcile, nil) {
			continue
		}
		if given != nil {
			d.errorAt(sub.TypeRange, "join the two", "reconcile is given twice")
			continue
		}
		given = objectOf(sub)
	}
	return given
}

// siteReconcile reads how all hosts are kept: it depends on nothing.
func (d *decoder) siteReconcile(b *syntax.Block) {
	a := d.reconcile(b)
	if a == nil {
		return
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		d.errorAt(a.Expr.Range(), "write the values themselves, without references and functions", "reconcile cannot be computed")
		return
	}
	var err error
	if d.site.reconcile, err = reconcileOf(v); err != nil {
		d.errorAt(a.Expr.Range(), cmp.Or(diag.HintOf(err), reconcileHint), "reconcile: %v", err)
	}
}

// reconcile evaluates how hosts are kept.
func (e hostReader) reconcile(a *syntax.Attribute, ctx *hcl2.EvalContext) site.Reconcile {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return site.Reconcile{}
	}
	v, _ = v.UnmarkDeep()
	o, err := reconcileOf(v)
	if err != nil {
		e.wrongValue(a, err, reconcileHint)
		return site.Reconcile{}
	}
	return o
}

// reconcileOf reads how hosts are kept.
func reconcileOf(v cty.Value) (o site.Reconcile, err error) {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || v.IsNull() {
		return o, errors.New("reconcile is an object")
	}
	for name, value := range v.AsValueMap() {
		if value.IsNull() {
			continue
		}
		switch name {
		case "mode":
			var text string
			text, err = textOf(value)
			o.Mode = site.Mode(text)
		case "on_failure":
			var text string
			text, err = textOf(value)
			o.OnFailure = site.OnFailure(text)
		case "poll":
			o.Poll, err = expr.Duration(value)
		case "deadline":
			o.Deadline, err = expr.Duration(value)
		case "backoff":
			o.Backoff, err = expr.Duration(value)
		case "attempts":
			o.Attempts, err = wholeOf(value)
		case "jitter":
			o.Jitter, err = jitterOf(value)
		default:
			return o, fmt.Errorf("there is no %q in it", name)
		}
		if err != nil {
			return o, fmt.Errorf("its %s: %w", name, err)
		}
	}
	if o.Poll != 0 && o.Poll < leastPoll {
		return o, &diag.HintError{Message: fmt.Sprintf("poll cannot be %v: it is at least %v", o.Poll, leastPoll), Hint: "a look takes its time, and several sites take turns"}
	}
	return o, o.Check()
}

// leastPoll is the shortest time between two looks at a host.
const leastPoll = time.Second

func textOf(v cty.Value) (string, error) {
	if v.Type() != cty.String || v.AsString() == "" {
		return "", fmt.Errorf("it is a text, not %s", expr.Kind(v))
	}
	return v.AsString(), nil
}

// maxAttempts is far more than anybody means.
const maxAttempts = 1_000_000

func wholeOf(v cty.Value) (int, error) {
	if v.Type() != cty.Number {
		return 0, fmt.Errorf("it is a number, not %s", expr.Kind(v))
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact || n < 1 || n > maxAttempts {
		return 0, &diag.HintError{Message: "it is a whole number from 1", Hint: "leave it out for the default"}
	}
	return int(n), nil
}

// jitterOf reads a part of one. What is not said is 0, so that none is below.
func jitterOf(v cty.Value) (float64, error) {
	if v.Type() != cty.Number {
		return 0, fmt.Errorf("it is a number, not %s", expr.Kind(v))
	}
	switch f, _ := v.AsBigFloat().Float64(); {
	case f < 0 || f >= 1:
		return 0, errors.New("it is a part of one, from 0 to below 1")
	case f == 0:
		return -1, nil
	default:
		return f, nil
	}
}

// keeping says how the host is kept; nil: as usual.
func (e *evaluator) keeping() *site.Reconcile {
	o := e.site.reconcile
	if e.host != nil {
		host := e.host.Reconcile
		host.Windows = e.host.Windows
		o = host.Or(o)
	}
	if e.membership() != nil && o.OnFailure == site.OnFailureRevert {
		o.OnFailure = site.OnFailureHelp // one of a cluster does not go back by itself
	}
	if o.IsZero() {
		return nil
	}
	return &o
}

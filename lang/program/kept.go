package program

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// kept evaluates an expression whose needs are there; of one that gives the same for
// every host it takes what another evaluation has found.
func (e *expressions) kept(x *syntax.Expression, ctx *hcl2.EvalContext) (cty.Value, diag.List) {
	// While there are no lists, hosts are still being evaluated.
	if x.Kept == nil || e.hosts.lists == nil || e.scripted != nil || !e.fixed(x) {
		return compute(x, ctx)
	}
	if known := x.Kept.Load(); known != nil && known.Hosts == e.hosts.lists {
		return known.Value, known.List
	}
	v, list := compute(x, ctx)
	x.Kept.Store(&syntax.Kept{Hosts: e.hosts.lists, Value: v, List: list})
	return v, list
}

// fixed reports whether an expression whose needs are there gives the same for every host.
// Then nothing in it is sensitive: what is sensitive is evaluated for each host, whose vault
// remembers what is computed of it.
func (e *expressions) fixed(x *syntax.Expression) bool {
	if !x.Fixed {
		return false
	}
	for i := range x.Needs {
		n := &x.Needs[i]
		if n.Kind != "local" || !e.isFixedLocal(n.Name) {
			return false
		}
	}
	return true
}

// isFixedLocal is fixed of a local's expression, which is looked at once: locals that name
// each other twice have more ways through them than there is time for.
func (e *expressions) isFixedLocal(name string) bool {
	is, known := e.fixedLocals[name]
	if known {
		return is
	}
	if e.fixedLocals == nil {
		e.fixedLocals = map[string]bool{}
	}
	is = e.fixed(e.site.locals[name].expr)
	e.fixedLocals[name] = is
	return is
}

// compute evaluates an expression; unknown with why, where that fails.
func compute(x *syntax.Expression, ctx *hcl2.EvalContext) (cty.Value, diag.List) {
	v, diags := x.Value(ctx)
	list := expr.FromHCL(diags)
	if diags.HasErrors() {
		return cty.DynamicVal, list
	}
	if err := expr.TooLong(v); err != nil {
		return cty.DynamicVal, append(list, expr.Diagnose(err, at(x.Range())))
	}
	if x.Indexed {
		v = expr.MarkIndexed(x.Expression, ctx, v)
	}
	return v, list
}

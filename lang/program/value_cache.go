package program

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// cachedValue evaluates an expression whose needs are there; of one that gives the same for
// every host it takes what another evaluation has found.
func (e *expressions) cachedValue(x *syntax.Expression, ctx *hcl2.EvalContext) (cty.Value, diag.List) {
	// While there are no lists, hosts are still being evaluated.
	if x.Cache == nil || e.hosts.lists == nil || e.scripts != nil || !e.isSameForAllHosts(x) {
		return compute(x, ctx)
	}
	if known := x.Cache.Load(); known != nil && known.Hosts == e.hosts.lists && known.Exports == any(e.exports) && known.Facts == e.hostFacts.Known() {
		return known.Value, known.List
	}
	v, list := compute(x, ctx)
	if !e.hostFacts.IsWanting() {
		x.Cache.Store(&syntax.CachedValue{Hosts: e.hosts.lists, Exports: e.exports, Facts: e.hostFacts.Known(), Value: v, List: list})
	}
	return v, list
}

// isSameForAllHosts reports whether an expression whose needs are there gives the same for every host.
// Then nothing in it is sensitive: what is sensitive is evaluated for each host, whose vault
// remembers what is computed of it.
func (e *expressions) isSameForAllHosts(x *syntax.Expression) bool {
	if !x.SameForAllHosts {
		return false
	}
	for i := range x.Needs {
		n := &x.Needs[i]
		if n.Kind != "local" || !e.isLocalSameForAllHosts(n.Name) {
			return false
		}
	}
	return true
}

// isLocalSameForAllHosts is isSameForAllHosts of a local's expression, which is looked at once: locals that name
// each other twice have more ways through them than there is time for.
func (e *expressions) isLocalSameForAllHosts(name string) bool {
	is, known := e.localsSameForAllHosts[name]
	if known {
		return is
	}
	if e.localsSameForAllHosts == nil {
		e.localsSameForAllHosts = map[string]bool{}
	}
	// Of several, each host has another.
	is = !e.site.locals.IsShared(name) && e.isSameForAllHosts(e.site.locals.First(name).expr)
	e.localsSameForAllHosts[name] = is
	return is
}

// compute evaluates an expression; unknown with why, where that fails.
func compute(x *syntax.Expression, ctx *hcl2.EvalContext) (cty.Value, diag.List) {
	v, diags := x.Value(ctx)
	list := expr.FromHCL(diags)
	if diags.HasErrors() {
		return cty.DynamicVal, list
	}
	if err := expr.CheckLength(v); err != nil {
		return cty.DynamicVal, append(list, diag.Diagnose(err, rangeOf(x.Range())))
	}
	if x.Indexed {
		v = expr.MarkIndexed(x.Expression, ctx, v)
	}
	return v, list
}

package program

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// ruleParams are the params that a rule gives to the states that it names, if they declare them.
func ruleParams() []string { return []string{"node", "path", "parent", "old", "diff", "data"} }

// ruleState gives the state that an attribute of a rule names; nil: it names none, or something is wrong with it, which has been reported.
func (e *evaluator) ruleState(a *syntax.Attribute) *instance {
	if a == nil {
		return nil
	}
	refs := e.refs(a, e.root)
	if len(refs) == 0 {
		return nil
	}
	if len(refs) != 1 || refs[0].Part != "" {
		e.errorAt(a.Range(), "write "+a.Name+" = state.NAME", "%s names one state", a.Name)
		return nil
	}
	in := e.instances[refs[0].Address]
	switch {
	case in == nil && len(e.instancesByBase[refs[0].Address]) > 0:
		e.errorAt(a.Range(), fmt.Sprintf("name one: %s", e.instancesByBase[refs[0].Address][0].address), "%s has several instances, and %s names one", refs[0].Address, a.Name)
		return nil
	case in == nil && e.isOmitted(refs[0].Address):
		e.errorAt(a.Range(), "declare it at top level, or give the host the role", "this host does not have %s", refs[0].Address)
		return nil
	case in == nil:
		if !e.doubtful[refs[0].Address] && !(referenceCheck{e.evaluation}).isDoubtful(refs[0].Address) {
			referenceCheck{e.evaluation}.undefinedInstance(refs[0])
		}
		return nil
	case in.decl.kind != states.StateKind || in.decl.topLevel || in.decl.handler:
		e.errorAt(a.Range(), "put what is to be done into a state", "%s is no state", refs[0].Address)
		return nil
	}
	for _, p := range in.decl.params {
		if p.attr == nil && !slices.Contains(ruleParams(), p.name) {
			e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has the param %q, which a rule does not give", in.decl.base, p.name), Range: rangeOf(a.Range()),
				Hint:    "give it a default, or take one of " + quotedList(ruleParams()),
				Related: []diag.Related{{Message: "the param is declared here", Range: rangeOf(p.src)}}})
			return nil
		}
	}
	return in
}

// ruleParts evaluates the parts of a state for a node. The prefix stands before their addresses.
func (e *evaluator) ruleParts(target *instance, a *syntax.Attribute, address, prefix string, act states.NodeAct, given map[string]cty.Value) []states.PartDeclaration {
	values := map[string]cty.Value{}
	for _, p := range target.decl.params {
		if v, ok := given[p.name]; ok {
			values[p.name] = partValues{e.expressions}.paramValue(p, v, a.Range())
		} else {
			values[p.name] = partValues{target.owner.expressions}.paramDefault(p)
		}
	}
	of := target.owner.optionsOf(target)
	if of.LeftOut {
		return nil
	}
	owner := target.owner
	in := &instance{decl: target.decl, address: address, each: target.each, owner: owner}
	parts := partValues{owner.expressions}.stateParts(in, values, of.Ensure)
	for i := range parts {
		p := &parts[i]
		p.Act = act
		inheritOptions(&p.Options, of)
		prefixPart(p, prefix)
	}
	return parts
}

// inheritOptions gives a part what its state says: a rule's invocation is of several states.
func inheritOptions(o *states.Options, of *states.Options) {
	o.Require, o.Follows = slices.Concat(o.Require, of.Require), slices.Concat(o.Follows, of.Follows)
	o.Notify, o.NotifyFailure = slices.Concat(o.Notify, of.Notify), slices.Concat(o.NotifyFailure, of.NotifyFailure)
	o.Guards = slices.Concat(of.Guards, o.Guards)
	if o.Retry == nil {
		o.Retry = of.Retry
	}
	if o.Become == "" {
		o.Become = of.Become
	}
	if o.Timeout == 0 {
		o.Timeout = of.Timeout
	}
	if o.Ensure == "" {
		o.Ensure = of.Ensure
	}
	o.IgnoreFailure = o.IgnoreFailure || of.IgnoreFailure
	o.Sensitive = o.Sensitive || of.Sensitive
	o.Locks = sortedUnion(o.Locks, of.Locks)
	o.Tags = sortedUnion(o.Tags, of.Tags)
}

func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// prefixPart puts a prefix before the address of a part, and before those of the parts of its state that it names.
func prefixPart(p *states.PartDeclaration, prefix string) {
	if prefix == "" {
		return
	}
	p.Address, p.Base = prefix+p.Address, prefix+p.Base
	rename := func(r states.Ref) states.Ref {
		if r.Self {
			r.Part = prefix + r.Part
		}
		return r
	}
	for _, list := range []*[]states.Ref{&p.Options.Require, &p.Options.Follows, &p.Options.Notify, &p.Options.NotifyFailure} {
		*list = slices.Clone(*list)
		for i, r := range *list {
			(*list)[i] = rename(r)
		}
	}
	rewriteRefs(p, rename)
}

// rewriteRefs gives what a part computes of results other references.
func rewriteRefs(p *states.PartDeclaration, rename func(states.Ref) states.Ref) {
	rewrite := func(list map[string]*states.Expr) map[string]*states.Expr {
		if len(list) == 0 {
			return list
		}
		out := map[string]*states.Expr{}
		for name, x := range list {
			out[name] = rewriteExpr(x, rename)
		}
		return out
	}
	p.Results = rewrite(p.Results)
	p.Options.Guards = slices.Clone(p.Options.Guards)
	for i := range p.Options.Guards {
		p.Options.Guards[i].Results = rewrite(p.Options.Guards[i].Results)
	}
}

func rewriteExpr(x *states.Expr, rename func(states.Ref) states.Ref) *states.Expr {
	made, err := x.Rewrite(func(ref *states.Expr) (*states.Expr, error) {
		clone := *ref
		clone.Ref = rename(ref.Ref)
		return clone.New()
	})
	if err != nil {
		return x // its addresses were a few bytes shorter: the limit was met before
	}
	return made
}

// nodeResult is what only the host will know of a node: a field of states.Differing.
func nodeResult(comparison, node, field string, at diag.Range) cty.Value {
	made := func(x states.Expr) *states.Expr {
		x.Range = at
		out, err := x.New()
		if err != nil {
			panic("a reference to a node is too large: " + err.Error())
		}
		return out
	}
	ref := made(states.Expr{Kind: states.ExprRef, Name: states.NodesResult, Ref: states.Ref{Address: comparison, Range: at}})
	key := made(states.Expr{Kind: states.ExprLiteral, Value: node})
	of := made(states.Expr{Kind: states.ExprIndex, Args: []*states.Expr{ref, key}})
	return expr.DeferredValue(made(states.Expr{Kind: states.ExprGet, Name: field, Args: []*states.Expr{of}}), cty.DynamicPseudoType)
}

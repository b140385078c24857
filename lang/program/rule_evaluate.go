package program

import (
	"encoding/json"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// rules declares what the rules of the directory do: for each data a comparison, what is deleted from the innermost nodes to the outermost,
// what is made from the outermost to the innermost, and another look at what is there.
func (e *evaluator) rules() {
	for _, d := range e.ownDeclarations() {
		if d.rule == nil || !e.appliesToHost(d) {
			continue
		}
		if of := e.ruled(d); of != nil && !of.isDone {
			of.isDone = true
			(&ruleEvaluator{evaluator: e, of: of, comparison: e.prefix + "data." + of.name}).declare()
		}
	}
}

// withoutRules leaves out rules, which come behind what they read.
func withoutRules(list []*declaration) []*declaration {
	isRule := func(d *declaration) bool { return d.rule != nil }
	if !slices.ContainsFunc(list, isRule) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), isRule)
}

// ruleEvaluator evaluates the rules for one data.
type ruleEvaluator struct {
	*evaluator
	of         *ruledData
	comparison string // its address
	named      []ruleStates
	last       string // what the next one comes after
}

// ruleStates are the states that a rule names.
type ruleStates struct{ create, update, delete, validate *instance }

func (e *ruleEvaluator) declare() {
	before := len(e.list)
	for _, d := range e.of.rules {
		r := d.rule
		e.named = append(e.named, ruleStates{e.ruleState(r.create), e.ruleState(r.update), e.ruleState(r.delete), e.ruleState(r.validate)})
	}
	for i, d := range e.of.rules {
		if d.rule.create == nil && e.retriever(i) < 0 {
			e.errorAt(d.src, "add create = state.NAME, or retrieve what is there", "%s has no create, and nothing retrieves what is there: at first, nothing is", d.base)
		}
		e.checkPurge(i)
	}
	retrieved := e.retrieved()
	if e.list[before:].HasErrors() {
		for _, d := range e.of.rules {
			e.doubtful[e.prefix+d.base] = true
		}
		return
	}
	e.compare(e.comparison, retrieved.values, false)
	e.last = e.comparison
	for _, i := range slices.Backward(e.byDepth()) {
		e.deletion(i)
	}
	for _, i := range e.byDepth() {
		e.nodes(i)
	}
	again := e.lookAgain(retrieved)
	for i := range e.of.rules {
		e.validations(i, again)
	}
}

// checkPurge reports a rule that would purge what it cannot see, or cannot delete.
func (e *ruleEvaluator) checkPurge(i int) {
	d := e.of.rules[i]
	switch r := d.rule; {
	case !r.purge:
	case r.delete == nil:
		e.errorAt(r.purgeAt, "add delete = state.NAME", "%s purges, and has no delete", d.base)
	case e.retriever(i) < 0:
		e.errorAt(r.purgeAt, "add retrieve, to this rule or to one around it", "%s purges, and nothing retrieves what is there", d.base)
	}
}

// byDepth gives the indexes of the rules, those of outer nodes first.
func (e *ruleEvaluator) byDepth() []int {
	order := make([]int, len(e.of.rules))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(e.of.list[a].Selector) - len(e.of.list[b].Selector) })
	return order
}

// declaration begins one that a rule stands for.
func (e *ruleEvaluator) declaration(d *declaration, address, base string) states.Declaration {
	if e.instances[address] == nil {
		e.instances[address] = &instance{decl: d, address: address, owner: e.evaluator}
	}
	return states.Declaration{Kind: states.RunKind, Address: address, Base: base, File: e.prefix + d.file, Range: rangeOf(d.src)}
}

// compare declares a part that compares.
func (e *ruleEvaluator) compare(address string, retrieved map[string]cty.Value, verify bool) *states.Declaration {
	d := e.of.rules[0]
	at := rangeOf(d.src)
	var ignore []cty.Value
	for _, s := range e.of.decl.ignore {
		ignore = append(ignore, cty.StringVal(s.String()))
	}
	attributes := []expr.Attribute{{Name: "name", Value: cty.StringVal(address), Range: at}, {Name: "rules", Value: e.known(e.documentRules()), Range: at},
		{Name: "wanted", Value: e.hostData(e.of.wanted), Range: at}}
	if len(ignore) > 0 {
		attributes = append(attributes, expr.Attribute{Name: "ignore", Value: cty.ListVal(ignore), Range: at})
	}
	if len(retrieved) > 0 {
		attributes = append(attributes, expr.Attribute{Name: "retrieved", Value: cty.ObjectVal(retrieved), Range: at})
	}
	if e.of.former != nil {
		attributes = append(attributes, expr.Attribute{Name: "former", Value: e.hostData(e.of.former), Range: at})
	}
	if verify {
		attributes = append(attributes, expr.Attribute{Name: "verify", Value: cty.True, Range: at})
	}
	part, _, list := e.parts.Part(expr.PartInput{Module: e.site.options.Registry.ModuleOf(states.ComparisonType), Label: e.of.name, Range: at, Dir: ".", Attributes: attributes})
	e.list.Add(list...)
	part.Address, part.Base = address, address
	out := e.declaration(d, address, address)
	out.TopLevel, out.Parts = true, []states.PartDeclaration{part}
	out.Options.LeftOut = !slices.ContainsFunc(e.of.rules, func(d *declaration) bool { return !e.ruleOptions(d).LeftOut })
	e.out = append(e.out, out)
	return &e.out[len(e.out)-1]
}

// known gives plain data as a value.
func (e *ruleEvaluator) known(plain any) cty.Value {
	v, err := valueWithSecrets(plain)
	if err != nil {
		e.errorAt(e.of.decl.src, diag.HintOf(err), "%v", err)
		return cty.DynamicVal
	}
	return v
}

// documentRules are the rules as the host has to know them, as plain data.
func (e *ruleEvaluator) documentRules() (list []any) {
	for i, d := range e.of.rules {
		r := states.DocumentRule{Address: e.prefix + d.base, Select: d.rule.selector.String(), Ordered: d.rule.ordered,
			Creates: d.rule.create != nil, Updates: d.rule.update != nil, Deletes: d.rule.delete != nil, Purges: d.rule.purge, Shared: e.sharers() != nil,
			Elsewhere: e.of.elsewhere[i]}
		if by := e.retriever(i); by >= 0 {
			r.Retrieves = e.prefix + e.of.rules[by].base
		}
		text, err := json.Marshal(r)
		var plain any
		if err == nil {
			err = json.Unmarshal(text, &plain)
		}
		if err != nil {
			panic("a rule is no JSON: " + err.Error())
		}
		list = append(list, plain)
	}
	return list
}

// retriever gives the rule whose retrieve tells of the nodes of a rule: its own, or that of the nearest rule around it; -1: none.
func (e *ruleEvaluator) retriever(i int) int {
	best := -1
	for k, d := range e.of.rules {
		if d.rule.retrieve == nil || k != i && !isAround(e.of.list[k].Selector, e.of.list[i].Selector) {
			continue
		}
		if k == i {
			return i
		}
		if best < 0 || len(e.of.list[k].Selector) > len(e.of.list[best].Selector) {
			best = k
		}
	}
	return best
}

// isAround reports whether what one selector selects is within what another one does.
func isAround(outer, inner rules.Selector) bool {
	return len(outer) < len(inner) && slices.EqualFunc(outer, inner[:len(outer)], func(a, b rules.Step) bool { return a.Field == b.Field })
}

// deletion declares what is made into an invocation for each node that is to be deleted.
func (e *ruleEvaluator) deletion(i int) {
	d, state := e.of.rules[i], e.named[i].delete
	if state == nil || e.sharers() != nil { // what another host of the same machine has made is not this one's
		return
	}
	base := e.prefix + d.base
	out := e.declaration(d, base+".delete", base)
	out.Options = e.ruleOptions(d)
	out.Options.Tags = nil // a selection by tags deletes nothing
	at := rangeOf(d.src)
	given := map[string]cty.Value{"data": e.data(e.of.name)}
	for param, field := range map[string]string{"node": "old", "path": "path", "parent": "around", "old": "old", "diff": "diff"} {
		given[param] = nodeResult(e.comparison, base, field, at)
	}
	out.Node = &states.RuleNode{Comparison: e.comparison, Rule: base, Deletes: true, Parallel: d.rule.parallel}
	out.Parts = e.ruleParts(state, d.rule.delete, out.Address, "", states.DeleteNode, given)
	for k := range out.Parts {
		out.Parts[k].Options.Tags = nil
	}
	e.follow(&out, at)
	e.last = out.Address
	e.out = append(e.out, out)
}

// ruleOptions are the options of a rule.
func (e *ruleEvaluator) ruleOptions(d *declaration) states.Options {
	for _, in := range e.instancesByBase[e.prefix+d.base] {
		return *in.options
	}
	return optionValues{e.expressions}.options(d.options, d.guards, e.root)
}

// follow lets a declaration come after the comparison, and after what is before it.
func (e *ruleEvaluator) follow(out *states.Declaration, at diag.Range) {
	out.Options.Require = append(slices.Clone(out.Options.Require), states.Ref{Address: e.comparison, Range: at})
	if e.last != e.comparison {
		out.Options.Follows = append(slices.Clone(out.Options.Follows), states.Ref{Address: e.last, Range: at})
	}
}

// nodes declares what makes the nodes of a rule.
func (e *ruleEvaluator) nodes(i int) {
	d, named := e.of.rules[i], e.named[i]
	base, before := e.prefix+d.base, e.last
	at := rangeOf(d.src)
	for _, in := range e.instancesByBase[base] {
		if e.of.addresses[placeOf(in.node.Hit.At)] == "" {
			e.empty = append(e.empty, in.address)
			continue
		}
		out := e.declaration(d, in.address, base)
		out.Options = *in.options
		out.Node = &states.RuleNode{Comparison: e.comparison, Rule: base, Address: in.address}
		e.follow(&out, at)
		if around := e.of.around(in.node); around != "" {
			out.Within = []states.Ref{{Address: around, Range: at}}
		}
		out.Parts = e.nodeParts(d, named, in)
		if e.last = in.address; d.rule.parallel {
			e.last = before
		}
		e.out = append(e.out, out)
	}
}

func (e *ruleEvaluator) nodeParts(d *declaration, named ruleStates, in *instance) (parts []states.PartDeclaration) {
	r, at := d.rule, rangeOf(d.src)
	given := e.wantedNode(in)
	isOne := named.create != nil && named.create == named.update
	if named.update != nil {
		given["old"], given["diff"] = nodeResult(e.comparison, in.address, "old", at), nodeResult(e.comparison, in.address, "diff", at)
		if isOne {
			return e.ruleParts(named.update, r.update, in.address, "", "", given)
		}
		parts = e.ruleParts(named.update, r.update, in.address, "update.", states.UpdateNode, given)
	}
	if named.create != nil {
		given["old"], given["diff"] = cty.NullVal(cty.DynamicPseudoType), cty.NullVal(cty.DynamicPseudoType)
		parts = append(parts, e.ruleParts(named.create, r.create, in.address, "create.", states.CreateNode, given)...)
	}
	return parts
}

// wantedNode is what is known of a node that is wanted.
func (e *ruleEvaluator) wantedNode(in *instance) map[string]cty.Value {
	h := in.node.Hit
	return map[string]cty.Value{"node": e.known(h.Node), "path": e.known(h.Path), "parent": e.known(h.Parent), "data": e.data(e.of.name),
		"old": cty.NullVal(cty.DynamicPseudoType), "diff": cty.NullVal(cty.DynamicPseudoType)}
}

// validations declares what checks the nodes of a rule.
func (e *ruleEvaluator) validations(i int, again string) {
	d, state := e.of.rules[i], e.named[i].validate
	if state == nil {
		return
	}
	at := rangeOf(d.src)
	for _, in := range e.instancesByBase[e.prefix+d.base] {
		out := e.declaration(d, in.address+".validate", in.address+".validate")
		if e.of.addresses[placeOf(in.node.Hit.At)] != "" {
			out.Options.Require = append(out.Options.Require, states.Ref{Address: in.address, Range: at})
		}
		if again != "" {
			out.Options.Require = append(out.Options.Require, states.Ref{Address: again, Range: at})
		}
		out.Options.LeftOut, out.Options.Tags = in.options.LeftOut, in.options.Tags
		out.Parts = e.ruleParts(state, d.rule.validate, out.Address, "", "", e.wantedNode(in))
		e.onlyReads(d, d.rule.validate.Range(), "validate", out.Parts)
		e.out = append(e.out, out)
	}
}

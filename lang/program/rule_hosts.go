package program

import (
	"errors"
	"fmt"
	"maps"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/rules"
)

// errHosts says that the hosts of a node are not known, which has been reported.
var errHosts = errors.New("the hosts of a node are not known")

// ofThisHost leaves out of a document the nodes that rules give to other hosts.
func (e *evaluator) ofThisHost(of *ruledData, plain any) (any, error) {
	var others []*rules.Node
	for _, n := range of.nodes {
		if of.rules[n.Rule].rule.hosts == nil {
			continue
		}
		isHere, ok := e.isOfHost(of, n)
		if !ok {
			return nil, errHosts
		}
		if !isHere {
			others = append(others, n)
		}
	}
	of.noteElsewhere(others)
	return rules.WithoutNodes(plain, others), nil
}

// noteElsewhere notes the rules whose nodes are all within those of other hosts: that none is left for this host does not make the document an empty one.
func (of *ruledData) noteElsewhere(others []*rules.Node) {
	places := map[string]bool{}
	for _, n := range others {
		places[placeOf(n.Hit.At)] = true
	}
	if of.elsewhere = map[int]bool{}; len(places) == 0 {
		return
	}
	here := map[int]bool{}
	for _, n := range of.nodes {
		isElsewhere := false
		for i := range n.Hit.At {
			isElsewhere = isElsewhere || places[placeOf(n.Hit.At[:i+1])]
		}
		if isElsewhere {
			of.elsewhere[n.Rule] = true
		} else {
			here[n.Rule] = true
		}
	}
	maps.DeleteFunc(of.elsewhere, func(rule int, _ bool) bool { return here[rule] })
}

// isOfHost reports whether a node belongs to the host that is evaluated; ok is false where that is not known.
func (e *evaluator) isOfHost(of *ruledData, n *rules.Node) (isHere, ok bool) {
	p, ok := e.hostsPattern(of, n)
	if !ok {
		return false, false
	}
	if !e.hosts.incomplete {
		if err := p.Check(e.hosts.list(), e.hosts.groupNames); err != nil {
			e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is for a host that there is not: %v", nodeAddress(of.rules[n.Rule].base, n), err), Range: e.placeIn(of, n.Hit.At),
				Hint: diag.HintOf(err), Related: []diag.Related{{Message: "its hosts are computed here", Range: rangeOf(of.rules[n.Rule].rule.hosts.Range())}}})
			return false, false
		}
	}
	return p.Matches(e.host.Name, e.host.Groups), true
}

// hostsPattern gives the hosts to which a node belongs; ok is false where that is not known, which has been reported.
func (e *evaluator) hostsPattern(of *ruledData, n *rules.Node) (p site.Pattern, ok bool) {
	a := of.rules[n.Rule].rule.hosts
	if e.host == nil {
		e.errorAt(a.Range(), "leave it out, or declare hosts", "%s gives its nodes to hosts, and the site declares none", of.rules[n.Rule].base)
		return p, false
	}
	ctx := e.root.NewChild()
	ctx.Variables = map[string]cty.Value{}
	for name, plain := range map[string]any{"node": n.Hit.Node, "path": n.Hit.Path, "parent": n.Hit.Parent} {
		v, err := valueWithSecrets(plain)
		if err != nil {
			e.errorAt(a.Range(), diag.HintOf(err), "%v", err)
			return p, false
		}
		ctx.Variables[name] = v
	}
	v, ok := e.hostsOf(of, n, ctx)
	if !ok {
		if v.IsKnown() && v.IsNull() {
			e.errorAt(a.Range(), `write hosts = path.switches, or hosts = "@edge"`, "the hosts of %s are null", nodeAddress(of.rules[n.Rule].base, n))
		}
		return p, false
	}
	terms := []string{}
	plain, sensitive := expr.Split(v)
	if sensitive {
		e.errorAt(a.Range(), "compute them of what is not", "the hosts of %s are sensitive, and the plan of each host would tell them", nodeAddress(of.rules[n.Rule].base, n))
		return p, false
	}
	text, err := expr.Text(plain)
	if err == nil {
		terms = append(terms, text)
	} else if terms, err = expr.Texts(v); err != nil {
		e.wrongValue(a, fmt.Errorf("a pattern of hosts is required, or a list of them: %w", err), patternHint)
		return p, false
	}
	for _, term := range terms {
		p = p.Join(site.ParsePattern(term))
	}
	return p, true
}

// hostsOf computes the hosts of a node; where that fails, it has been reported, but for null.
func (e *evaluator) hostsOf(of *ruledData, n *rules.Node, ctx *hcl2.EvalContext) (v cty.Value, ok bool) {
	r := of.rules[n.Rule].rule
	if r.hostsOf == nil {
		return e.attribute(r.hosts, ctx)
	}
	values := map[string]cty.Value{}
	for name, plain := range map[string]any{"node": n.Hit.Node, "path": n.Hit.Path, "parent": n.Hit.Parent} {
		// A script would have to take all of a value as sensitive in which something is.
		v, err := expr.Value(rules.EachSecret(plain, func(rules.Secret) any { return nil }))
		if err != nil {
			e.errorAt(r.hosts.Range(), diag.HintOf(err), "%v", err)
			return cty.DynamicVal, false
		}
		values[name] = v
	}
	v, err := r.hostsOf(values)
	if err != nil {
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the hosts of %s: %v", nodeAddress(of.rules[n.Rule].base, n), err), Range: rangeOf(r.hosts.Range()), Hint: diag.HintOf(err)})
		return cty.DynamicVal, false
	}
	return v, v.IsKnown() && !v.IsNull()
}

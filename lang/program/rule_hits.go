package program

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// ruledData is the data of a host with the rules for it.
type ruledData struct {
	name   string // of the data
	decl   *dataDecl
	rules  []*declaration
	list   []rules.Rule
	wanted any // without what is ignored
	// hasSecrets: something in it is sensitive, on whatever host.
	hasSecrets bool
	former     any // likewise, what is taken for what was there; nil: what the host remembers is
	nodes      []*rules.Node
	// elsewhere are the rules, by their place in the list, that give nodes to other hosts alone.
	elsewhere map[int]bool
	// addresses are those of nodes that have an invocation, by what leads to them.
	addresses map[string]string
	isDone    bool // all of it is declared
}

// ruled gives the data that a rule is for; nil where something is wrong with it, which has been reported.
func (e *evaluator) ruled(d *declaration) *ruledData {
	name := d.rule.data
	if known, ok := e.ruledData[name]; ok {
		return known
	}
	if e.ruledData == nil {
		e.ruledData = map[string]*ruledData{}
	}
	e.ruledData[name] = nil
	if made := e.divideData(name); made != nil {
		e.ruledData[name] = made
	}
	return e.ruledData[name]
}

func (e *evaluator) divideData(name string) *ruledData {
	out := &ruledData{name: name, addresses: map[string]string{}}
	for _, d := range e.ownDeclarations() {
		if d.rule == nil || d.rule.data != name || !e.appliesToHost(d) {
			continue
		}
		if e.top.site.name == "" {
			e.errorAt(d.src, `add site { name = "…" }`, "%s needs a site with a name: by that the host remembers what the rule has made", d.base)
			return nil
		}
		if len(d.rule.selector) == 0 {
			return nil // which has been reported
		}
		out.rules = append(out.rules, d)
		out.list = append(out.list, rules.Rule{Name: d.base, Selector: d.rule.selector, Ordered: d.rule.ordered})
	}
	decl, has := e.site.data.Of(name, e.hostRoles())
	switch {
	case !has && !e.site.data.Has(name) && e.site.dir.Scripts == nil:
		return nil // which has been reported
	case !has:
		e.errorAt(out.rules[0].src, "declare it at top level, or give the host the role", "this host does not have data.%s, which %s is for", name, out.rules[0].base)
		return nil
	}
	out.decl = decl
	v := e.data(name)
	if known, _ := expr.Split(v); !known.IsWhollyKnown() {
		return nil
	}
	plain, err := plainWithSecrets(v)
	if secret, all := plain.(rules.Secret); all && err == nil && secret.Value != nil {
		e.errorAt(out.rules[0].src, "let only what is secret in it be sensitive", "all of data.%s is sensitive, and what tells nodes apart is shown", name)
		return nil
	}
	if err != nil {
		e.errorAt(decl.src, diag.HintOf(err), "%v", err)
		return nil
	}
	whole, err := rules.Divide(out.list, plain, true)
	if err != nil {
		e.reportDivision(out, err)
		return nil
	}
	out.nodes, out.hasSecrets = whole.Nodes, rules.HasSecret(plain)
	if plain, err = e.ofThisHost(out, plain); err != nil {
		return nil
	}
	if out.wanted, err = rules.Without(plain, decl.ignore); err == nil {
		var d *rules.Division
		if d, err = rules.Divide(out.list, out.wanted, true); err == nil {
			out.nodes = d.Nodes
		}
	}
	if err != nil {
		e.errorAt(decl.src, "let ignore select the same elements by the same keys as the rules", "ignore: %v", err)
		return nil
	}
	if !e.readFormer(out) {
		return nil
	}
	return out
}

// reportDivision reports rules that do not fit together, or a document that does not fit them, at its line.
func (e *evaluator) reportDivision(of *ruledData, err error) {
	if c, ok := errors.AsType[*rules.ConflictError](err); ok {
		first, second := of.rules[c.First], of.rules[c.Second]
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s and %s tell the elements of %q apart differently", first.base, second.base, c.Field), Range: rangeOf(second.rule.place),
			Hint: "select them by the same keys", Related: []diag.Related{{Message: first.base + " selects them here", Range: rangeOf(first.rule.place)}}})
		return
	}
	d, ok := errors.AsType[*rules.DocumentError](err)
	if !ok {
		e.errorAt(of.rules[0].src, "", "%v", err)
		return
	}
	rule := of.rules[d.Rule]
	e.list.Add(diag.Diagnostic{Summary: d.Error(), Range: e.placeIn(of, d.At), Hint: "give each element a key of its own, or select by another one",
		Related: []diag.Related{{Message: fmt.Sprintf("%s selects %s", rule.base, rule.rule.selector), Range: rangeOf(rule.rule.place)}}})
}

// placeIn is where something stands in a document, or the value that stands for it.
func (e *evaluator) placeIn(of *ruledData, at []string) diag.Range {
	switch node := e.documents[of.name]; {
	case node != nil:
		return node.At(at).Range
	case of.decl.value != nil:
		return rangeOf(of.decl.value.Range())
	}
	return rangeOf(of.decl.src)
}

// noteRuleStates notes which states rules name, be it rules that the host does not have: they are not invoked by themselves.
func (e *evaluator) noteRuleStates() {
	before := len(e.list)
	for _, d := range e.site.declarations {
		if d.rule == nil {
			continue
		}
		for _, a := range d.rule.states() {
			for _, r := range e.refs(a, e.root) {
				if e.ruleStates == nil {
					e.ruleStates = map[string]bool{}
				}
				e.ruleStates[r.Address] = true
			}
		}
	}
	e.list = e.list[:before] // what is wrong with them is told where they are used
}

// expandRule finds the nodes of a rule.
func (e *evaluator) expandRule(d *declaration) {
	base := e.prefix + d.base
	of := e.ruled(d)
	if of == nil {
		e.doubtful[base] = true
		return
	}
	options := optionValues{e.expressions}.options(d.options, d.guards, e.root)
	index := slices.Index(of.rules, d)
	found := false
	for _, n := range of.nodes {
		if n.Rule != index {
			continue
		}
		found = true
		in := &instance{decl: d, address: nodeAddress(base, n), owner: e, node: n, options: &options}
		e.instances[in.address] = in
		e.instancesByBase[base] = append(e.instancesByBase[base], in)
		if len(d.rule.states()) > 0 {
			of.addresses[placeOf(n.Hit.At)] = in.address
		}
	}
	if !found {
		e.empty = append(e.empty, base)
		e.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("%s selects nothing in data.%s", d.base, d.rule.data), Range: rangeOf(d.rule.place),
			Hint: "compare it with the document, if something should be there"})
	}
}

// nodeAddress is the address of a node: rule.vlan["core1/10"].
func nodeAddress(rule string, n *rules.Node) string {
	if n.Hit.Name == "" {
		return rule
	}
	return states.InstanceAddress(rule, n.Hit.Name)
}

// placeOf is what leads to a node, as a key.
func placeOf(at []string) string {
	var b strings.Builder
	for _, s := range at {
		b.WriteString(strconv.Quote(s))
	}
	return b.String()
}

// around gives the address of the nearest node around one; empty: there is none.
func (of *ruledData) around(n *rules.Node) string {
	for i := len(n.Hit.At) - 1; i > 0; i-- {
		if address := of.addresses[placeOf(n.Hit.At[:i])]; address != "" {
			return address
		}
	}
	return ""
}

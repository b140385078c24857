package program

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// ruleDecl is what rule "NAME" { … } has beside its options.
type ruleDecl struct {
	data     string // the name of the data
	selector rules.Selector
	place    hcl2.Range // of the selector
	ordered  bool
	parallel bool
	purge    bool
	purgeAt  hcl2.Range

	create, update, delete, validate *syntax.Attribute // states
	retrieve, hosts                  *syntax.Attribute
	hostsOf                          func(values map[string]cty.Value) (cty.Value, error) // in the place of hosts, which says where it stands
}

// states are the attributes that name states.
func (r *ruleDecl) states() (list []*syntax.Attribute) {
	for _, a := range []*syntax.Attribute{r.create, r.update, r.delete, r.validate} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// attributes are those that are evaluated for a host.
func (r *ruleDecl) attributes() []*syntax.Attribute {
	return append(r.states(), r.retrieve)
}

func (d *decoder) rule(out *declaration, b *syntax.Block) {
	d.check(b.Body, d.shapes.Rule, nil)
	out.options, out.guards = d.options(b.Body), d.guards(b.Body)
	out.kind = states.RunKind
	out.entry.OpenParts = true
	a := b.Body.Attribute
	r := &ruleDecl{create: a("create"), update: a("update"), delete: a("delete"), validate: a("validate"), retrieve: a("retrieve"), hosts: a("hosts")}
	r.hostsOf = b.Hosts
	out.rule = r
	d.ruleData(out, a("data"), b)
	if a("select") == nil {
		d.errorAt(b.Header, `add select = "switches[name].vlans[id]"`, "%s selects nothing", out.base)
	} else {
		r.place = a("select").Range()
		d.ruleSelector(r, a("select"))
	}
	flag := func(name string, to *bool) {
		d.literal(b.Body, name, cty.Bool, func(v cty.Value) { *to = !v.IsNull() && v.True() })
	}
	flag("ordered", &r.ordered)
	flag("parallel", &r.parallel)
	if flag("purge", &r.purge); r.purge {
		r.purgeAt = a("purge").Range()
	}
	out.entry.Instances = out.entry.Instances || r.isMany()
}

// isMany reports whether the selector selects elements.
func (r *ruleDecl) isMany() bool {
	for _, step := range r.selector {
		if step.Each || len(step.Keys) > 0 {
			return true
		}
	}
	return false
}

// ruleData reads data = data.NAME.
func (d *decoder) ruleData(out *declaration, a *syntax.Attribute, b *syntax.Block) {
	const hint = "write data = data.NAME"
	if a == nil {
		d.errorAt(b.Header, hint, "%s names no data", out.base)
		return
	}
	t, ok := a.Expr.Expression.(*hclsyntax.ScopeTraversalExpr)
	name := ""
	if ok && t.Traversal.RootName() == "data" && len(t.Traversal) == 2 {
		name, _ = stepName(t.Traversal, 1)
	}
	if name == "" {
		d.errorAt(a.Range(), hint, "the data of a rule is named literally")
		return
	}
	out.rule.data = name
}

func (d *decoder) ruleSelector(r *ruleDecl, a *syntax.Attribute) {
	const hint = `write fields with dots between them, behind each what tells the elements of a list apart: switches[name].vlans[id]`
	v, diags := a.Expr.Value(nil)
	switch {
	case diags.HasErrors():
		d.errorAt(a.Range(), "write the selector itself, without references and functions", "select cannot be computed")
		return
	case v.IsNull() || v.Type() != cty.String:
		d.errorAt(a.Range(), hint, "a selector is text, not %s", expr.Kind(v))
		return
	}
	var err error
	if r.selector, err = rules.ParseSelector(v.AsString()); err != nil {
		d.errorAt(placeInText(a.Expr.Range(), v.AsString(), err), hint, "the selector %q: %v", v.AsString(), err)
	}
}

// checkRules reports rules whose data is not declared, and rules in a site without a name.
func (p *Program) checkRules(d *decoder) {
	for _, rule := range p.declarations {
		if rule.rule == nil || rule.rule.data == "" || p.data.Has(rule.rule.data) {
			continue
		}
		d.errorAt(rule.src, "declare it: data \""+rule.rule.data+"\" { file = … }", "%s is for data.%s, which is not declared", rule.base, rule.rule.data)
	}
}

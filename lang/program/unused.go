package program

import (
	"fmt"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// uses are the names that the expressions of a directory use. Nil counts nothing.
type uses struct {
	values  map[string]bool // var.NAME and local.NAME
	params  map[*param]bool
	all     bool            // any variable may be: host.vars, with a name that is computed
	checked map[string]bool // variables that their own conditions name
	scripts syntax.Scripts  // of the directory; nil: there are none
}

// countUses lets the directory be read for what its expressions use, without its scripts.
func (p *Program) countUses() {
	p.uses = &uses{values: map[string]bool{}, params: map[*param]bool{}, checked: map[string]bool{}, scripts: p.dir.Scripts}
	dir := *p.dir
	dir.Scripts = nil
	p.dir = &dir
}

// count counts var.NAME, local.NAME or param.NAME.
func (u *uses) count(s scope, root, name string) {
	switch {
	case u == nil:
	case root == "var" && s.validates == name:
		u.checked[name] = true
	case root == "param" && s.params != nil:
		u.params[s.params.param(name)] = true
	default:
		u.values[root+"."+name] = true
	}
}

// countSteps counts the variables of hosts that a traversal leads to: host.vars.NAME.
func (u *uses) countSteps(t hcl2.Traversal) {
	if u == nil {
		return
	}
	for i := range t {
		if attr, ok := t[i].(hcl2.TraverseAttr); !ok || attr.Name != "vars" {
			continue
		}
		if name, ok := stepName(t, i+1); ok {
			u.values["var."+name] = true
		} else {
			u.all = true
		}
	}
}

// Unused warns of variables, locals and params that nothing in their directory uses. The
// directories are read for that once more, since only this asks for it; what is wrong with them
// has been reported. A name that begins with "_" may be unused.
func Unused(dirs []*Directory, o Options) diag.List {
	o.countUses = true
	components := map[string]*Program{}
	var list diag.List
	for _, dir := range dirs {
		p := components[dir.Name]
		if p == nil {
			p, _ = parseDirectory(dir, o, &Program{components: components})
		}
		p.addUnused(&list)
	}
	return list.Sorted()
}

func (p *Program) addUnused(list *diag.List) {
	mentions := map[string]bool{}
	if p.uses.scripts != nil {
		mentions = p.uses.scripts.Mentions()
	}
	warn := func(what, name, reference string, at hcl2.Range) {
		if !strings.HasPrefix(name, "_") && !mentions[name] {
			list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("nothing uses the %s %q", what, name), Range: rangeOf(at),
				Hint: fmt.Sprintf("use %s, or leave it out; a name that begins with _ may stay unused", reference)})
		}
	}
	for _, name := range p.variables.Names() {
		for _, v := range p.variables.All(name) {
			if used := p.uses.all || p.uses.values["var."+name] || v.Export || len(v.validations) > 0 && !p.uses.checked[name]; !used {
				warn("variable", name, "var."+name, hclRange(v.Range))
			}
		}
	}
	for _, v := range p.scriptVariables() {
		if name := v.Labels[0]; !p.uses.all && !p.uses.values["var."+name] {
			warn("variable", name, "var."+name, v.Header)
		}
	}
	for _, name := range p.locals.Names() {
		for _, x := range p.locals.All(name) {
			if !p.uses.values["local."+name] {
				warn("local", name, "local."+name, x.src)
			}
		}
	}
	for _, d := range p.declarations {
		for _, x := range d.params {
			if !p.uses.params[x] {
				warn("param", x.name, "param."+x.name, x.src)
			}
		}
	}
}

// scriptVariables are those that scripts of the directory declare, as it is written, and that
// nobody asks for otherwise: exported ones, and conditions that say nothing of them, count as used.
func (p *Program) scriptVariables() (all []*syntax.Block) {
	if p.uses.scripts == nil {
		return nil
	}
	for _, b := range p.uses.scripts.Calls("variable") {
		_, ok := label(b)
		if ok && b.Body.Attribute("validation") == nil && !p.variables.Has(b.Labels[0]) && !strings.HasPrefix(b.Header.Filename, "std:") && !mayBeTrue(b.Body.Attribute("export")) {
			all = append(all, b)
		}
	}
	return all
}

// mayBeTrue reports whether an attribute is given, and is not false.
func mayBeTrue(a *syntax.Attribute) bool {
	if a == nil {
		return false
	}
	v, diags := a.Expr.Value(nil)
	return diags.HasErrors() || v.Type() != cty.Bool || v.IsNull() || v.True()
}

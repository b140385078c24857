package program

import (
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// role is a set of variables and declarations that a host gets by name.
type role struct {
	name string
	src  hcl2.Range
	vars *syntax.Attribute
}

func (d *decoder) roleBlock(b *syntax.Block, file string) {
	d.check(b.Body, d.shapes.Role, nil)
	if !d.identifier(b) {
		return
	}
	r := &role{name: b.Labels[0], src: b.Header, vars: b.Body.Attribute("vars")}
	if first := d.site.roles[r.name]; first != nil {
		d.duplicate("role."+r.name, b.Header, at(first.src))
		return
	}
	d.site.roles[r.name] = r
	d.role = r.name
	d.contents(b.Body, file)
	d.role = ""
}

// hasRole reports whether the host that is evaluated has a role. A site without
// hosts is for one that has them all.
func (e *evaluator) hasRole(name string) bool {
	return e.host == nil || slices.Contains(e.host.Roles, name)
}

// onHost reports whether the host that is evaluated has a declaration, by its
// roles.
func (e *evaluator) onHost(d *declaration) bool { return d.role == "" || e.hasRole(d.role) }

// meansNothing reports whether what is not there is in something that this host
// does not have, or that is left out: references to it make no mistake.
func (e *evaluator) meansNothing(address string) bool {
	return slices.ContainsFunc(e.nothing, func(prefix string) bool { return strings.HasPrefix(address+".", prefix) })
}

// movedDecl is moved { from, to }.
type movedDecl struct {
	from, to *syntax.Attribute
	src      hcl2.Range
}

func (d *decoder) movedBlock(b *syntax.Block) {
	d.check(b.Body, d.shapes.Moved, nil)
	m := movedDecl{b.Body.Attribute("from"), b.Body.Attribute("to"), b.Header}
	if m.from == nil || m.to == nil {
		d.errorAt(b.Header, "write from = OLD and to = NEW, two references", "moved needs from and to")
		return
	}
	d.site.moved = append(d.site.moved, m)
}

// moved gives the renamings. The old address is declared no longer, so that it
// is taken as it is written.
func (e *evaluator) moved() []states.Moved {
	var out []states.Moved
	for _, m := range e.site.moved {
		from, ok := addressOf(m.from.Expr.Expression)
		if !ok {
			e.errorAt(m.from.Range(), "write it as a reference, such as state.old", "from: this is no address")
			continue
		}
		if e.bases[from] != nil || e.instances[from] != nil {
			e.errorAt(m.from.Range(), "take away the old declaration, or the moved block", "from: %s is still declared", from)
			continue
		}
		refs, err := eval.Refs(e.value(m.to.Expr, e.root), at(m.to.Range()))
		if err == nil && len(refs) != 1 {
			if m.to.Expr.Bad {
				continue
			}
			err = fmt.Errorf("one reference is required")
		}
		if err != nil {
			e.wrongValue(m.to, err, "write it as a reference, such as state.new")
			continue
		}
		to := refs[0].Address
		if refs[0].Part != "" {
			to += "." + refs[0].Part
		}
		out = append(out, states.Moved{From: from, To: to, Range: at(m.src)})
	}
	return out
}

// addressOf writes a reference whose steps are all literal as an address.
func addressOf(x hclsyntax.Expression) (string, bool) {
	t, ok := x.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(t.Traversal) < 2 {
		return "", false
	}
	address, steps := "", t.Traversal
	for i := 0; i < len(steps); {
		step, ok := stepOf(steps[i])
		if !ok {
			return "", false
		}
		if step.Index {
			address = states.InstanceAddress(address, step.Key)
			i++
			continue
		}
		if i+1 == len(steps) {
			return "", false
		}
		label, ok := stepOf(steps[i+1])
		if !ok {
			return "", false
		}
		if address != "" {
			address += "."
		}
		address += states.LabelAddress(step.Key, label.Key)
		i += 2
	}
	return address, true
}

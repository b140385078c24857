package program

import (
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

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

// isMoved reports whether an address, as it is written, is the former one of
// another renaming, so that it need not be declared: a became b, and b became c.
func (p *Program) isMoved(x *syntax.Attribute) bool {
	address, ok := addressOf(x.Expr.Expression)
	return ok && slices.ContainsFunc(p.moved, func(m movedDecl) bool {
		from, ok := addressOf(m.from.Expr.Expression)
		return ok && from == address
	})
}

// renames gives the renamings, those in components included.
func (e *evaluator) renames() []states.Moved {
	var out []states.Moved
	for _, m := range e.site.moved {
		if one, ok := e.rename(m, out); ok {
			out = append(out, one)
		}
	}
	for _, d := range e.ownDeclarations() {
		for _, in := range e.instancesByBase[e.prefix+d.base] {
			if in.inner != nil {
				out = append(out, in.inner.renames()...)
			}
		}
	}
	return out
}

// rename gives one renaming. The old address is declared no longer, so that it
// is taken as it is written.
func (e *evaluator) rename(m movedDecl, before []states.Moved) (out states.Moved, ok bool) {
	from, ok := addressOf(m.from.Expr.Expression)
	if !ok {
		e.errorAt(m.from.Range(), "write it as a reference, such as state.old", "from: this is no address")
		return out, false
	}
	if e.isDeclared(e.prefix + from) {
		e.errorAt(m.from.Range(), "take away the old declaration, or the moved block", "from: %s is still declared", from)
		return out, false
	}
	out = states.Moved{From: e.prefix + from, Range: rangeOf(m.src)}
	if i := slices.IndexFunc(before, func(o states.Moved) bool { return o.From == out.From }); i >= 0 {
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is moved twice", from), Range: rangeOf(m.from.Range()), Hint: "keep one of the two",
			Related: []diag.Related{{Message: "first moved here", Range: before[i].Range}}})
		return out, false
	}
	if e.site.isMoved(m.to) {
		to, _ := addressOf(m.to.Expr.Expression)
		out.To = e.prefix + to
		return out, true
	}
	refs, err := expr.Refs(e.value(m.to.Expr, e.root), rangeOf(m.to.Range()))
	if err == nil && len(refs) != 1 {
		if m.to.Expr.Bad {
			return out, false
		}
		err = fmt.Errorf("one reference is required")
	}
	if err != nil {
		e.wrongValue(m.to, err, "write it as a reference, such as state.new")
		return out, false
	}
	referenceCheck{e.evaluation}.refs(refs, "")
	out.To = refs[0].Address
	if refs[0].Part != "" {
		out.To += "." + refs[0].Part
	}
	return out, true
}

// isDeclared reports whether a declaration, or a part of one, has an address.
func (e *evaluator) isDeclared(address string) bool {
	if e.bases[address] != nil || e.instances[address] != nil {
		return true
	}
	for _, in := range e.instances {
		part, within := strings.CutPrefix(address, in.address+".")
		if within && in.decl.component == nil && (in.parts[part] || in.decl.entry.Parts[part] != nil) {
			return true
		}
	}
	return false
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
		address += states.LabelAddress(expr.DeclaredRoot(step.Key), label.Key)
		i += 2
	}
	return address, true
}

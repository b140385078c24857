package program

import (
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/syntax"
)

// AllFacts stands for the names of all facts.
const AllFacts = "*"

// FactNames lists the top-level facts that an evaluation may ask for, sorted;
// AllFacts alone where that cannot be seen.
func (p *Program) FactNames() []string {
	names := map[string]bool{"home": true} // for "~", which any text may begin with
	if !p.factNames(names, map[string]bool{}) {
		return []string{AllFacts}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return !hclsyntax.ValidIdentifier(name) })
	return slices.Sorted(maps.Keys(names))
}

// factNames adds the facts that a directory and the components in it name; false:
// they cannot be seen.
func (p *Program) factNames(names, seen map[string]bool) bool {
	if p.broken {
		return false
	}
	if seen[p.dir.Name] {
		return true
	}
	seen[p.dir.Name] = true
	for _, name := range p.facts {
		names[name] = true
	}
	for _, d := range p.declarations {
		if d.component != nil && !d.component.factNames(names, seen) {
			return false
		}
	}
	var asked []syntax.Requests
	for _, l := range p.libraries {
		if p.dir.Library != nil {
			asked = append(asked, p.dir.Library.Requests(l.source))
		}
	}
	if p.dir.Scripts != nil {
		asked = append(asked, p.dir.Scripts.Requests(""))
	}
	for _, a := range asked {
		if a.Unbounded || !p.scriptFacts(a, names, seen) {
			return false
		}
	}
	return true
}

// scriptFacts adds the facts that scripts name, and their components.
func (p *Program) scriptFacts(a syntax.Requests, names, seen map[string]bool) bool {
	for _, name := range a.Facts {
		names[name] = true
	}
	own := *p // a program may be evaluated meanwhile
	own.components = maps.Clone(p.components)
	d := &decoder{shapes: p.shapes, site: &own}
	for _, source := range a.Sources {
		// What cannot be opened is reported by the evaluation.
		if inner := d.open(source, hcl2.Range{}); inner != nil && !inner.factNames(names, seen) {
			return false
		}
	}
	return true
}

// factsIn finds the facts that the expressions of a body name, before they are
// linked.
func factsIn(b *syntax.Body) []string {
	w := &factFinder{}
	w.body(b)
	return w.names
}

type factFinder struct{ names []string }

func (w *factFinder) body(b *syntax.Body) {
	for _, a := range b.Attributes {
		hclsyntax.Walk(a.Expr.Expression, w) // its diagnostics are Enter's: none
	}
	for _, sub := range b.Blocks {
		w.body(sub.Body)
	}
}

// Enter looks at one node.
func (w *factFinder) Enter(n hclsyntax.Node) hcl2.Diagnostics {
	if n, ok := n.(*hclsyntax.ScopeTraversalExpr); ok && n.Traversal.RootName() == "fact" {
		if name, ok := stepName(n.Traversal, 1); ok {
			w.names = append(w.names, name)
		}
	}
	return nil
}

// Exit has nothing to do.
func (*factFinder) Exit(hclsyntax.Node) hcl2.Diagnostics { return nil }

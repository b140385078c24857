package internal_test

import (
	"go/ast"
	"testing"
)

// What is to be the same everywhere is done in one place, of which all make use.
func TestDoneInOnePlace(t *testing.T) {
	places := map[string]string{ // by selector: the package
		"SetEscapeHTML": "internal/plainjson", // the form of JSON
		"Bidi_Control":  "lang/diag",          // what a terminal must not get
	}
	used := map[string]bool{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if dir, known := places[selector.Sel.Name]; known && dir == f.dir {
				used[selector.Sel.Name] = true
			} else if known {
				t.Errorf("%s: %s is for %s alone", f.fset.Position(n.Pos()), selector.Sel.Name, dir)
			}
			return true
		})
	}
	for name, dir := range places {
		if !used[name] {
			t.Errorf("%s does not use %s", dir, name)
		}
	}
}

package internal_test

import (
	"go/ast"
	"testing"
)

// A host that wraps another one by embedding it answers what that one can do, unless it
// shadows a method. So each package with such a wrapper compares it with the host that it
// wraps, by hosttest.Capabilities.
func TestWrappersOfHostsAreCompared(t *testing.T) {
	wrappers, compared := map[string]string{}, map[string]bool{}
	for _, f := range files(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && !f.test && f.dir != "runtime/host/hosttest" && embedsHost(f.dir, s) {
					wrappers[f.dir] = n.Name.Name
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && f.test && x.Name == "hosttest" && n.Sel.Name == "Capabilities" {
					compared[f.dir] = true
				}
			}
			return true
		})
	}
	if len(wrappers) < 2 {
		t.Errorf("found wrappers only in %v", wrappers)
	}
	for dir, name := range wrappers {
		if !compared[dir] {
			t.Errorf("%s: %s wraps a host, and no test compares the two by hosttest.Capabilities", dir, name)
		}
	}
}

// embedsHost reports whether a type embeds the interface host.Host.
func embedsHost(dir string, s *ast.StructType) bool {
	for _, field := range s.Fields.List {
		switch x := field.Type.(type) {
		case *ast.Ident:
			if len(field.Names) == 0 && dir == "runtime/host" && x.Name == "Host" {
				return true
			}
		case *ast.SelectorExpr:
			if pkg, ok := x.X.(*ast.Ident); ok && len(field.Names) == 0 && pkg.Name == "host" && x.Sel.Name == "Host" {
				return true
			}
		}
	}
	return false
}

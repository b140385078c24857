package internal_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The sizes past which a file or a function wants to be two.
const (
	maxFileLines     = 400
	maxFunctionLines = 80
)

func TestSizes(t *testing.T) {
	for _, f := range files(t) {
		last := f.fset.Position(f.ast.FileEnd).Line
		if last > maxFileLines {
			t.Errorf("%s has %d lines", f.name, last)
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || f.test || strings.HasSuffix(f.dir, "test") { // a test may hold a long table
				continue
			}
			first, last := f.fset.Position(fn.Pos()).Line, f.fset.Position(fn.End()).Line
			if lines := last - first + 1; lines > maxFunctionLines {
				t.Errorf("%s:%d: %s has %d lines", f.name, first, fn.Name.Name, lines)
			}
		}
	}
}

// The library is what other programs import: every exported name there says
// what it is.
func TestExportedNamesAreDocumented(t *testing.T) {
	packages := map[string]bool{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		packages[f.dir] = packages[f.dir] || f.ast.Doc != nil
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && exportedReceiver(decl) && decl.Doc == nil {
					t.Errorf("%s: %s has no comment", f.fset.Position(decl.Pos()), decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					for name, documented := range exportedIn(decl, spec) {
						if !documented {
							t.Errorf("%s: %s has no comment", f.fset.Position(spec.Pos()), name)
						}
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if !packages[name] {
			t.Errorf("package %s has no comment", name)
		}
	}
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

// exportedIn lists the exported names of a declaration, and whether each has a
// comment: its own, or one for the group it stands in.
func exportedIn(decl *ast.GenDecl, spec ast.Spec) map[string]bool {
	out := map[string]bool{}
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			out[spec.Name.Name] = spec.Doc != nil || decl.Doc != nil
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				out[name.Name] = spec.Doc != nil || spec.Comment != nil || decl.Doc != nil
			}
		}
	}
	return out
}

// Each entry point of the library can be tried out: go doc shows its example.
func TestEntryPointsHaveExamples(t *testing.T) {
	missing := map[string]bool{}
	for _, name := range []string{
		"lang.Load", "lang.Site_Evaluate_mistakes", "lang.Format", "lang/secrets.Parse", "lang/secrets.Store_Check",
		"graph.Compile", "graph.Result_Select", "graph.Why",
		"runtime.Plan", "runtime.Apply", "runtime/journal.Folder_Start", "runtime/reconcile.Loop",
		"runtime/ssh.Client_Dial", "runtime/ssh.Quote",
		"runtime/host.NewLocal", "runtime/host.Memory_Handle", "runtime/host.NewShadow", "runtime/host/facts.New",
		"states.Define", "modules.Standard", "modules/simulated.New",
	} {
		missing[name] = true
	}
	for _, f := range files(t) {
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !f.test || !ok {
				continue
			}
			if name, ok := strings.CutPrefix(fn.Name.Name, "Example"); ok {
				delete(missing, f.dir+"."+name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s has no example", name)
	}
}

// A panic in a goroutine ends the program with its stack, unless runtime/fault begins it.
func TestGoroutinesAreGuarded(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.dir == "runtime/fault" || f.dir == "internal/lab" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: begin it with fault.Go", f.fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name == "WaitGroup" {
					t.Errorf("%s: take fault.Group", f.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// What becomes of a run is told in one line, with each cause once: errors.Join makes it several.
func TestErrorsOfRunsAreJoinedToOneLine(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.name == "runtime/journal/joined.go" || !slices.Contains([]string{"runtime", "runtime/journal", "runtime/runner"}, f.dir) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Join" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "errors" {
					t.Errorf("%s: take journal.Join", f.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// A property that fails leaves nothing by which later runs fail: see rapidtest.Main.
func TestPropertiesLeaveNothing(t *testing.T) {
	random, careful := map[string]bool{}, map[string]bool{}
	for _, f := range files(t) {
		for _, i := range f.ast.Imports {
			random[f.dir] = random[f.dir] || f.test && i.Path.Value == `"pgregory.net/rapid"`
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !f.test || fn.Name.Name != "TestMain" {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Main" {
					x, named := s.X.(*ast.Ident)
					careful[f.dir] = careful[f.dir] || named && x.Name == "rapidtest"
				}
				return true
			})
		}
	}
	for dir, uses := range random {
		if uses && !careful[dir] {
			t.Errorf("%s has random tests, and no TestMain that calls rapidtest.Main", dir)
		}
	}
}

package modules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// How a module is tested.
const (
	verified = "verified"
	inMemory = "in memory"
)

// proof is what the sources of the lab's tests say of modules.
type proof struct {
	// lifecycles are the modules that have one, with the attributes that none of their
	// lifecycles changes, and why.
	lifecycles map[string]map[string]string
	// examples are the modules whose examples are tried on a host, and why one is
	// not to be had there, which is mostly empty.
	examples map[string]string
}

// of says how a module is tested, and what or why not on a host. A resource is verified if
// there is a lifecycle of it; an act, which has no more than one step, also if its
// example is applied on a host.
func (p proof) of(t *testing.T, m *states.Module) (how, why string) {
	t.Helper()
	cannot, tried := p.examples[m.Name]
	untried, lives := p.lifecycles[m.Name]
	if !tried {
		t.Errorf("module %s has no entry in examples() of internal/lab/labtest/examples_test.go: say there what its example needs on a bare host", m.Name)
	}
	switch {
	case lives:
		for _, name := range slices.Sorted(maps.Keys(untried)) {
			why += ", but for `" + name + "` (" + untried[name] + ")"
		}
		return verified, why
	case m.IsAct() && tried && cannot == "":
		return verified, ""
	case cannot != "":
		return inMemory, ": " + cannot
	}
	return inMemory, ""
}

// besides says in short what of a module is not verified.
func (p proof) besides(module string) string {
	short := map[string]string{
		"package":   " with apt; dnf, zypper and pacman against recorded outputs, apk against its formats",
		"service":   " with systemd; OpenRC and SysV by their programs on a host with systemd",
		"container": " with podman; docker against its documented output",
	}[module]
	if names := slices.Sorted(maps.Keys(p.lifecycles[module])); len(names) > 0 {
		short += ", but for `" + strings.Join(names, "`, `") + "`"
	}
	return short
}

// readProof reads the lab's tests: the literals of lifecycles, and the table of
// examples. That they pass is for the lab to show.
func readProof(t *testing.T) proof {
	t.Helper()
	p := proof{lifecycles: map[string]map[string]string{}, examples: map[string]string{}}
	files, err := filepath.Glob("../internal/lab/labtest/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d tests of the lab, %v", len(files), err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			switch kind := literal.Type.(type) {
			case *ast.Ident:
				if kind.Name == "lifecycle" {
					p.add(field(literal, "Type"), untried(literal))
				}
			case *ast.MapType:
				if value, ok := kind.Value.(*ast.Ident); ok && value.Name == "example" {
					for _, e := range literal.Elts {
						pair := e.(*ast.KeyValueExpr)
						if _, twice := p.examples[text(pair.Key)]; twice {
							t.Errorf("%s: %s has two entries", name, text(pair.Key))
						}
						p.examples[text(pair.Key)] = field(pair.Value.(*ast.CompositeLit), "Cannot")
					}
				}
			}
			return true
		})
	}
	if len(p.lifecycles) == 0 || len(p.examples) == 0 {
		t.Fatalf("the lab has %d lifecycles and %d examples", len(p.lifecycles), len(p.examples))
	}
	return p
}

// add notes a lifecycle: what it leaves out, another one may try.
func (p proof) add(module string, untried map[string]string) {
	before, ok := p.lifecycles[module]
	if ok {
		maps.DeleteFunc(untried, func(name, _ string) bool { return before[name] == "" })
	}
	p.lifecycles[module] = untried
}

// untried reads the field of that name.
func untried(literal *ast.CompositeLit) map[string]string {
	out := map[string]string{}
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		reasons, ok := pair.Value.(*ast.CompositeLit)
		if key, isIdent := pair.Key.(*ast.Ident); !ok || !isIdent || key.Name != "Untried" {
			continue
		}
		for _, e := range reasons.Elts {
			reason := e.(*ast.KeyValueExpr)
			out[text(reason.Key)] = text(reason.Value)
		}
	}
	return out
}

// field gives the text of a literal's field; empty when it has none.
func field(literal *ast.CompositeLit, name string) string {
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
				return text(pair.Value)
			}
		}
	}
	return ""
}

func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	value, _ := strconv.Unquote(literal.Value)
	return value
}

package modules_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

// Each module's suite has the values that hostile texts are tried with.
func TestEverySuiteIsHostile(t *testing.T) {
	hostile := map[string]bool{}
	ofModules, err := filepath.Glob("moduletest/*_test.go")
	packages, err2 := filepath.Glob("packages/*_test.go")
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(ofModules, packages...) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Hostile" {
					module, _, _ := strings.Cut(filepath.Base(name), "_")
					hostile[module] = true
				}
			}
			return true
		})
	}
	registry := modules.Standard()
	for _, name := range registry.Names() {
		// The package that a module is declared in is that of its Go type.
		module := registry.Lookup(name)
		dir, _, _ := strings.Cut(strings.TrimPrefix(module.Type, "*"), ".")
		if !hostile[dir] && takesText(module.Attributes) {
			t.Errorf("no suite in modules/moduletest/%s_test.go gives Hostile, the values of a part of type %s that texts are tried with", dir, name)
		}
	}
}

func takesText(attributes []states.Attribute) bool {
	return slices.ContainsFunc(attributes, func(a states.Attribute) bool {
		switch a.Kind {
		case states.KindString, states.KindList, states.KindSet, states.KindMap, states.KindContent, states.KindAny:
			return !a.Out
		}
		return false
	})
}

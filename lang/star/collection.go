package star

import (
	"bytes"

	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/syntax"
)

// Collections finds the collections that a script writes out at its top level. What is wrong with the script Parse says.
func Collections(name string, src []byte) (out []syntax.WrittenCollection) {
	if !bytes.Contains(src, []byte("collection")) {
		return nil
	}
	tree, err := dialect().Parse(name, src, 0)
	if err != nil {
		return nil
	}
	for _, stmt := range tree.Stmts {
		var x starsyntax.Expr
		switch s := stmt.(type) {
		case *starsyntax.ExprStmt:
			x = s.X
		case *starsyntax.AssignStmt:
			x = s.RHS
		}
		if call, ok := x.(*starsyntax.CallExpr); ok {
			if fn, ok := call.Fn.(*starsyntax.Ident); ok && fn.Name == "collection" {
				out = append(out, writtenCollection(call))
			}
		}
	}
	return out
}

func writtenCollection(call *starsyntax.CallExpr) (c syntax.WrittenCollection) {
	for i, arg := range call.Args {
		named, ok := arg.(*starsyntax.BinaryExpr)
		if !ok || named.Op != starsyntax.EQ {
			if i == 0 {
				c.Name, _ = textOf(arg)
			}
			continue
		}
		name, _ := named.X.(*starsyntax.Ident)
		switch list, isList := named.Y.(*starsyntax.ListExpr); {
		case name == nil:
		case name.Name == "source":
			c.Source, _ = textOf(named.Y)
		case name.Name == "modules" && isList:
			for _, e := range list.List {
				text, _ := textOf(e)
				c.Modules = append(c.Modules, text)
			}
		}
	}
	return c
}

// textOf gives a text that is written out; false: it is none.
func textOf(x starsyntax.Expr) (string, bool) {
	l, ok := x.(*starsyntax.Literal)
	return literalText(l, ok)
}

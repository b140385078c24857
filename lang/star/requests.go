package star

import (
	"path"
	"slices"
	"strings"

	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/syntax"
)

// Requests gives what the scripts, or a file of functions, may ask for.
func (s *Scripts) Requests(library string) syntax.Requests {
	files := s.sortedFiles
	if library != "" {
		p := newParser(s.options)
		if _, err := p.load(&file{}, libraryName(library)); err != nil {
			return syntax.Requests{} // it does not run
		}
		files = nil
		for _, f := range p.files {
			files = append(files, f)
		}
	}
	var out syntax.Requests
	for _, f := range files {
		out.Facts = append(out.Facts, f.requests.Facts...)
		out.Sources = append(out.Sources, f.requests.Sources...)
		out.Unbounded = out.Unbounded || f.requests.Unbounded
	}
	slices.Sort(out.Facts)
	slices.Sort(out.Sources)
	out.Facts, out.Sources = slices.Compact(out.Facts), slices.Compact(out.Sources)
	return out
}

// libraryName is a file of functions as load names it.
func libraryName(name string) string {
	if !strings.HasPrefix(name, "std/") && !strings.HasPrefix(name, "./") && !path.IsAbs(name) {
		return "./" + name
	}
	return name
}

// requestsIn finds what a script names. The names fact and component on their own,
// by which they may be handed on to anything, mean any.
func requestsIn(tree starsyntax.Node) syntax.Requests {
	var out syntax.Requests
	var visit func(n starsyntax.Node) bool
	visit = func(n starsyntax.Node) bool {
		switch n := n.(type) {
		case *starsyntax.DotExpr:
			if isName(n.X, "fact") {
				out.Facts = append(out.Facts, n.Name.Name)
			} else {
				starsyntax.Walk(n.X, visit)
			}
			return false
		case *starsyntax.CallExpr:
			return !requestsOfCall(n, &out, visit)
		case *starsyntax.Ident:
			out.Unbounded = out.Unbounded || n.Name == "fact" || n.Name == "component"
		}
		return true
	}
	starsyntax.Walk(tree, visit)
	return out
}

// requestsOfCall looks at component(…), getattr(fact, …) and the names of keywords;
// false: there is nothing special about it.
func requestsOfCall(call *starsyntax.CallExpr, out *syntax.Requests, visit func(starsyntax.Node) bool) bool {
	args := call.Args
	switch {
	case isName(call.Fn, "component"):
		source := ""
		for _, arg := range args {
			if pair, ok := keyword(arg); ok && isName(pair.X, "source") {
				literal, isLiteral := innerExpr(pair.Y).(*starsyntax.Literal)
				source, _ = literalText(literal, isLiteral)
			}
		}
		if source == "" {
			out.Unbounded = true
		} else {
			out.Sources = append(out.Sources, source)
		}
	case isName(call.Fn, "getattr") && len(args) > 1 && isName(args[0], "fact"):
		literal, ok := innerExpr(args[1]).(*starsyntax.Literal)
		name, ok := literalText(literal, ok)
		if !ok {
			return false
		}
		out.Facts = append(out.Facts, name)
		args = args[1:]
	default:
		starsyntax.Walk(call.Fn, visit)
	}
	for _, arg := range args {
		if pair, ok := keyword(arg); ok {
			arg = pair.Y
		}
		starsyntax.Walk(arg, visit)
	}
	return true
}

func keyword(arg starsyntax.Expr) (*starsyntax.BinaryExpr, bool) {
	pair, ok := arg.(*starsyntax.BinaryExpr)
	return pair, ok && pair.Op == starsyntax.EQ
}

func isName(e starsyntax.Expr, name string) bool {
	ident, ok := innerExpr(e).(*starsyntax.Ident)
	return ok && ident.Name == name
}

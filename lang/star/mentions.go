package star

import (
	"regexp"
	"sync"

	starsyntax "go.starlark.net/syntax"
)

// nameInText finds var.NAME in a text that is an expression of HCL.
var nameInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:var|local|vars)\.([A-Za-z_][\w-]*)`) })

// Mentions gives the words that stand in the scripts, and in what they load: names that are read,
// attributes, and texts. The label of variable(…) is one only where the value of the call is
// used: a variable that is not among them is used by no script.
func (s *Scripts) Mentions() map[string]bool {
	m := mentions{words: map[string]bool{}, aliases: map[string]string{}}
	for _, f := range s.files {
		if tree, err := dialect().Parse(f.name, f.src, 0); err == nil { // else the script does not run
			starsyntax.Walk(tree, m.visit)
		}
	}
	for label, name := range m.aliases {
		m.words[label] = m.words[label] || m.words[name]
	}
	return m.words
}

type mentions struct {
	words   map[string]bool
	aliases map[string]string // what values of variables are assigned to, by the labels of these
}

func (m *mentions) visit(n starsyntax.Node) bool {
	switch n := n.(type) {
	case *starsyntax.ExprStmt:
		if _, call := variableCall(n.X); call != nil {
			m.arguments(call)
			return false
		}
	case *starsyntax.AssignStmt:
		target, isName := n.LHS.(*starsyntax.Ident)
		if !isName || n.Op != starsyntax.EQ {
			return true
		}
		if label, call := variableCall(n.RHS); call != nil {
			m.aliases[label] = target.Name
			m.arguments(call)
		} else {
			starsyntax.Walk(n.RHS, m.visit)
		}
		return false
	case *starsyntax.LoadStmt:
		for _, name := range n.From {
			m.words[name.Name] = true
		}
		return false
	case *starsyntax.DotExpr:
		m.words[n.Name.Name] = true
	case *starsyntax.Ident:
		m.words[n.Name] = true
	case *starsyntax.Literal:
		if text, ok := n.Value.(string); ok {
			m.words[text] = true
			for _, found := range nameInText().FindAllStringSubmatch(text, -1) {
				m.words[found[1]] = true
			}
		}
	}
	return true
}

// arguments visits what variable(…) is given, but its label and the words that explain it.
func (m *mentions) arguments(call *starsyntax.CallExpr) {
	for _, arg := range call.Args[1:] {
		pair, ok := keyword(arg)
		switch {
		case !ok:
			starsyntax.Walk(arg, m.visit)
		case isName(pair.X, "description"):
		default:
			starsyntax.Walk(pair.Y, m.visit)
		}
	}
}

// variableCall reports whether an expression is variable("LABEL", …).
func variableCall(x starsyntax.Expr) (label string, call *starsyntax.CallExpr) {
	call, ok := innerExpr(x).(*starsyntax.CallExpr)
	if !ok || !isName(call.Fn, "variable") || len(call.Args) == 0 {
		return "", nil
	}
	literal, ok := innerExpr(call.Args[0]).(*starsyntax.Literal)
	if label, ok = literalText(literal, ok); !ok {
		return "", nil
	}
	return label, call
}

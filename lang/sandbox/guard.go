package sandbox

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// guard rewrites a syntax tree, so that what can make much of little calls the
// checked forms in Environment. Positions stay those of the source.
type guard struct {
	src  *source
	list diag.List
}

// call is NAME(args…), where the source has an operator.
func call(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{
		Fn: &syntax.Ident{NamePos: at, Name: prefix + name}, Lparen: at, Args: args, Rparen: at,
	}
}

func (g *guard) stmts(list []syntax.Stmt) {
	for _, s := range list {
		g.stmt(s)
	}
}

func (g *guard) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		g.assign(s)
	case *syntax.DefStmt:
		g.params(s.Params)
		g.stmts(s.Body)
		if rest := restOf(s.Params); rest != nil {
			keep := &syntax.ExprStmt{X: call("keep", s.Lparen, rest)}
			s.Body = append([]syntax.Stmt{keep}, s.Body...)
		}
	case *syntax.ExprStmt:
		s.X = g.expr(s.X)
	case *syntax.ForStmt:
		g.target(s.Vars)
		s.X = g.expr(s.X)
		g.stmts(s.Body)
	case *syntax.WhileStmt:
		s.Cond = g.expr(s.Cond)
		g.stmts(s.Body)
	case *syntax.IfStmt:
		s.Cond = g.expr(s.Cond)
		g.stmts(s.True)
		g.stmts(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = g.expr(s.Result)
		}
	}
}

// assign guards x = y and x OP= y. The latter is checked by what the parts are
// beforehand; where x is more than names it cannot be looked at twice.
func (g *guard) assign(s *syntax.AssignStmt) {
	op, augments := augmentedOperator(s.Op)
	var seen syntax.Expr
	if augments {
		seen = copyExpr(s.LHS)
	}
	g.target(s.LHS)
	s.RHS = g.expr(s.RHS)
	switch {
	case !augments:
	case seen != nil:
		s.RHS = call(op.String()+"=", s.OpPos, seen, s.RHS)
	case op == syntax.STAR, op == syntax.PERCENT, op == syntax.LTLT:
		g.list.Add(diag.Diagnostic{
			Summary: "this cannot be done in place",
			Detail:  "What it changes is computed, and would have to be computed twice.",
			Hint:    "write it out: x = x " + op.String() + " y",
			Range:   g.src.rangeAt(s.OpPos),
		})
	default:
		s.RHS = call(op.String()+"=", s.OpPos, s.RHS)
	}
}

// augmentedOperator gives the operator of an augmented assignment that is checked.
func augmentedOperator(op syntax.Token) (syntax.Token, bool) {
	switch op {
	case syntax.PLUS_EQ:
		return syntax.PLUS, true
	case syntax.MINUS_EQ:
		return syntax.MINUS, true
	case syntax.STAR_EQ:
		return syntax.STAR, true
	case syntax.PERCENT_EQ:
		return syntax.PERCENT, true
	case syntax.PIPE_EQ:
		return syntax.PIPE, true
	case syntax.AMP_EQ:
		return syntax.AMP, true
	case syntax.CIRCUMFLEX_EQ:
		return syntax.CIRCUMFLEX, true
	case syntax.LTLT_EQ:
		return syntax.LTLT, true
	}
	return syntax.ILLEGAL, false
}

// copyExpr copies an expression that may be evaluated twice; nil: it may not.
func copyExpr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.Ident:
		return &syntax.Ident{NamePos: e.NamePos, Name: e.Name}
	case *syntax.Literal:
		copied := *e
		return &copied
	case *syntax.ParenExpr:
		return copyExpr(e.X)
	case *syntax.IndexExpr:
		x, y := copyExpr(e.X), copyExpr(e.Y)
		if x != nil && y != nil {
			return &syntax.IndexExpr{X: x, Lbrack: e.Lbrack, Y: y, Rbrack: e.Rbrack}
		}
	}
	return nil
}

// restOf gives the name of a *args parameter, to be looked at.
func restOf(params []syntax.Expr) syntax.Expr {
	for _, p := range params {
		if star, ok := p.(*syntax.UnaryExpr); ok && star.Op == syntax.STAR && star.X != nil {
			return copyExpr(star.X)
		}
	}
	return nil
}

func (g *guard) params(params []syntax.Expr) {
	for _, p := range params {
		if p, ok := p.(*syntax.BinaryExpr); ok {
			p.Y = g.expr(p.Y)
		}
	}
}

// target guards what is within the target of an assignment.
func (g *guard) target(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		g.target(e.X)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			g.target(x)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			g.target(x)
		}
	case *syntax.IndexExpr:
		e.X, e.Y = g.expr(e.X), g.expr(e.Y)
	case *syntax.DotExpr:
		e.X = g.expr(e.X)
	}
}

func (g *guard) exprs(list []syntax.Expr) {
	for i := range list {
		list[i] = g.expr(list[i])
	}
}

// expr gives the guarded form of an expression.
func (g *guard) expr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		return g.binary(e)
	case *syntax.CallExpr:
		e.Fn = g.expr(e.Fn)
		g.args(e.Args)
	case *syntax.Comprehension:
		g.comprehension(e)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = g.expr(e.Cond), g.expr(e.True), g.expr(e.False)
	case *syntax.DictEntry:
		e.Key, e.Value = g.expr(e.Key), g.expr(e.Value)
	case *syntax.DictExpr:
		g.exprs(e.List)
	case *syntax.DotExpr:
		return g.dot(e)
	case *syntax.IndexExpr:
		e.X, e.Y = g.expr(e.X), g.expr(e.Y)
	case *syntax.LambdaExpr:
		g.params(e.Params)
		e.Body = g.expr(e.Body)
		if rest := restOf(e.Params); rest != nil {
			both := &syntax.ListExpr{Lbrack: e.Lambda, List: []syntax.Expr{call("keep", e.Lambda, rest), e.Body}, Rbrack: e.Lambda}
			e.Body = &syntax.IndexExpr{X: both, Lbrack: e.Lambda, Rbrack: e.Lambda,
				Y: &syntax.Literal{Token: syntax.INT, TokenPos: e.Lambda, Raw: "1", Value: int64(1)}}
		}
	case *syntax.ListExpr:
		g.exprs(e.List)
	case *syntax.ParenExpr:
		e.X = g.expr(e.X)
	case *syntax.SliceExpr:
		return g.slice(e)
	case *syntax.TupleExpr:
		g.exprs(e.List)
		if len(e.List) > 0 {
			at := syntax.Start(e)
			return call("keep", at, &syntax.ParenExpr{Lparen: at, X: e, Rparen: at})
		}
	case *syntax.UnaryExpr:
		if e.X != nil {
			e.X = g.expr(e.X)
		}
	}
	return e
}

func (g *guard) binary(e *syntax.BinaryExpr) syntax.Expr {
	// A chain of operators leans to the left, and may be long.
	var chain []*syntax.BinaryExpr
	for {
		chain = append(chain, e)
		e.Y = g.expr(e.Y)
		left, ok := e.X.(*syntax.BinaryExpr)
		if !ok {
			break
		}
		e = left
	}
	x := g.expr(e.X)
	for i := len(chain) - 1; i >= 0; i-- {
		e := chain[i]
		e.X = x
		switch e.Op {
		case syntax.AND, syntax.OR, syntax.SLASH, syntax.SLASHSLASH, syntax.GTGT:
			x = e
		default:
			x = call(e.Op.String(), e.OpPos, e.X, e.Y)
		}
	}
	return x
}

func (g *guard) args(args []syntax.Expr) {
	for i, a := range args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ { // NAME = VALUE
				a.Y = g.expr(a.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				a.X = call("spread", a.OpPos, g.expr(a.X))
				continue
			}
		}
		args[i] = g.expr(a)
	}
}

func (g *guard) comprehension(e *syntax.Comprehension) {
	e.Body = g.expr(e.Body)
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			g.target(c.Vars)
			c.X = g.expr(c.X)
		case *syntax.IfClause:
			c.Cond = g.expr(c.Cond)
		}
	}
}

func (g *guard) slice(e *syntax.SliceExpr) syntax.Expr {
	for _, x := range []*syntax.Expr{&e.X, &e.Lo, &e.Hi, &e.Step} {
		if *x != nil {
			*x = g.expr(*x)
		}
	}
	return call("keep", e.Lbrack, e)
}

// dot guards the methods that have a check.
func (g *guard) dot(e *syntax.DotExpr) syntax.Expr {
	e.X = g.expr(e.X)
	name := e.Name.Name
	if methodCheck(starlark.String(""), name) == nil && methodCheck(starlark.Bytes(""), name) == nil {
		return e
	}
	literal := &syntax.Literal{Token: syntax.STRING, TokenPos: e.NamePos, Raw: `"` + name + `"`, Value: name}
	return call("attr", e.Dot, e.X, literal)
}

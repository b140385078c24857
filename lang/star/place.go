package star

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// place is where a value stands, as far as it is written out there.
type place struct {
	src  hcl2.Range
	file *file
	node starsyntax.Expr // nil: not known
}

func (p place) withNode(node starsyntax.Expr) place {
	return place{src: p.file.span(node), file: p.file, node: node}
}

// innerExpr takes off brackets.
func innerExpr(node starsyntax.Expr) starsyntax.Expr {
	for {
		paren, ok := node.(*starsyntax.ParenExpr)
		if !ok {
			return node
		}
		node = paren.X
	}
}

// element is the place of an element of a list that is written out.
func (p place) element(i, length int) place {
	switch node := innerExpr(p.node).(type) {
	case *starsyntax.ListExpr:
		if len(node.List) == length {
			return p.withNode(node.List[i])
		}
	case *starsyntax.TupleExpr:
		if len(node.List) == length {
			return p.withNode(node.List[i])
		}
	}
	return place{src: p.src, file: p.file}
}

// entry is the place of a value in a dict that is written out.
func (p place) entry(key string) place {
	node, ok := innerExpr(p.node).(*starsyntax.DictExpr)
	if !ok {
		return place{src: p.src, file: p.file}
	}
	for _, e := range node.List {
		entry, ok := e.(*starsyntax.DictEntry)
		if !ok {
			continue
		}
		if literal, ok := innerExpr(entry.Key).(*starsyntax.Literal); ok && literal.Value == key {
			return p.withNode(entry.Value)
		}
	}
	return place{src: p.src, file: p.file}
}

// key is the place of a key of a dict that is written out.
func (p place) key(key string) hcl2.Range {
	if node, ok := innerExpr(p.node).(*starsyntax.DictExpr); ok {
		for _, e := range node.List {
			if entry, ok := e.(*starsyntax.DictEntry); ok {
				if literal, ok := innerExpr(entry.Key).(*starsyntax.Literal); ok && literal.Value == key {
					return p.file.span(entry.Key)
				}
			}
		}
	}
	return p.src
}

// call is one call of a word of the language.
type call struct {
	file  *file
	word  hcl2.Range // the function's name
	whole hcl2.Range // to the closing bracket
	node  *starsyntax.CallExpr
	calls []hcl2.Range // the calls that led here, innermost first
}

// argument is the place of a positional argument.
func (c *call) argument(i int) place {
	at := place{src: c.whole, file: c.file}
	if c.node == nil {
		return at
	}
	for _, arg := range c.node.Args {
		switch arg := arg.(type) {
		case *starsyntax.BinaryExpr:
			if arg.Op == starsyntax.EQ {
				return at
			}
		case *starsyntax.UnaryExpr:
			if arg.Op == starsyntax.STAR || arg.Op == starsyntax.STARSTAR {
				return at
			}
		}
		if i == 0 {
			return at.withNode(arg)
		}
		i--
	}
	return at
}

// keyword is the place of a keyword argument: of its name, and of its value.
func (c *call) keyword(name string) (hcl2.Range, place) {
	at := place{src: c.whole, file: c.file}
	if c.node == nil {
		return c.whole, at
	}
	for _, arg := range c.node.Args {
		if pair, ok := arg.(*starsyntax.BinaryExpr); ok && pair.Op == starsyntax.EQ {
			if id, ok := pair.X.(*starsyntax.Ident); ok && id.Name == name {
				return c.file.span(id), at.withNode(pair.Y)
			}
		}
	}
	return c.word, at
}

// header is from the word to the label.
func (c *call) header() hcl2.Range {
	if c.node == nil || len(c.node.Args) == 0 {
		return c.whole
	}
	label := c.argument(0)
	if label.node == nil || label.src.Start.Line != c.word.Start.Line {
		return c.word
	}
	return hcl2.RangeBetween(c.word, label.src)
}

// placedError is an error with a place of its own.
type placedError struct {
	err error
	at  hcl2.Range
}

func (p *placedError) Error() string { return p.err.Error() }
func (p *placedError) Unwrap() error { return p.err }

// innerPlace says where within a value an error lies.
func innerPlace(err error, what string, at place) error {
	d := diag.Diagnose(err, diag.Range{})
	wrapped := &diag.HintError{Message: what + ": " + d.Summary, Hint: d.Hint}
	if len(d.Summary) > 120 { // deep within
		wrapped.Message = d.Summary
	}
	if already, ok := err.(*placedError); ok {
		return &placedError{wrapped, already.at}
	}
	return &placedError{wrapped, at.src}
}
